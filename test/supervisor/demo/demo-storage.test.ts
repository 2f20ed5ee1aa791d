import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { createDemoStorage } from '../../../supervisor/demo/demo-storage.ts'

const databaseOf = ({ GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn }: Readonly<Record<string, string>>) =>
  String(dsn).replace(/^sqlite:/, '')

t.test('it records and stores in a private folder that is removed, with a key of this run', async t => {
  const storage = createDemoStorage(new Set())
  t.teardown(() => storage.remove())
  const folder = dirname(databaseOf(storage.variables))
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.match(storage.variables, {
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_REPLAY_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINK: 'sqlite',
    GATEWAY_RESPONSES_STORE_DSN: `sqlite:${join(folder, 'responses.sqlite')}`,
    GATEWAY_ADMIN_API_KEY: storage.adminKey
  })
  t.match(storage.adminKey, /^[0-9a-f]{32}$/)
  storage.remove()
  t.notOk(existsSync(folder))
  const other = createDemoStorage(new Set())
  other.remove()
  t.not(other.adminKey, storage.adminKey)
})

t.test('what the operator has set stays', async t => {
  const given = [
    'GATEWAY_TRAFFIC_LOG_ENABLED',
    'GATEWAY_ADMIN_API_ENABLED',
    'GATEWAY_ADMIN_API_KEY',
    'GATEWAY_REPLAY_ENABLED',
    'GATEWAY_RESPONSES_STORE_DSN'
  ]
  const { variables: none, adminKey } = createDemoStorage(new Set(given))
  t.same([none, adminKey], [{}, undefined])
  for (const name of ['SINK', 'SINKS', 'RELATIONAL_DSN', 'CAPTURE_CONTENT', 'EXCLUDE_ROUTES']) {
    const { variables, remove } = createDemoStorage(new Set([`GATEWAY_TRAFFIC_LOG_${name}`]))
    remove()
    t.same(
      Object.keys(variables).filter(variable => variable.startsWith('GATEWAY_TRAFFIC_LOG')),
      [],
      name
    )
  }
})

t.test('without records of its own it stores responses, and the other way round', async t => {
  for (const [given, own, other] of [
    ['GATEWAY_TRAFFIC_LOG_SINK', 'GATEWAY_RESPONSES_STORE_DSN', 'GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN'],
    ['GATEWAY_RESPONSES_STORE_DSN', 'GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN', 'GATEWAY_RESPONSES_STORE_DSN']
  ] as const) {
    const { variables, remove } = createDemoStorage(new Set([given]))
    remove()
    t.match(variables[own], /^sqlite:/)
    t.notOk(other in variables)
  }
})
