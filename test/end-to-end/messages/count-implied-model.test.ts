// Token counts of requests without a model, where an assistant or a thread implies one
// (messages.md 1.4).

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t from 'tap'
import { post } from '../../support/client.ts'
import { startGateway } from '../../support/in-process-gateway.ts'

const counted: unknown[] = []
const upstream = createServer(async (request, response) => {
  if (request.url !== '/api/v1/tokens/count') {
    response.end('{"data":[]}')
    return
  }
  counted.push(await json(request))
  response.end('[{"object":"tokens","tokens":3,"characters":2}]')
})
await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
t.teardown(() => {
  upstream.closeAllConnections()
  upstream.close()
})
const { port } = upstream.address() as AddressInfo
const gateway = await startGateway(t, {
  env: { UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/api/v1`, UPSTREAM_ACCESS_TOKEN: 'x' }
})
const count = (version: string, more: object, content = 'hi') =>
  post(`${gateway.url}/${version}/messages/count_tokens`, { messages: [{ role: 'user', content }], ...more })

for (const implied of [{ assistant_id: 'a' }, { storage: { thread_id: 'b' } }]) {
  t.test(`${JSON.stringify(implied)} implies the model of a count on v2, as of a message`, async t => {
    counted.length = 0
    const response = await count('v2', implied)
    t.equal(response.status, 200)
    t.strictSame(response.json, { input_tokens: 3 })
    t.strictSame((await count('v2', implied, '')).json, { input_tokens: 0 })
    t.equal((await count('v2', { model: 'one', ...implied })).status, 200)
    t.strictSame(counted, [{ input: ['hi'] }, { model: 'one', input: ['hi'] }])
    const refused = await count('v1', implied)
    t.equal(refused.status, 400)
    t.equal(refused.json.error.code, 'model_required')
  })
}

t.test('without an assistant or a thread a count needs a model', async t => {
  for (const version of ['v1', 'v2']) t.equal((await count(version, {})).json.error.code, 'model_required')
})
