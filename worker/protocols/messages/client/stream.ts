// Writes a streamed response (messages.md 7.2): one message of numbered blocks, of which at most one is open at a time. Most frames
// of a block differ only in one text, so the part of the frame before that text is built once per block.

import {
  assertNever,
  type GeneratedFile,
  type NormalizedEvent,
  type NormalizedUsage,
  type ProviderState,
  type ToolCallStartEvent
} from '../../../normalized/index.ts'
import type { ResponseContext, StreamWriter } from '../../client-face.ts'
import { isShownAsLine, writeFileLines } from '../../shared/media/generated-files.ts'
import type { StateOwner } from '../../shared/state-signature.ts'
import { isCut, isInput } from '../../shared/tools/cut-calls.ts'
import { writeInputObject } from '../../shared/tools/tool-arguments.ts'
import { writeMessagesErrorBody } from './errors.ts'
import type { MessagesContentBlock, MessagesContentDelta, MessagesStreamEvent } from './schema.ts'
import { GATEWAY_SIGNATURE } from './signature.ts'
import {
  EMPTY_TEXT,
  findSignature,
  isReasoningVisible,
  signCarried,
  writeDeltaUsage,
  writeMessageStart,
  writeStop,
  writeToolUse
} from './write-response.ts'

/** Keeps an idle stream open; the SDK ignores it. The start of every stream is followed by one ping. */
export const PING_FRAME = writeFrame({ type: 'ping' })

/** How the text of an object begins; its first piece may be nothing but spaces. */
const OBJECT_START = /^\s*(?:\{|$)/

/** Creates the writer of one streamed response. The stream benchmark measures it: keep the path of text deltas short. */
export function createMessagesStreamWriter(context: ResponseContext): StreamWriter<string> {
  const showsReasoning = isReasoningVisible(context.request)
  let isEnded = false
  let usage: NormalizedUsage | null = null
  /** The arguments of each call so far. */
  const inputs: string[] = []
  /**
   * The pieces of the open call's arguments: they wait for the end of the call, because only then it is known whether they are an object,
   * which is all that the protocol has (decisions.md 113).
   */
  let pieces: string[] = []
  /** A call has ended whose arguments are no object: it is broken, unless the response turns out to be cut off in it. */
  let doubtful: { state: ProviderState | undefined } | undefined
  let hasRefusal = false
  let hasText = false
  /** Files that a text block at the end names. */
  const listedFiles: GeneratedFile[] = []

  /** Number of opened blocks. Block indexes count up from 0 without gaps, because the SDK finds blocks by position. */
  let blockCount = 0
  let openBlock: MessagesContentBlock['type'] | undefined
  /** The part of a delta frame of the open block before its text. */
  let deltaHead = ''
  /** Signatures with the state of parts that were written before (`signCarried`). */
  let waiting: string[] = []

  function open(block: MessagesContentBlock, delta: MessagesContentDelta['type'], member: string): string {
    const carriers = writeWaiting()
    const index = blockCount++
    openBlock = block.type
    deltaHead =
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},` +
      `"delta":{"type":"${delta}","${member}":`
    return carriers + writeFrame({ type: 'content_block_start', index, content_block: block })
  }

  function openText(): string {
    hasText = true
    return openBlock === 'text' ? '' : open(EMPTY_TEXT, 'text_delta', 'text')
  }

  function openThinking(): string {
    if (openBlock === 'thinking') return ''
    return open({ type: 'thinking', thinking: '', signature: '' }, 'thinking_delta', 'thinking')
  }

  function openToolUse(event: ToolCallStartEvent): string {
    inputs.push('')
    const signature = signCarried(event.state, 'next-call')
    const carrier = signature === undefined ? '' : openThinking() + closeSigned(signature)
    return carrier + open(writeToolUse(event), 'input_json_delta', 'partial_json')
  }

  function keepInput(piece: string): void {
    inputs[inputs.length - 1] += piece
    pieces.push(piece)
  }

  function endCall(state: ProviderState | undefined): string {
    const text = inputs.at(-1) ?? ''
    if (text.trim() === '' || isInput(text)) return writePieces() + closeWithState(state, 'previous-call')
    doubtful = { state }
    return ''
  }

  /** Ends a call whose arguments are no object. Those of a cut call are the beginning of one. */
  function settleDoubtful(wasCut: boolean): string {
    if (doubtful === undefined) return ''
    const { state } = doubtful
    doubtful = undefined
    const text = inputs.at(-1) ?? ''
    if (!wasCut) pieces = [JSON.stringify(writeInputObject(text))]
    else if (!OBJECT_START.test(text)) pieces = []
    return writePieces() + closeWithState(state, 'previous-call')
  }

  function writePieces(): string {
    const written = pieces.map(writeDelta).join('')
    pieces = []
    return written
  }

  function writeDelta(text: string): string {
    return `${deltaHead}${JSON.stringify(text)}}}\n\n`
  }

  function close(): string {
    if (openBlock === undefined) return ''
    openBlock = undefined
    return writeFrame({ type: 'content_block_stop', index: blockCount - 1 })
  }

  /** Ends a thinking block with a signature, which the SDK's type requires. A provider sends its signature last. */
  function closeThinking(state: ProviderState | undefined): string {
    const { redacted } = state?.messages_compatible ?? {}
    if (redacted !== undefined && openBlock === undefined) return writeRedactedThinking(redacted)
    return openThinking() + closeSigned(findSignature(state) ?? GATEWAY_SIGNATURE)
  }

  function closeSigned(signature: string): string {
    const delta = { type: 'signature_delta', signature } as const
    return writeFrame({ type: 'content_block_delta', index: blockCount - 1, delta }) + close()
  }

  /** Ends a block; state that came with its end follows in a block of its own. */
  function closeWithState(state: ProviderState | undefined, owner: StateOwner): string {
    const closing = close()
    keepState(state, owner)
    return closing
  }

  function keepState(state: ProviderState | undefined, owner?: StateOwner): void {
    const signature = signCarried(state, owner)
    if (signature !== undefined) waiting.push(signature)
  }

  function writeWaiting(): string {
    if (waiting.length === 0) return ''
    const signatures = waiting
    waiting = []
    return signatures.map(signature => openThinking() + closeSigned(signature)).join('')
  }

  function writeRedactedThinking(data: string): string {
    const carriers = writeWaiting()
    const index = blockCount++
    return (
      carriers +
      writeFrame({ type: 'content_block_start', index, content_block: { type: 'redacted_thinking', data } }) +
      writeFrame({ type: 'content_block_stop', index })
    )
  }

  function writeFinish(event: Extract<NormalizedEvent, { type: 'finish' }>): string {
    isEnded = true
    const call = settleDoubtful(isCut(event))
    const lines = writeFileLines(listedFiles, context.request, hasText)
    const files = lines === '' ? '' : close() + openText() + writeDelta(lines)
    // A response without content has one empty text block, and no block of state before it, as a whole response.
    if (blockCount === 0) waiting = []
    const closing = files + (blockCount === 0 ? openText() + close() : close())
    keepState(event.state)
    const hasCutCall = isCut(event) && !inputs.every(isInput)
    const hasWholeCall = isCut(event) ? inputs.some(isInput) : inputs.length > 0
    const carriers = hasWholeCall ? writeWaiting() : ''
    const delta = writeStop(event, { callCount: inputs.length, hasCutCall, hasRefusal })
    return (
      call +
      closing +
      carriers +
      writeFrame({ type: 'message_delta', delta, usage: writeDeltaUsage(usage) }) +
      writeFrame({ type: 'message_stop' })
    )
  }

  /** What comes behind a doubtful call shows that it was not cut off; the usage stands before every end. */
  function writeEvent(event: NormalizedEvent): string {
    const isAfterCall = doubtful === undefined || ['usage', 'finish', 'error'].includes(event.type)
    return isAfterCall ? writeNext(event) : settleDoubtful(false) + writeNext(event)
  }

  function writeNext(event: NormalizedEvent): string {
    switch (event.type) {
      case 'text-delta':
        return event.text === '' ? '' : openText() + writeDelta(event.text)
      case 'reasoning-delta':
        if (event.text === '') return ''
        return openThinking() + (showsReasoning ? writeDelta(event.text) : '')
      case 'tool-call-delta':
        if (event.arguments !== '') keepInput(event.arguments)
        return ''
      case 'refusal-delta':
        if (event.text === '') return ''
        hasRefusal = true
        return openText() + writeDelta(event.text)
      case 'start':
        return writeFrame({ type: 'message_start', message: writeMessageStart(context, event.usage) }) + PING_FRAME
      case 'tool-call-start':
        return openToolUse(event)
      case 'text-end':
      case 'refusal-end':
        return closeWithState(event.state, 'previous-text')
      case 'tool-call-end':
        return endCall(event.state)
      case 'reasoning-end':
        return closeThinking(event.state)
      case 'usage':
        usage = event.usage
        return ''
      case 'finish':
        return writeFinish(event)
      case 'error':
        // The open block is not closed: an agent must not run a tool call that was cut off.
        isEnded = true
        return writeFrame(writeMessagesErrorBody(event.error, context))
      case 'file':
        if (isShownAsLine(event.file)) listedFiles.push(event.file)
        return ''
      case 'text-start':
      case 'refusal-start':
      case 'reasoning-start':
      case 'citation':
      case 'hosted-tool-start':
      case 'hosted-tool-progress':
      case 'hosted-tool-end':
        return ''
      default:
        return assertNever(event)
    }
  }

  return {
    write(events) {
      let written = ''
      for (const event of events) {
        if (isEnded) break
        written += writeEvent(event)
      }
      return written
    }
  }
}

/** Writes a frame with an event line, because the SDK drops frames without one. */
function writeFrame(event: MessagesStreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
