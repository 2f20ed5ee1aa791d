import assert from 'node:assert/strict'
import { APIError } from '@anthropic-ai/sdk'
import { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream'
import type { Message, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages/messages'
import { Stream } from '@anthropic-ai/sdk/streaming'
import t from 'tap'
import {
  accumulateEvents,
  createStopSequenceFilter,
  EventAssembler,
  GatewayError,
  type NormalizedEvent,
  type NormalizedResponse
} from '../../worker/normalized/index.ts'
import { GATEWAY_SIGNATURE } from '../../worker/protocols/messages/client/signature.ts'
import { createMessagesStreamWriter } from '../../worker/protocols/messages/client/stream.ts'
import { writeMessagesResponse } from '../../worker/protocols/messages/client/write-response.ts'
import { readStateSignature } from '../../worker/protocols/shared/state-signature.ts'
import * as fc from '../support/properties.ts'
import { responseContext } from '../worker/protocols/messages/client/support.ts'
import { readStrictly } from './messages-frames.ts'
import {
  act,
  callHead,
  finishReason,
  hostedTool,
  piece,
  type Step,
  usage,
  withoutLateState
} from './random-responses.ts'

// Random responses for this protocol: arguments that are JSON, signed reasoning, and stop strings.

const argumentsText = fc
  .option(
    fc.dictionary(
      fc.string({ unit: 'grapheme' }).filter(name => name !== '__proto__'),
      fc.jsonValue({ maxDepth: 2 })
    )
  )
  .map(value => (value === null ? '' : JSON.stringify(value)))

const step: fc.Arbitrary<Step> = fc.oneof(
  act(6, piece, (assembler, text) => assembler.text(text)),
  act(3, piece, (assembler, text) => assembler.reasoning(text)),
  act(1, fc.base64String({ minLength: 4 }), (assembler, signature) =>
    assembler.blockState({ messages_compatible: { signature } })
  ),
  act(
    1,
    fc.tuple(fc.constantFrom('signature', 'redacted'), fc.base64String({ minLength: 4 })),
    (assembler, [member, text]) => assembler.opaqueReasoning({ messages_compatible: { [member]: text } })
  ),
  act(1, piece, (assembler, text) => assembler.refusal(text)),
  act(1, fc.constant(0), assembler => assembler.closeBlock()),
  act(3, fc.tuple(callHead, argumentsText), (assembler, [head, text]) => assembler.toolCall(head, text)),
  act(3, fc.tuple(callHead, argumentsText, fc.nat(9), fc.nat(9)), (assembler, [head, text, first, second]) => {
    assembler.startToolCall(head)
    for (const part of [text.slice(0, first), text.slice(first, first + second), text.slice(first + second)]) {
      assembler.toolCallArguments(part)
    }
  }),
  act(1, fc.nat(20), (assembler, index) =>
    assembler.citation({ type: 'url-citation', startIndex: 0, endIndex: index, url: 'https://e.test', title: '[' })
  ),
  act(1, hostedTool, (assembler, tool) => void assembler.startHostedTool(tool)),
  act(1, fc.nat(2), (assembler, index) => assembler.endHostedTool(index, { status: 'completed' })),
  act(1, fc.uuid(), (assembler, fileId) => assembler.file({ fileId }))
)

const randomMessage = fc.record({
  steps: fc.array(fc.record({ step, isCut: fc.boolean() }), { maxLength: 25 }),
  end: fc.record({
    reason: finishReason,
    stop: fc.option(fc.constantFrom('a', 'ab', ' ')),
    usage
  }),
  showsReasoning: fc.boolean()
})
type RandomMessage = typeof randomMessage extends fc.Arbitrary<infer Value> ? Value : never

/** The events of a response, one array per read; `error` replaces the finish event. */
function play(message: RandomMessage, error?: GatewayError): NormalizedEvent[][] {
  const assembler = new EventAssembler()
  const reads: NormalizedEvent[][] = []
  assembler.start({ providerModel: null, metadata: {} })
  for (const { step, isCut } of message.steps) {
    step(assembler)
    if (isCut) reads.push(assembler.take())
  }
  const { reason, stop, usage } = message.end
  if (error === undefined) assembler.finish({ reason, providerReason: null, metadata: {} }, usage)
  else assembler.fail(error)
  reads.push(assembler.take())
  if (stop === null || error !== undefined) return reads
  const filter = createStopSequenceFilter([stop])
  return reads.map(read => filter.push(read))
}

function contextOf({ showsReasoning }: RandomMessage) {
  return responseContext(showsReasoning ? {} : { thinking: { type: 'adaptive', display: 'omitted' } })
}

function writeStream(given: RandomMessage, error?: GatewayError, reads = play(given, error)): string {
  const writer = createMessagesStreamWriter(contextOf(given))
  const text = reads.map(read => writer.write(read)).join('')
  if (writer.write(play(given).flat()) !== '') throw new Error('The writer wrote after the end.')
  return text
}

/** The message that the official SDK accumulates from the text of a stream. */
async function accumulateWithSdk(text: string): Promise<Message> {
  const stream = Stream.fromSSEResponse<RawMessageStreamEvent>(new Response(text), new AbortController())
  return MessageStream.fromReadableStream(stream.toReadableStream()).finalMessage()
}

/**
 * The message as JSON, as a whole response has it: the signature of unsigned reasoning is empty, and calls that the response was cut in are
 * left out.
 */
function normalizeSdkMessage(message: Message, { items, finish }: NormalizedResponse) {
  const { parsed_output: _parsed, ...plain }: Record<string, unknown> = JSON.parse(JSON.stringify(message))
  const { content } = plain as { content: Array<Record<string, unknown>> }
  for (const block of content) if (block.signature === GATEWAY_SIGNATURE) block.signature = ''
  if (finish.reason !== 'length' && finish.reason !== 'content-filter') return plain
  const isCut = items.flatMap(item => (item.type === 'tool-call' ? [item.arguments === ''] : []))
  const kept: typeof content = []
  for (const block of content) {
    if (block.type !== 'tool_use' || isCut.shift() === false) kept.push(block)
    // A stream sent its state before it was known that the call is cut.
    else if (ownerOf(kept.at(-1)) === 'next-call') kept.pop()
  }
  // So is the state of a text that only a cut call follows.
  const hasCall = kept.some(({ type }) => type === 'tool_use')
  while (!hasCall && ownerOf(kept.at(-1)) === 'previous-text') kept.pop()
  return { ...plain, content: kept.length > 0 ? kept : [{ type: 'text', text: '' }] }
}

/** The part that the state in a block belongs to; undefined for a block that carries none of another part. */
function ownerOf(block: Record<string, unknown> | undefined) {
  return block?.type === 'thinking' ? readStateSignature(block.signature)?.owner : undefined
}

t.test('the stream of any response follows the rules of the SDK (A2, A3, A4, A5, A6, A7, B1, B4, B5)', async () => {
  fc.assert(
    fc.property(randomMessage, given => {
      assert.equal(readStrictly(writeStream(given)).error, undefined)
    }),
    { numRuns: 500 }
  )
})

t.test('the official SDK accumulates any stream into the whole response (A2, A6, B2, B3)', async () => {
  await fc.assert(
    fc.asyncProperty(randomMessage, async given => {
      const reads = withoutLateState(play(given))
      const message = await accumulateWithSdk(writeStream(given, undefined, reads))
      const response = accumulateEvents(reads.flat())
      const whole = JSON.parse(JSON.stringify(writeMessagesResponse(response, contextOf(given))))
      // Beside calls with ids of the provider it is that of a stream (decisions.md 82).
      for (const block of whole.content) if (block.signature === GATEWAY_SIGNATURE) block.signature = ''
      assert.deepEqual(normalizeSdkMessage(message, response), whole)
    }),
    { numRuns: 300 }
  )
})

t.test('the boundaries of reads do not change the stream', async () => {
  fc.assert(
    fc.property(randomMessage, given => {
      const whole = createMessagesStreamWriter(contextOf(given)).write(play(given).flat())
      assert.equal(writeStream(given), whole)
    }),
    { numRuns: 100 }
  )
})

t.test('an error at any place ends the stream with one frame, which the official SDK throws (A14)', async () => {
  await fc.assert(
    fc.asyncProperty(randomMessage, async given => {
      const error = new GatewayError('provider_failure', { message: 'The connection was lost.' })
      const text = writeStream(given, error)
      assert.deepEqual(readStrictly(text).error?.error, {
        type: 'api_error',
        message: 'The connection was lost.',
        code: 'provider_failure',
        details: { error_code: 'provider_failure' }
      })
      const thrown = await accumulateWithSdk(text).then(
        () => undefined,
        (thrown: unknown) => thrown
      )
      assert.ok(thrown instanceof APIError && thrown.type === 'api_error' && thrown.errorCode === 'provider_failure')
    }),
    { numRuns: 100 }
  )
})
