// LangChain with a started gateway: errors, retries and aborts over all four operations.

import t from 'tap'
import { upstreamChats } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { addUp, createModels, readStatus, startSharedStack } from './support.ts'

const { emulator, gateway, seats, strangers } = await startSharedStack()

for (const { name, kind, model } of seats) {
  t.test(`${name}: every status is thrown, whole and streamed`, async t => {
    for (const status of [400, 401, 403, 404, 422, 429, 500, 503]) {
      const prompt = `[[error:${status} message=So it is]]`
      for (const call of [() => model.invoke(prompt), async () => addUp(await model.stream(prompt))]) {
        const error = await catchError(call)
        t.equal(readStatus(error), status)
        t.match((error as Error).message, /So it is/)
      }
    }
  })

  // The connection of this protocol breaks, and this package's SDK then rejects a second promise that cannot be handled.
  if (kind === 'content-legacy') continue

  t.test(`${name}: a failure within a stream is not mistaken for a complete response (A14)`, async t => {
    for (const directive of ['[[badframe]]', '[[noeof]]', '[[die]]', '[[errframe]]']) {
      let text = ''
      let metadata: Record<string, unknown> = {}
      const error = await catchError(async () => {
        for await (const chunk of await model.stream(`${directive}[[chunks:a|b|c]]`)) {
          text += chunk.text
          metadata = { ...metadata, ...chunk.response_metadata }
        }
      })
      t.match(text, /^a/, directive)
      // These throw. The other skips a failed response, so the missing end is the only sign.
      if (kind === 'chat' || kind === 'messages') t.match(error, { name: 'Error' }, directive)
      else if (kind === 'content') t.ok(error instanceof Error, directive)
      else t.strictSame([metadata.finishReason, metadata.status === 'completed'], [undefined, false], directive)
    }
  })
}

for (const { name, kind, model } of seats) {
  // This package does not abort its request, and its SDK causes a rejection that cannot be handled.
  if (kind === 'content-legacy') continue

  t.test(`${name}: aborting a stream aborts the upstream call (H1)`, async t => {
    const before = emulator.stats.aborted
    const controller = new AbortController()
    const stream = await model.stream('[[tick:20]][[len:5000]]', { signal: controller.signal })
    const error = await catchError(async () => {
      for await (const chunk of stream) if (chunk.text !== '') controller.abort()
    })
    t.ok(error instanceof Error)
    await emulator.waitFor(() => emulator.stats.aborted > before)
  })

  t.test(`${name}: aborting a call before its response aborts the upstream call (H2, H3)`, async t => {
    const before = emulator.stats.aborted
    const chats = upstreamChats(emulator).length
    const controller = new AbortController()
    const response = catchError(() => model.invoke('[[hang]]', { signal: controller.signal }))
    await emulator.waitFor(() => upstreamChats(emulator).length > chats)
    controller.abort()
    t.ok((await response) instanceof Error)
    await emulator.waitFor(() => emulator.stats.aborted > before)
  })
}

for (const { name, kind, model } of seats) {
  // The packages of the content family continue to read after the application has ended the iteration.
  if (kind === 'content' || kind === 'content-legacy') continue

  t.test(`${name}: ending the iteration of a stream aborts the upstream call (H1)`, async t => {
    const before = emulator.stats.aborted
    for await (const chunk of await model.stream('[[tick:20]][[len:5000]]')) if (chunk.text !== '') break
    await emulator.waitFor(() => emulator.stats.aborted > before)
    t.pass('the upstream saw it')
  })
}

t.test('errors have the codes, parameters and classes by which the library recognises them', async t => {
  const { chat, responses, messages, content } = createModels(gateway.url, 'v2')
  for (const model of [chat, responses, messages]) {
    t.match(await catchError(() => model.invoke('[[error:401]]')), { lc_error_code: 'MODEL_AUTHENTICATION' })
    t.match(await catchError(() => model.invoke('[[error:404]]')), { lc_error_code: 'MODEL_NOT_FOUND' })
    t.match(await catchError(() => model.invoke('[[error:429]]')), { lc_error_code: 'MODEL_RATE_LIMIT' })
  }
  t.match(await catchError(() => chat.invoke('hi', { stop: ['a', 'b', 'c', 'd', 'e'] })), {
    status: 400,
    param: 'stop',
    code: 'invalid_request'
  })
  t.match(await catchError(() => content.invoke('[[error:503]]')), { name: 'RequestError', statusCode: 503 })
})

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
