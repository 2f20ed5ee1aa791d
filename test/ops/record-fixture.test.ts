import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { createFixture } from '../../ops/record-fixture/fixture.ts'
import { post } from '../support/client.ts'
import { startRecordedGateway } from '../support/recorded-gateway.ts'

const main = join(import.meta.dirname, '../../ops/record-fixture/main.ts')

t.test('a stored record becomes a fixture without secrets, times and ids', async t => {
  const gateway = await startRecordedGateway(t, {
    env: {
      GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true',
      GATEWAY_ADMIN_API_ENABLED: 'true',
      GATEWAY_ADMIN_API_KEY: 'the-admin-key-of-this-test'
    }
  })
  const body = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'say password=hunter2 twice' }] }
  const record = await gateway.recordOf(await post(`${gateway.url}/api/v1/chat/completions`, body))
  const env = { GATEWAY_ADMIN_API_KEY: 'the-admin-key-of-this-test' }
  const { stdout } = await execa(process.execPath, [main, record.id, '--url', gateway.url], { env })
  const fixture = JSON.parse(stdout) as Record<string, unknown>
  t.match(fixture, {
    method: 'POST',
    route: '/v1/chat/completions',
    protocol: 'openai',
    status: 200,
    error_type: null,
    request: { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'say password=*** twice' }] },
    response: { object: 'chat.completion' }
  })
  t.notMatch(stdout, /hunter2|created|hmac-sha256/)
  const wrong = await execa(process.execPath, [main, record.id, '--url', gateway.url], {
    env: { GATEWAY_ADMIN_API_KEY: 'wrong' },
    reject: false
  })
  t.equal(wrong.exitCode, 1)
  t.equal(wrong.stderr, 'The gateway answered 403: Invalid admin API key')
})

t.test('the command says how it is used', async t => {
  const run = await execa(process.execPath, [main], { env: { GATEWAY_ADMIN_API_KEY: 'x' }, reject: false })
  t.equal(run.exitCode, 2)
  t.match(run.stderr, /^Usage: /)
})

t.test('a record without content gives no fixture', async t => {
  const summary = {
    method: 'GET',
    route: '/',
    protocol: 'system',
    status_code: 200,
    error_type: null,
    metadata: {}
  } as const
  t.throws(
    () => createFixture({ summary, payload: { request_body: null, response_body: null } }),
    /^The record holds no request/
  )
})
