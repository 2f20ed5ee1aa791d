// The Vercel AI SDK with a started gateway: errors, retries and aborts over all four operations.

import { APICallError, generateText, RetryError, streamText, type TextStreamPart, type ToolSet } from 'ai'
import t from 'tap'
import { upstreamChats } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { calm, createProviders, startSharedStack, upstreamModel } from './support.ts'

const { emulator, gateway, seats, strangers } = await startSharedStack()

/** Every part of a stream; the SDK puts errors there instead of throwing them. */
async function readParts(
  stream: AsyncIterable<TextStreamPart<ToolSet>>,
  parts: Array<TextStreamPart<ToolSet>> = []
): Promise<Array<TextStreamPart<ToolSet>>> {
  for await (const part of stream) parts.push(part)
  return parts
}

/** The text before the part at `end`. */
function textBefore(parts: ReadonlyArray<TextStreamPart<ToolSet>>, end: number): string {
  return parts.map((part, index) => (part.type === 'text-delta' && index < end ? part.text : '')).join('')
}

/** Keeps the SDK from printing the provoked errors. */
const quiet = { onError: () => undefined }

for (const { name, kind, model } of seats) {
  t.test(`${name}: every status is an error of the SDK, whole and streamed`, async t => {
    for (const [status, isRetryable] of [
      [400, false],
      [401, false],
      [403, false],
      [404, false],
      [422, false],
      [429, true],
      [500, true],
      [503, true]
    ] as const) {
      const request = { ...calm, ...quiet, model, prompt: `[[error:${status} message=So it is]]` }
      const thrown = await catchError(() => generateText(request))
      const parts = await readParts(streamText(request).stream)
      const part = parts.find(part => part.type === 'error')
      for (const error of [thrown, part?.error]) {
        t.ok(APICallError.isInstance(error), String(status))
        t.match(error, { statusCode: status, isRetryable, message: /So it is/ })
      }
    }
  })

  t.test(`${name}: retry-after is part of the error`, async t => {
    const error = await catchError(() => generateText({ ...calm, model, prompt: '[[error:429 retry=7]]' }))
    t.match(error, { responseHeaders: { 'retry-after': '7' } })
  })

  t.test(`${name}: the SDK retries retryable errors only, whole and streamed`, async t => {
    for (const isStream of [false, true]) {
      const before = upstreamChats(emulator).length
      // Retry-After 0, or the SDK would wait for two seconds.
      const request = { ...calm, maxRetries: 1, model, prompt: `[[flaky:1:503 retry=0]][[text:ok ${isStream}]]` }
      const text = isStream ? await streamText(request).text : (await generateText(request)).text
      t.equal(text, `ok ${isStream}`)
      t.equal(upstreamChats(emulator).length, before + 2)
    }
    const error = await catchError(() =>
      generateText({ ...calm, maxRetries: 1, model, prompt: '[[error:503 retry=0]]' })
    )
    t.ok(RetryError.isInstance(error))
  })

  t.test(`${name}: a failure within a stream is reported after the text that was sent (A14)`, async t => {
    for (const directive of ['[[badframe]]', '[[noeof]]', '[[die]]', '[[errframe]]']) {
      const streamed = streamText({ ...calm, ...quiet, model, prompt: `${directive}[[chunks:a|b|c]]` })
      // The connection breaks behind the error (decisions.md 108), and the SDK throws that where it is read.
      const parts: Array<TextStreamPart<ToolSet>> = []
      const error = await catchError(() => readParts(streamed.stream, parts))
      t.match(error, { name: 'AI_APICallError', isRetryable: true }, directive)
      t.match(textBefore(parts, parts.length), /^a/, directive)
      t.notOk(parts.some(({ type }) => type === 'finish'))
      // In the content family the error is no event (decisions.md 52).
      if (kind === 'content') continue
      const sent = parts.find(({ type }) => type === 'error')
      t.match(sent, { error: { name: 'AI_StreamProviderError', message: String, isRetryable: true } }, directive)
    }
  })

  t.test(`${name}: aborting a stream aborts the upstream call (H1)`, async t => {
    const before = emulator.stats.aborted
    const controller = new AbortController()
    const { stream } = streamText({
      ...calm,
      ...quiet,
      model,
      prompt: '[[tick:20]][[len:5000]]',
      abortSignal: controller.signal
    })
    const types: string[] = []
    for await (const part of stream) {
      types.push(part.type)
      if (part.type === 'text-delta') controller.abort()
    }
    t.equal(types.at(-1), 'abort')
    await emulator.waitFor(() => emulator.stats.aborted > before)
  })

  t.test(`${name}: aborting a call before its response aborts the upstream call (H2, H3)`, async t => {
    const before = emulator.stats.aborted
    const chats = upstreamChats(emulator).length
    const controller = new AbortController()
    const response = catchError(() =>
      generateText({ ...calm, model, prompt: '[[hang]]', abortSignal: controller.signal })
    )
    await emulator.waitFor(() => upstreamChats(emulator).length > chats)
    controller.abort()
    t.match(await response, { name: 'AbortError' })
    await emulator.waitFor(() => emulator.stats.aborted > before)
  })
}

t.test('the error for an invalid request names its field', async t => {
  const model = createProviders(gateway.url, 'v1').openai.chat(upstreamModel)
  // The SDK does not count stop sequences; the completions family allows four.
  const stopSequences = ['a', 'b', 'c', 'd', 'e']
  const error = await catchError(() => generateText({ ...calm, model, prompt: 'hi', stopSequences }))
  t.match(error, { statusCode: 400, data: { error: { param: 'stop', code: 'invalid_request' } } })
})

t.test('an unknown route is an error of the SDK', async t => {
  const model = createProviders(gateway.url, 'v1').openai.completion('gpt-3.5-turbo-instruct')
  const error = await catchError(() => generateText({ ...calm, model, prompt: 'hi' }))
  t.match(error, { name: 'AI_APICallError', statusCode: 404 })
})

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
