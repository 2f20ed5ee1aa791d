import assert from 'node:assert/strict'
import fc from 'fast-check'
import { APIError } from 'openai'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions'
import { Stream } from 'openai/streaming'
import t from 'tap'
import {
  accumulateEvents,
  EventAssembler,
  type FinishReason,
  GatewayError,
  type NormalizedEvent,
  type NormalizedUsage
} from '../../worker/normalized/index.ts'
import type { CompletionsChunk, CompletionsMessage } from '../../worker/protocols/completions/schema.ts'
import { createCompletionsStreamWriter } from '../../worker/protocols/completions/stream.ts'
import { writeCompletionsResponse } from '../../worker/protocols/completions/write-response.ts'
import { answerContext } from '../worker/protocols/completions/support.ts'
import { readStrictly } from './completions-chunks.ts'

// Random answers: whatever a provider face may do with an assembler, cut into reads anywhere.

type Step = (assembler: EventAssembler) => void

const piece = fc.string({ unit: 'grapheme', maxLength: 12 })
const name = fc.constantFrom('weather', 'f', 'web_search', 'ns__g')
const count = fc.option(fc.nat(1000))
const callStep = fc
  .record({ id: fc.uuid(), name, namespace: fc.option(fc.constant('geo'), { nil: undefined }) })
  .map(({ id, name, namespace }) => (namespace === undefined ? { id, name } : { id, name, namespace }))
const hosted = fc.constantFrom(
  { kind: 'web_search' as const, name: 'web_search' },
  { kind: 'image_generate' as const, name: 'image_generate' }
)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: piece.map(
      (text): Step =>
        assembler =>
          assembler.text(text)
    )
  },
  {
    weight: 3,
    arbitrary: piece.map(
      (text): Step =>
        assembler =>
          assembler.reasoning(text)
    )
  },
  {
    weight: 1,
    arbitrary: piece.map(
      (text): Step =>
        assembler =>
          assembler.refusal(text)
    )
  },
  { weight: 1, arbitrary: fc.constant<Step>(assembler => assembler.closeBlock()) },
  {
    weight: 3,
    arbitrary: fc.tuple(callStep, piece).map(
      ([head, text]): Step =>
        assembler =>
          assembler.toolCall(head, text)
    )
  },
  {
    weight: 2,
    arbitrary: callStep.map(
      (head): Step =>
        assembler =>
          void assembler.startToolCall(head)
    )
  },
  {
    weight: 4,
    arbitrary: piece.map(
      (text): Step =>
        assembler =>
          assembler.toolCallArguments(text)
    )
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(20), fc.nat(20)).map(
      ([startIndex, endIndex]): Step =>
        assembler =>
          assembler.citation({ type: 'url-citation', startIndex, endIndex, url: 'https://e.test', title: '[' })
    )
  },
  {
    weight: 1,
    arbitrary: hosted.map(
      (tool): Step =>
        assembler =>
          void assembler.startHostedTool(tool)
    )
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(2), fc.constantFrom('searching' as const, 'generating' as const), fc.nat(9)).map(
      ([index, status, secondsLeft]): Step =>
        assembler =>
          assembler.hostedToolProgress(index, { status, secondsLeft })
    )
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(2), fc.constantFrom('completed' as const, 'failed' as const), piece).map(
      ([index, status, text]): Step =>
        assembler =>
          assembler.endHostedTool(index, { status, inlineData: { [`part${index}`]: text } })
    )
  },
  {
    weight: 1,
    arbitrary: fc.uuid().map(
      (fileId): Step =>
        assembler =>
          assembler.file({ fileId, target: 'image' })
    )
  }
)

const usage: fc.Arbitrary<NormalizedUsage | null> = fc.option(
  fc.record({
    inputTokens: count,
    cachedInputTokens: count,
    outputTokens: count,
    reasoningTokens: count,
    totalTokens: count
  })
)

const reason = fc.constantFrom<FinishReason>('stop', 'length', 'tool-calls', 'content-filter', 'cancelled')
const metadata = fc.dictionary(fc.constantFrom('upstream_x_request_id', 'upstream_thread_id'), piece, { maxKeys: 2 })

const answer = fc.record({
  steps: fc.array(fc.record({ step, isCut: fc.boolean() }), { maxLength: 25 }),
  start: metadata,
  end: fc.record({ reason, metadata, usage }),
  isLegacy: fc.boolean(),
  wantsUsage: fc.boolean()
})
type Answer = typeof answer extends fc.Arbitrary<infer Value> ? Value : never

/** The events of an answer, as the reads they come in; `error` ends it instead of a finish. */
function play(answer: Answer, error?: GatewayError): NormalizedEvent[][] {
  const assembler = new EventAssembler()
  const reads: NormalizedEvent[][] = []
  assembler.start({ providerModel: null, metadata: answer.start })
  for (const { step, isCut } of answer.steps) {
    step(assembler)
    if (isCut) reads.push(assembler.take())
  }
  if (error === undefined) {
    const { reason, metadata, usage } = answer.end
    assembler.finish({ reason, providerReason: null, metadata }, usage)
  } else assembler.fail(error)
  return [...reads, assembler.take()]
}

function contextOf({ isLegacy, wantsUsage }: Answer) {
  return answerContext({
    ...(isLegacy ? { functions: [{ name: 'f' }] } : {}),
    ...(wantsUsage ? { stream_options: { include_usage: true } } : {})
  })
}

function writeStream(answer: Answer, error?: GatewayError): string {
  const writer = createCompletionsStreamWriter(contextOf(answer))
  const text = play(answer, error)
    .map(read => writer.write(read))
    .join('')
  if (writer.write(play(answer).flat()) !== '') throw new Error('Something was written after the end.')
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
      const whole = writeCompletionsResponse(accumulateEvents(play(answer).flat()), contextOf(answer))
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
