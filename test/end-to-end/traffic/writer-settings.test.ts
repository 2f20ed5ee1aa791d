// What the writer process of a started gateway is sent and inherits: no key of clients, of the admin API or of providers.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../support/gateway.ts'
import { startRecordedGateway } from '../../support/recorded-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const SECRETS = {
  GATEWAY_API_KEY: 'secret-of-clients',
  GATEWAY_API_KEYS: '{"second":"secret-of-other-clients"}',
  GATEWAY_ADMIN_API_KEY: 'secret-of-admins',
  GATEWAY_FINGERPRINT_KEY: 'secret-of-fingerprints-0123456789abcdef',
  UPSTREAM_CREDENTIALS: Buffer.from('client:secret-of-the-provider').toString('base64'),
  UPSTREAM_PASSWORD: 'secret-of-a-user'
}

t.test('the writer is sent the secrets of its sinks and no others', async t => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'messages.ndjson')
  const hook = join(folder, 'hook.mjs')
  writeFileSync(
    hook,
    `import { appendFileSync } from 'node:fs'
     if (/writer.main\\.[jt]s$/.test(process.argv[1] ?? '')) {
       const write = value => appendFileSync(${JSON.stringify(file)}, JSON.stringify(value) + '\\n')
       write({ kind: 'environment', environment: process.env })
       process.on('message', write)
     }`
  )
  const gateway = await startRecordedGateway(t, {
    start: startGateway,
    env: {
      ...SECRETS,
      GATEWAY_ENABLE_API_KEY_AUTH: 'true',
      GATEWAY_ADMIN_API_ENABLED: 'true',
      GATEWAY_OPENSEARCH_PASSWORD: 'secret-of-the-search-server',
      NODE_OPTIONS: `--import=${hook}`
    }
  })
  const response = await fetch(`${gateway.url}/v1/models`)
  await gateway.rowOf(response)
  t.equal(await gateway.stop(), 0)

  const text = readFileSync(file, 'utf8')
  const messages = text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
  t.match(
    messages.map(({ kind }) => kind),
    ['environment', 'configure-service']
  )
  t.match(messages.find(({ kind }) => kind === 'configure-service')?.settings, {
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: `sqlite:${gateway.files.sqlite}`,
    GATEWAY_OPENSEARCH_PASSWORD: 'secret-of-the-search-server'
  })
  t.strictSame(text.match(/secret-of-[\w-]+/g), ['secret-of-the-search-server'])
  t.notMatch(text, SECRETS.UPSTREAM_CREDENTIALS)
})
