import assert from 'node:assert/strict'
import { APIError } from 'openai'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions'
import { Stream } from 'openai/streaming'
import t from 'tap'
import { accumulateEvents, GatewayError } from '../../worker/normalized/index.ts'
import type { CompletionsChunk, CompletionsMessage } from '../../worker/protocols/completions/client/schema.ts'
import { createCompletionsStreamWriter } from '../../worker/protocols/completions/client/stream.ts'
import { writeCompletionsResponse } from '../../worker/protocols/completions/client/write-response.ts'
import { joinFrames } from '../../worker/protocols/shared/stream/stream-frames.ts'
import * as fc from '../support/properties.ts'
import { responseContext } from '../worker/protocols/completions/client/support.ts'
import { readStrictly } from './completions-chunks.ts'
import { playResponse, randomResponse } from './random-responses.ts'

const streamCase = fc.record({ response: randomResponse, isLegacy: fc.boolean(), wantsUsage: fc.boolean() })
type StreamCase = typeof streamCase extends fc.Arbitrary<infer Value> ? Value : never

function contextOf({ isLegacy, wantsUsage }: StreamCase) {
  return responseContext({
    ...(isLegacy ? { functions: [{ name: 'f' }] } : {}),
    ...(wantsUsage ? { stream_options: { include_usage: true } } : {})
  })
}

function writeStream(given: StreamCase, error?: GatewayError): string {
  const writer = createCompletionsStreamWriter(contextOf(given))
  const text = playResponse(given.response, error)
    .map(read => joinFrames(writer.write(read)))
    .join('')
  if (writer.write(playResponse(given.response).flat()) !== '') throw new Error('The writer wrote after the end.')
  return text
}

/** The response that the official SDK accumulates from the bytes. */
async function accumulateWithSdk(text: string): Promise<ChatCompletion> {
  const controller = new AbortController()
  const stream = Stream.fromSSEResponse<ChatCompletionChunk>(new Response(text), controller)
  return ChatCompletionStream.fromReadableStream(stream.toReadableStream()).finalChatCompletion()
}

function joinReasoning(chunks: readonly CompletionsChunk[]): string {
  return chunks
    .flatMap(chunk => chunk.choices)
    .map(choice => choice.delta.reasoning_content ?? '')
    .join('')
}

/** The message that the SDK accumulated, without the differences to `whole` that the SDK's helper itself causes. */
function readSdkMessage(completion: ChatCompletion, chunks: readonly CompletionsChunk[], whole: CompletionsMessage) {
  const { parsed: _parsed, ...message }: Record<string, unknown> = { ...completion.choices[0]?.message }
  // The helper replaces members that it does not know; a client would append the pieces.
  if ('reasoning_content' in message) message.reasoning_content = joinReasoning(chunks)
  // Extension chunks have an empty content, which a stream cannot take back when a call follows.
  if (whole.content === null && message.content === '') message.content = null
  return message
}

/** With a legacy call the SDK's helper keeps only the family's own members. */
function keepWhatSdkKeeps(whole: CompletionsMessage) {
  if (whole.function_call === undefined) return whole
  const { role, content, refusal, function_call } = whole
  return { role, content, refusal, function_call }
}

t.test('any stream follows the rules that an SDK relies on (A5, A8, A9, A21, B1, B5, D1)', async () => {
  fc.assert(
    fc.property(streamCase, given => {
      const { error } = readStrictly(writeStream(given))
      assert.equal(error, undefined)
    }),
    { numRuns: 500 }
  )
})

t.test('the official SDK accumulates any stream to the non-streaming response (A2, A6, A7, B2, B3)', async () => {
  await fc.assert(
    fc.asyncProperty(streamCase, async given => {
      const text = writeStream(given)
      const { chunks } = readStrictly(text)
      const completion = await accumulateWithSdk(text)
      const whole = writeCompletionsResponse(accumulateEvents(playResponse(given.response).flat()), contextOf(given))
      const { choices, ...rest } = completion
      // The null of the chunks stays in the SDK's message when no chunk with the usage follows; a whole response has no null.
      if ((rest.usage as unknown) === null) delete rest.usage
      const { choices: wholeChoices, usage: wholeUsage, ...wholeMembers } = whole
      // Only a client that asks gets the usage of a stream (decisions.md 107).
      const isShown = given.wantsUsage && wholeUsage !== undefined
      const wholeRest = { ...wholeMembers, ...(isShown ? { usage: wholeUsage } : {}) }
      assert.deepEqual(rest, wholeRest)
      assert.equal(choices[0]?.finish_reason, wholeChoices[0].finish_reason)
      const message = wholeChoices[0].message
      assert.deepEqual(readSdkMessage(completion, chunks, message), keepWhatSdkKeeps(message))
    }),
    { numRuns: 300 }
  )
})

t.test('an error at any position ends the stream with one frame that makes the official SDK throw (A14)', async () => {
  await fc.assert(
    fc.asyncProperty(streamCase, async given => {
      const error = new GatewayError('provider_failure', { message: 'The connection was lost.' })
      const text = writeStream(given, error)
      assert.deepEqual(readStrictly(text).error, {
        message: 'The connection was lost.',
        type: 'server_error',
        param: null,
        code: 'stream_error'
      })
      const thrown = await accumulateWithSdk(text).then(
        () => undefined,
        (thrown: unknown) => thrown
      )
      assert.ok(thrown instanceof APIError && thrown.code === 'stream_error')
    }),
    { numRuns: 100 }
  )
})
