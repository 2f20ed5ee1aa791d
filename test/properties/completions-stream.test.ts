import assert from 'node:assert/strict'
import fc from 'fast-check'
import { APIError } from 'openai'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions'
import { Stream } from 'openai/streaming'
import t from 'tap'
import { accumulateEvents, GatewayError } from '../../worker/normalized/index.ts'
import type { CompletionsChunk, CompletionsMessage } from '../../worker/protocols/completions/client/schema.ts'
import { createCompletionsStreamWriter } from '../../worker/protocols/completions/client/stream.ts'
import { writeCompletionsResponse } from '../../worker/protocols/completions/client/write-response.ts'
import { responseContext } from '../worker/protocols/completions/client/support.ts'
import { readStrictly } from './completions-chunks.ts'
import { playAnswer, randomAnswer } from './random-answers.ts'

const answer = fc.record({ answer: randomAnswer, isLegacy: fc.boolean(), wantsUsage: fc.boolean() })
type Answer = typeof answer extends fc.Arbitrary<infer Value> ? Value : never

function contextOf({ isLegacy, wantsUsage }: Answer) {
  return responseContext({
    ...(isLegacy ? { functions: [{ name: 'f' }] } : {}),
    ...(wantsUsage ? { stream_options: { include_usage: true } } : {})
  })
}

function writeStream(answer: Answer, error?: GatewayError): string {
  const writer = createCompletionsStreamWriter(contextOf(answer))
  const text = playAnswer(answer.answer, error)
    .map(read => writer.write(read))
    .join('')
  if (writer.write(playAnswer(answer.answer).flat()) !== '') throw new Error('Something was written after the end.')
  return text
}

/** The answer as the official SDK adds it up from the bytes. */
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

/** The message of the SDK's sum in the terms of ours. */
function readSdkMessage(completion: ChatCompletion, chunks: readonly CompletionsChunk[], whole: CompletionsMessage) {
  const { parsed: _parsed, ...message }: Record<string, unknown> = { ...completion.choices[0]?.message }
  // The helper replaces members it does not know where a client would join them.
  if ('reasoning_content' in message) message.reasoning_content = joinReasoning(chunks)
  // A stream cannot take the empty content of its extension chunks back once a call follows.
  if (whole.content === null && message.content === '') message.content = null
  return message
}

/** Of a legacy call the helper keeps nothing but the family's own members. */
function dropWhatSdkDrops(whole: CompletionsMessage) {
  if (whole.function_call === undefined) return whole
  const { role, content, refusal, function_call } = whole
  return { role, content, refusal, function_call }
}

t.test('any answer is a stream that an SDK can rely on (A5, A8, A9, A21, B1, B5, D1)', async () => {
  fc.assert(
    fc.property(answer, answer => {
      const { error } = readStrictly(writeStream(answer))
      assert.equal(error, undefined)
    }),
    { numRuns: 500 }
  )
})

t.test('any stream adds up, in the official SDK, to the whole answer (A2, A6, A7, B2, B3)', async () => {
  await fc.assert(
    fc.asyncProperty(answer, async answer => {
      const text = writeStream(answer)
      const { chunks } = readStrictly(text)
      const completion = await accumulateWithSdk(text)
      const whole = writeCompletionsResponse(accumulateEvents(playAnswer(answer.answer).flat()), contextOf(answer))
      const { choices, ...rest } = completion
      const { choices: wholeChoices, ...wholeRest } = whole
      assert.deepEqual(rest, wholeRest)
      assert.equal(choices[0]?.finish_reason, wholeChoices[0].finish_reason)
      const message = wholeChoices[0].message
      assert.deepEqual(readSdkMessage(completion, chunks, message), dropWhatSdkDrops(message))
    }),
    { numRuns: 300 }
  )
})

t.test('an error anywhere ends the stream with one frame that the official SDK throws (A14)', async () => {
  await fc.assert(
    fc.asyncProperty(answer, async answer => {
      const error = new GatewayError('provider_failure', { message: 'The connection was lost.' })
      const text = writeStream(answer, error)
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
