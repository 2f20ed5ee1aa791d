// How logs and metrics name the route and protocol of a request: by the template of operations.md 7.4, never by the raw path.

import t from 'tap'
import { startObservedWorker } from './recorder.ts'

const worker = await startObservedWorker(t, (_request, response) => {
  response.writeHead(500).end()
})

/** Sends a request and returns how its life is named. */
async function nameOf(method: string, path: string, headers: Record<string, string> = {}): Promise<string> {
  const { lives } = worker.recorder
  const count = lives.length
  await (await fetch(worker.url + path, { method, headers })).arrayBuffer()
  await worker.recorder.whenClosed(count + 1)
  const { route, protocol } = lives[count]?.view ?? {}
  return `${route} ${protocol}`
}

const operations = ['generateContent', 'streamGenerateContent', 'countTokens', 'embedContent', 'batchEmbedContents']

t.test('every content operation has its own template under every prefix, also with a wrong method', async t => {
  for (const prefix of ['', '/v1', '/v2', '/v1beta', '/v1/v1beta', '/v2/v1beta']) {
    for (const operation of operations) {
      const wanted = `${prefix}/models/{model}:${operation} gemini`
      for (const method of ['POST', 'GET', 'PUT']) {
        t.equal(await nameOf(method, `${prefix}/models/gemini-x:${operation}`), wanted, `${method} ${wanted}`)
      }
    }
  }
  const wanted = '/v1beta/models/{model}:countTokens gemini'
  t.equal(await nameOf('POST', '/v1beta/models/a/b:c:countTokens'), wanted, 'slashes and colons in the id')
  t.equal(await nameOf('POST', '/v1beta/models/x%3AcountTokens'), wanted, 'an encoded colon')
  t.equal(await nameOf('DELETE', '/v1beta/models/x%3AcountTokens'), wanted, 'the same with a wrong method')
})

t.test('an operation that does not exist counts under the model route', async t => {
  t.equal(await nameOf('POST', '/v1beta/models/x:nope'), '/v1beta/models/{model} gemini')
  t.equal(await nameOf('GET', '/v1/models/x:nope'), '/v1/models/{model} openai')
})

t.test('shared model lists have the protocol of their client, and model info that of LiteLLM', async t => {
  t.equal(await nameOf('GET', '/v1/models'), '/v1/models openai')
  t.equal(await nameOf('GET', '/v1/models', { 'anthropic-version': '1' }), '/v1/models anthropic')
  t.equal(await nameOf('GET', '/models/x?key=k'), '/models/{model} gemini')
  t.equal(await nameOf('GET', '/v2/model/info'), '/v2/model/info litellm')
  t.equal(await nameOf('POST', '/model/info'), '/model/info litellm')
})

t.test('a wrong method counts under the route of its path, and an unknown path under none', async t => {
  t.equal(await nameOf('GET', '/v1/messages'), '/v1/messages anthropic')
  t.equal(await nameOf('PUT', '/api/v2/responses'), '/v2/responses openai')
  t.equal(await nameOf('POST', '/health'), '/health system')
  for (const path of ['/nope', '/v1/nope', '/v1/messages/nope', '/v1beta/nope', '/health/', '/%zz']) {
    t.equal(await nameOf('GET', path), 'unmatched system', path)
  }
})

t.test('a model without an operation belongs to the family of its client, with every method', async t => {
  const anthropic = { 'anthropic-version': '2023-06-01' }
  for (const method of ['POST', 'PUT', 'DELETE']) {
    t.equal(await nameOf(method, '/v1/models/x'), '/v1/models/{model} openai', method)
    t.equal(await nameOf(method, '/v1/models/x', anthropic), '/v1/models/{model} anthropic', method)
    t.equal(await nameOf(method, '/v1beta/models/x', anthropic), '/v1beta/models/{model} gemini', method)
  }
  const response = await fetch(`${worker.url}/v1/models/x`, { method: 'POST', headers: anthropic, body: '{}' })
  t.strictSame([response.status, response.headers.get('allow')], [405, 'GET'])
  t.match(await response.json(), { type: 'error', error: { type: 'invalid_request_error' } })
})
