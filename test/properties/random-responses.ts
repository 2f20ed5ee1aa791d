// Random responses: every operation that a provider face may call on an assembler, cut into reads at random.

import {
  EventAssembler,
  type FinishReason,
  type GatewayError,
  type NormalizedEvent,
  type NormalizedUsage,
  type ProviderState
} from '../../worker/normalized/index.ts'
import * as fc from '../support/properties.ts'

export type Step = (assembler: EventAssembler) => void

export const piece = fc.string({ unit: 'grapheme', maxLength: 12 })
const run = fc.nat(3)
const count = fc.option(fc.nat(1000))
export const callHead = fc
  .record({
    id: fc.uuid(),
    name: fc.constantFrom('weather', 'f', 'web_search', 'ns__g'),
    namespace: fc.option(fc.constant('geo'), { nil: undefined })
  })
  .map(({ id, name, namespace }) => (namespace === undefined ? { id, name } : { id, name, namespace }))
export const hostedTool = fc.constantFrom(
  { kind: 'web_search' as const, name: 'web_search' },
  { kind: 'image_generate' as const, name: 'image_generate' },
  { kind: 'code_interpreter' as const, name: 'code_interpreter' }
)
const sources = fc.array(
  fc.webUrl().map(url => ({ id: '1', url, title: 'T' })),
  { maxLength: 2 }
)
const inlineData = fc.option(
  piece.map(text => ({ sources: { 1: text } })),
  { nil: undefined }
)
const file = fc.constantFrom(
  { fileId: 'f1', target: 'image', mediaType: 'image/jpeg', base64: 'AAEC' },
  { fileId: 'f2', mediaType: 'image/png' },
  { fileId: 'f3', target: '3dmodel' }
)

/** Provider state as it arrives on the content wire and on the messages wire. */
export const signature: fc.Arbitrary<ProviderState> = fc
  .base64String({ minLength: 4 })
  .chain(text =>
    fc.constantFrom<ProviderState>(
      { content_compatible: { thoughtSignature: text } },
      { messages_compatible: { signature: text } },
      { messages_compatible: { redacted: text } }
    )
  )

/** A step that calls `apply` with a random value. */
export function act<Value>(
  weight: number,
  value: fc.Arbitrary<Value>,
  apply: (assembler: EventAssembler, value: Value) => void
): fc.WeightedArbitrary<Step> {
  return { weight, arbitrary: value.map(chosen => assembler => apply(assembler, chosen)) }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  act(6, piece, (assembler, text) => assembler.text(text)),
  act(3, piece, (assembler, text) => assembler.reasoning(text)),
  act(1, piece, (assembler, text) => assembler.refusal(text)),
  act(1, signature, (assembler, state) => assembler.blockState(state)),
  act(1, signature, (assembler, state) => assembler.opaqueReasoning(state)),
  act(1, signature, (assembler, state) => assembler.opaqueText(state)),
  act(1, fc.constant(null), assembler => assembler.closeBlock()),
  act(3, fc.tuple(callHead, piece), (assembler, [call, text]) => assembler.toolCall(call, text)),
  act(2, callHead, (assembler, call) => void assembler.startToolCall(call)),
  act(4, piece, (assembler, text) => assembler.toolCallArguments(text)),
  act(1, fc.tuple(fc.nat(20), fc.nat(20)), (assembler, [startIndex, endIndex]) =>
    assembler.citation({ type: 'url-citation', startIndex, endIndex, url: 'https://e.test', title: '[' })
  ),
  act(3, hostedTool, (assembler, tool) => void assembler.startHostedTool(tool)),
  act(
    2,
    fc.tuple(run, fc.constantFrom('in-progress', 'searching', 'generating', 'completed', 'failed'), count),
    (assembler, [index, status, left]) =>
      assembler.hostedToolProgress(index, left === null ? { status } : { status, secondsLeft: left })
  ),
  act(
    3,
    fc.tuple(run, fc.constantFrom('completed', 'failed'), sources, inlineData),
    (assembler, [index, status, sources, inlineData]) =>
      assembler.endHostedTool(index, { status, sources, ...(inlineData === undefined ? {} : { inlineData }) })
  ),
  act(2, file, (assembler, made) => assembler.file(made))
)

export const usage: fc.Arbitrary<NormalizedUsage | null> = fc.option(
  fc.record({
    inputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    outputTokens: count,
    reasoningTokens: count,
    totalTokens: count
  })
)

export const finishReason = fc.constantFrom<FinishReason>('stop', 'length', 'tool-calls', 'content-filter', 'cancelled')
const metadata = fc.dictionary(fc.constantFrom('upstream_x_request_id', 'upstream_message_id'), piece, { maxKeys: 2 })

export const randomResponse = fc.record({
  steps: fc.array(fc.record({ step, isCut: fc.boolean() }), { maxLength: 25 }),
  start: metadata,
  end: fc.record({ reason: finishReason, metadata, usage })
})

export type RandomResponse = typeof randomResponse extends fc.Arbitrary<infer Value> ? Value : never

/** The events of a response, one array per read; `error` replaces the finish event. */
/**
 * The events without the state that came behind the start of its call: a stream can send it only behind the call, while a whole response has
 * it in front.
 */
export function withoutLateState(reads: NormalizedEvent[][]): NormalizedEvent[][] {
  return reads.map(read =>
    read.map(event => (event.type === 'tool-call-end' ? { type: event.type, index: event.index } : event))
  )
}

export function playResponse(response: RandomResponse, error?: GatewayError): NormalizedEvent[][] {
  const assembler = new EventAssembler()
  const reads: NormalizedEvent[][] = []
  assembler.start({ providerModel: null, metadata: response.start })
  for (const { step, isCut } of response.steps) {
    step(assembler)
    if (isCut) reads.push(assembler.take())
  }
  if (error === undefined) {
    const { reason, metadata, usage } = response.end
    assembler.finish({ reason, providerReason: null, metadata }, usage)
  } else assembler.fail(error)
  return [...reads, assembler.take()]
}
