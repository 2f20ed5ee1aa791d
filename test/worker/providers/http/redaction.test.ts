// The upstream repeats the gateway's own credential in what it says about a failure, in every place where it can say something.

import type { ServerResponse } from 'node:http'
import t from 'tap'
import { chatCall, contextOf, createSink, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { answerJson, startStub } from '../support/stub-upstream.ts'

const secret = 'c2VydmVyLWNhbmFyeTpzZWNyZXQ'
const message = `Can't use ${secret} here`
const concealed = `Can't use *** here`

async function startRefusing(handler: (response: ServerResponse) => void) {
  const stub = await startStub((_request, response) => handler(response))
  t.teardown(stub.close)
  return startPool(t, { UPSTREAM_BASE_URL: `${stub.origin}/api/v1`, UPSTREAM_ACCESS_TOKEN: secret }).provider
}

t.test('not in the body of an error', async t => {
  const provider = await startRefusing(response => answerJson(response, 422, { status: 422, message }))
  for (const fail of [
    () => provider.complete(chatCall('hi'), contextOf()),
    () => provider.stream(chatCall('hi', { isStream: true }), contextOf(), createSink()),
    () => provider.embed({ model: 'Embeddings', input: ['x'] }, contextOf()),
    () => provider.countTokens({ model: 'm', input: ['x'] }, contextOf()),
    () => provider.listModels(contextOf())
  ]) {
    t.match(await rejection(fail()), { code: 'upstream_rejected', status: 422, message: concealed })
  }
})

t.test('not in the payload of an answer', async t => {
  const provider = await startRefusing(response => answerJson(response, 200, { status: 429, message }))
  t.match(await rejection(provider.complete(chatCall('hi'), contextOf())), { status: 429, message: concealed })
})

t.test('not in an event of a stream', async t => {
  const provider = await startRefusing(response => {
    const frame = (payload: unknown) => response.write(`data: ${JSON.stringify(payload)}\n\n`)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    frame({ choices: [{ delta: { content: 'Hi', role: 'assistant' }, index: 0 }], model: 'm' })
    frame({ error: { status: 500, message } })
    response.end()
  })
  const sink = createSink()
  await provider.stream(chatCall('hi', { isStream: true }), contextOf(), sink)
  t.equal(sink.text(), 'Hi')
  t.match(sink.events().at(-1), { type: 'error', error: { message: concealed } })
})
