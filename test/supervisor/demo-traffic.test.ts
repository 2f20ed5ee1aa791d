import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { createDemoTraffic } from '../../supervisor/demo-traffic.ts'

const databaseOf = ({ GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn }: Readonly<Record<string, string>>) =>
  String(dsn).replace(/^sqlite:/, '')

t.test('it records into a private folder that is removed, with a key of this run', async t => {
  const traffic = createDemoTraffic(new Set())
  t.teardown(() => traffic.remove())
  const folder = dirname(databaseOf(traffic.variables))
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.match(traffic.variables, {
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_REPLAY_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINK: 'sqlite',
    GATEWAY_ADMIN_API_KEY: traffic.adminKey
  })
  t.match(traffic.adminKey, /^[0-9a-f]{32}$/)
  traffic.remove()
  t.notOk(existsSync(folder))
  const other = createDemoTraffic(new Set())
  other.remove()
  t.not(other.adminKey, traffic.adminKey)
})

t.test('what the operator has set stays', async t => {
  const given = [
    'GATEWAY_TRAFFIC_LOG_ENABLED',
    'GATEWAY_ADMIN_API_ENABLED',
    'GATEWAY_ADMIN_API_KEY',
    'GATEWAY_REPLAY_ENABLED'
  ]
  const { variables: none, adminKey } = createDemoTraffic(new Set(given))
  t.same([none, adminKey], [{}, undefined])
  for (const name of ['SINK', 'SINKS', 'RELATIONAL_DSN', 'CAPTURE_CONTENT', 'EXCLUDE_ROUTES']) {
    const { variables } = createDemoTraffic(new Set([`GATEWAY_TRAFFIC_LOG_${name}`]))
    t.same(
      Object.keys(variables).filter(variable => variable.startsWith('GATEWAY_TRAFFIC_LOG')),
      [],
      name
    )
  }
})
