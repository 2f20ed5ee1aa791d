import t from 'tap'
import { mountOperation } from '../../support/operations.ts'
import { getWithAnyHeaders, WEBSOCKET_HEADERS } from '../../support/upgrade-client.ts'
import { echo, openConnection, startApplication } from './support.ts'

const mount = (app: Parameters<typeof mountOperation>[0]) => {
  mountOperation(app, {
    method: 'POST',
    path: '/responses',
    family: 'completions',
    isModelRequest: true,
    handler: echo
  })
  mountOperation(app, { method: 'GET', path: '/models', family: 'completions', isModelRequest: false, handler: echo })
}

t.test('memory 19: off, a WebSocket on a Responses path is 426 at once, whoever asks', async t => {
  const { url } = await startApplication(t, {
    routes: mount,
    env: { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' }
  })
  for (const path of ['/responses', '/v1/responses', '/v2/responses', '/v1/responses/resp_1', '/openai/v1/responses']) {
    const refused = await getWithAnyHeaders(url + path, WEBSOCKET_HEADERS)
    t.equal(refused.status, 426, path)
    t.match(refused.json, { error: { type: 'invalid_request_error', param: null, code: 'upgrade_required' } })
    t.match(refused.json.error.message, 'POST')
    t.equal(refused.headers.get('upgrade'), null)
    t.equal(refused.headers.get('connection'), 'close')
  }
})

t.test('memory 19: off, the connection is closed behind the refusal', async t => {
  const { port } = await startApplication(t, { routes: mount })
  const { socket, received, closed } = await openConnection(t, port)
  const headers = Object.entries({ host: 'localhost', ...WEBSOCKET_HEADERS }).map(
    ([name, value]) => `${name}: ${value}\r\n`
  )
  socket.write(`GET /v1/responses HTTP/1.1\r\n${headers.join('')}\r\n`)
  await closed
  t.match(received(), /^HTTP\/1.1 426 Upgrade Required\r\n/)
})

t.test('memory 19: other paths, and other protocols, are served as if nothing had been asked', async t => {
  const { url } = await startApplication(t, { routes: mount })
  t.equal((await getWithAnyHeaders(`${url}/v1/models`, WEBSOCKET_HEADERS)).status, 200)
  t.equal((await getWithAnyHeaders(`${url}/v1/nope`, WEBSOCKET_HEADERS)).status, 404)
  const other = { ...WEBSOCKET_HEADERS, upgrade: 'h2c' }
  t.equal((await getWithAnyHeaders(`${url}/v1/responses`, other)).status, 405)
})
