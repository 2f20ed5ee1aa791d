// A resource whose response is read while it arrives, from a server that writes it piece by piece.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import type { ResourceCall, StreamedResponse } from '../../../../worker/providers/types.ts'
import { createWordExecutor, wordCall } from '../support/http.ts'
import { contextOf } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

async function start(t: Test, handle: (response: ServerResponse) => void | Promise<void>) {
  const stub = await startStub((_request, response) => handle(response))
  t.teardown(() => stub.close())
  const { executor } = createWordExecutor(t, stub.origin)
  const call: ResourceCall = {
    plan: wordCall().plan,
    operation: 'embeddings',
    method: 'POST',
    path: '/speech',
    headers: [],
    body: Buffer.from('{}')
  }
  async function stream<Result>(read: (response: StreamedResponse) => Promise<Result>, context = contextOf()) {
    if (executor.stream === undefined) throw new Error('The executor streams.')
    return executor.stream(call, context, read)
  }
  return { stub, stream }
}

t.test('pieces arrive before the end of the response', async t => {
  const first = Promise.withResolvers<void>()
  const { stream } = await start(t, async response => {
    response.writeHead(200, { 'content-type': 'audio/mpeg' })
    response.write('one')
    await first.promise
    response.end('two')
  })
  const texts = await stream(async ({ headers, bytes }) => {
    t.equal(headers['content-type'], 'audio/mpeg')
    const read: string[] = []
    for await (const piece of bytes) {
      read.push(Buffer.from(piece).toString())
      first.resolve()
    }
    return read
  })
  t.same(texts, ['one', 'two'])
})

t.test('a slow reader pauses the provider, and gets every byte', async t => {
  const total = 64 * 1024 * 1024
  const piece = Buffer.alloc(256 * 1024, 'x')
  const full = Promise.withResolvers<void>()
  let written = 0
  const { stream } = await start(t, async response => {
    response.writeHead(200)
    while (written < total) {
      written += piece.length
      if (response.write(piece)) continue
      const drained = once(response, 'drain')
      // The buffers between server and reader are full when the server waits this long.
      const timer = setTimeout(full.resolve, 300)
      await drained
      clearTimeout(timer)
    }
    response.end()
  })
  let received = 0
  await stream(async ({ bytes }) => {
    await full.promise
    t.ok(written < total / 2, 'the server waits long before the end')
    for await (const { length } of bytes) received += length
  })
  t.equal(received, total)
})

t.test('an abort ends the exchange, and so does a reader that has enough', async t => {
  for (const way of ['abort', 'enough']) {
    const { stub, stream } = await start(t, response => {
      response.writeHead(200)
      response.write('one')
    })
    const closed = stub.nextAbort()
    const controller = new AbortController()
    const read = stream(
      async ({ bytes }) => {
        for await (const _piece of bytes) {
          if (way === 'enough') return
          controller.abort(new GatewayError('client_disconnected'))
        }
      },
      contextOf({ signal: controller.signal })
    )
    if (way === 'abort') t.match(await rejection(read), { code: 'client_disconnected' })
    else await read
    await closed
    t.pass(`the connection was closed: ${way}`)
  }
})

t.test('a failure in the middle comes behind the pieces before it, and is reported', async t => {
  const { stream } = await start(t, response => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('one', () => response.destroy())
  })
  const failures: string[] = []
  let text = ''
  const read = stream(
    async ({ bytes }) => {
      for await (const piece of bytes) text += Buffer.from(piece).toString()
    },
    contextOf({ onUpstreamFailure: errorType => failures.push(errorType) })
  )
  t.match(await rejection(read), { code: 'provider_failure' })
  t.equal(text, 'one')
  t.same(failures, ['connect_error'])
})

t.test('a refused call is raised with the error of the provider, and is not read', async t => {
  const { stream } = await start(t, response => sendJson(response, 400, { oops: 'no' }))
  t.match(await rejection(stream(async () => t.fail('there is nothing to read'))), { status: 400 })
})
