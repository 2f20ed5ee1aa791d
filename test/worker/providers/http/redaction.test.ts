// The upstream repeats the gateway's credential in its message about a failure, in every place that can have one.

import type { ServerResponse } from 'node:http'
import t from 'tap'
import { chatCall, contextOf, createSink, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

const secret = 'c2VydmVyLWNhbmFyeTpzZWNyZXQ'
const message = `Can't use ${secret} here`
const redacted = `Can't use *** here`

async function startRefusing(handler: (response: ServerResponse) => void) {
  const stub = await startStub((_request, response) => handler(response))
  t.teardown(stub.close)
  return startPool(t, { UPSTREAM_BASE_URL: `${stub.origin}/api/v1`, UPSTREAM_ACCESS_TOKEN: secret }).executor
}

t.test('a secret is masked in the body of an error', async t => {
  const executor = await startRefusing(response => sendJson(response, 422, { status: 422, message }))
  for (const fail of [
    () => executor.complete(chatCall('hi'), contextOf()),
    () => executor.stream(chatCall('hi', { isStream: true }), contextOf(), createSink()),
    () => executor.embed({ model: 'Embeddings', input: ['x'] }, contextOf()),
    () => executor.countTokens({ model: 'm', input: ['x'] }, contextOf()),
    () => executor.listModels(contextOf())
  ]) {
    t.match(await rejection(fail()), { code: 'upstream_rejected', status: 422, message: redacted })
  }
})

t.test('a secret is masked in an error in a body with status 200', async t => {
  const executor = await startRefusing(response => sendJson(response, 200, { status: 429, message }))
  t.match(await rejection(executor.complete(chatCall('hi'), contextOf())), { status: 429, message: redacted })
})

t.test('a secret is masked in an error event of a stream', async t => {
  const executor = await startRefusing(response => {
    const frame = (payload: unknown) => response.write(`data: ${JSON.stringify(payload)}\n\n`)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    frame({ choices: [{ delta: { content: 'Hi', role: 'assistant' }, index: 0 }], model: 'm' })
    frame({ error: { status: 500, message } })
    response.end()
  })
  const sink = createSink()
  await executor.stream(chatCall('hi', { isStream: true }), contextOf(), sink)
  t.equal(sink.text(), 'Hi')
  t.match(sink.events().at(-1), { type: 'error', error: { message: redacted } })
})
