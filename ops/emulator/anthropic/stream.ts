// The streams of the Anthropic wire.

import { adjustPayload, type ResponseContext } from '../chat-wire.ts'
import type { Step } from '../directive-steps.ts'
import type { Frame } from '../frame.ts'
import { cutText, splitIntoDeltas } from '../tokens.ts'
import { breakMessagesStream } from './malformed.ts'
import {
  type AnthropicBlock,
  listBlocks,
  writeAnthropicUsage,
  writeInput,
  writeMessageHead,
  writeStop
} from './message.ts'
import { endsBlocksLate } from './models.ts'

const ARGUMENT_PIECE_LENGTH = 12

/** Writes the frames of a streamed response, in the order of the service: each has its type as the event's name too. */
export function writeAnthropicFrames(context: ResponseContext): Frame[] {
  const { plan } = context
  const { step } = plan
  const usage = writeAnthropicUsage(plan)
  const frames: Frame[] = []
  const push = (type: string, members: Record<string, unknown>, kind: Frame['kind'] = 'delta') => {
    frames.push({ event: type, data: JSON.stringify(adjustPayload({ type, ...members }, step)), kind })
  }
  push('message_start', {
    message: {
      ...writeMessageHead(context),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      // The counts of the output are running ones until the end.
      ...(usage === null
        ? {}
        : { usage: { ...usage, output_tokens: 1, output_tokens_details: { thinking_tokens: 0 } } })
    }
  })
  const blocks = listBlocks(context)
  const endsLate = endsBlocksLate(context.request.model, step)
  const endBlock = (block: AnthropicBlock, index: number) => {
    // A local server signs when it ends a block.
    if (endsLate && block.type === 'thinking') push('content_block_delta', { index, delta: writeSignature(block) })
    push('content_block_stop', { index })
  }
  blocks.forEach((block, index) => {
    push('content_block_start', { index, content_block: endsLate ? writeLocalStart(block) : writeStart(block) })
    // The service sends its first ping behind the first start.
    if (index === 0) push('ping', {})
    for (const delta of listDeltas(block, plan.deltas, step)) {
      if (!(endsLate && delta.type === 'signature_delta')) push('content_block_delta', { index, delta })
    }
    if (!endsLate) endBlock(block, index)
  })
  if (endsLate) blocks.forEach(endBlock)
  if (blocks.length === 0) push('ping', {})
  if (step.noFinishReason !== true) {
    push('message_delta', { delta: writeStop(plan), ...(usage === null ? {} : { usage }) }, 'finish')
  }
  push('message_stop', {}, 'done')
  return step.malformed === undefined ? frames : breakMessagesStream(step.malformed, frames)
}

/** The block as it is before its first delta. */
function writeStart(block: AnthropicBlock): Record<string, unknown> {
  switch (block.type) {
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'text':
      return { type: 'text', text: '', ...(block.citations === undefined ? {} : { citations: [] }) }
    case 'tool_use':
    case 'server_tool_use':
      return { ...block, input: {} }
    case 'redacted_thinking':
    case 'web_search_tool_result':
      return block
  }
}

/** A local server leaves out what it does not know yet. */
function writeLocalStart(block: AnthropicBlock): Record<string, unknown> {
  const { signature: _signature, input: _input, ...start } = writeStart(block)
  return start
}

function writeSignature({ signature }: Extract<AnthropicBlock, { type: 'thinking' }>): Record<string, unknown> {
  return { type: 'signature_delta', signature }
}

function listDeltas(block: AnthropicBlock, deltas: readonly string[], step: Step): Array<Record<string, unknown>> {
  switch (block.type) {
    case 'thinking':
      return [
        ...splitIntoDeltas(block.thinking).map(thinking => ({ type: 'thinking_delta', thinking })),
        writeSignature(block)
      ]
    case 'text': {
      const pieces = deltas.join('') === block.text ? deltas : splitIntoDeltas(block.text)
      return [
        ...(block.citations ?? []).map(citation => ({ type: 'citations_delta', citation })),
        ...pieces.map(text => ({ type: 'text_delta', text }))
      ]
    }
    case 'tool_use':
    case 'server_tool_use': {
      const text = writeInput(block.input)
      const length = step.callInOneDelta === true ? text.length : (step.argumentPieceLength ?? ARGUMENT_PIECE_LENGTH)
      // The service begins with an empty piece, and sends no other one for a call without arguments.
      const pieces = text === '{}' ? [] : cutText(text, Math.max(1, length))
      return ['', ...pieces].map(piece => ({ type: 'input_json_delta', partial_json: piece }))
    }
    case 'redacted_thinking':
    case 'web_search_tool_result':
      return []
  }
}
