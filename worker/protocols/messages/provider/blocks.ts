// Reads the content blocks of a response: whole, or in deltas (messages.md 7.1 and 7.2).

import { type EventAssembler, GatewayError, isJsonObject, type ProviderState } from '../../../normalized/index.ts'
import type { IssuedCallIds } from '../../shared/tools/issued-call-ids.ts'
import { NO_ARGUMENTS } from '../../shared/tools/tool-arguments.ts'
import type { BlockOrder, OrderedBlock } from './block-order.ts'
import type { MessagesCompatibleReading } from './reading.ts'

type Payload = Record<string, unknown>

/** A block that began. */
export interface BlockReader {
  /**
   * Adds a delta, also behind the end of the block or beside other blocks. False for a delta of a kind that is unknown and so has no effect.
   * Raises `provider_protocol_error` for one that belongs to a block of another kind.
   */
  add(delta: Payload): boolean
  /** Called when the next block begins: some servers never end a block. */
  giveWay(): void
  /** Ends the block. A second end has no effect. */
  close(): void
}

export interface BlockSurroundings {
  assembler: EventAssembler
  order: BlockOrder
  reading: MessagesCompatibleReading
  issuedIds: IssuedCallIds
  /** Counts the blocks of the response from 0. */
  number: number
  /** The block with the digits of its large integers. */
  digits: (block: Payload) => Payload
}

/** Opens the reader of a block; undefined for a kind that the normalized form has no place for. Raises `provider_protocol_error`. */
export function createBlockReader(block: Payload, surroundings: BlockSurroundings): BlockReader | undefined {
  switch (block.type) {
    case 'text':
      return openText(block, surroundings)
    case 'thinking':
      return openThinking(block, surroundings)
    case 'redacted_thinking':
      return openRedacted(block, surroundings)
    case 'tool_use':
      return openCall(block, surroundings)
    default:
      return undefined
  }
}

/** The members with the content of each kind of delta, where it has one that is read. */
const deltaMembers: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  input_json_delta: 'partial_json'
}

/**
 * The content of a delta; undefined for a delta of a kind that is not read, such as a citation. Raises `provider_protocol_error` for one that
 * belongs to a block of another kind.
 */
function readDelta(delta: Payload, ...kinds: readonly string[]): string | undefined {
  const { type } = delta
  if (typeof type !== 'string') throw malformed('invalid_stream_delta')
  if (!Object.hasOwn(deltaMembers, type)) return undefined
  if (!kinds.includes(type)) throw malformed('invalid_stream_delta')
  return readText(delta[deltaMembers[type] ?? ''], 'invalid_stream_content')
}

/** The service cites documents and searches in deltas of this kind. */
const CITATIONS = 'citations_delta'

function openText(block: Payload, { assembler, order }: BlockSurroundings): BlockReader {
  const writer: OrderedBlock = { leave: () => assembler.closeBlock() }
  const write = (piece: string) => {
    if (piece !== '') order.write(writer, piece.length, () => assembler.text(piece))
  }
  write(readText(block.text, 'invalid_message_content'))
  return {
    add(delta) {
      const piece = readDelta(delta, 'text_delta')
      if (piece !== undefined) write(piece)
      return piece !== undefined || delta.type === CITATIONS
    },
    giveWay: () => order.end(writer),
    close: () => order.end(writer)
  }
}

function openThinking(block: Payload, { assembler, order }: BlockSurroundings): BlockReader {
  let signature = ''
  let hasText = false
  const writer: OrderedBlock = {
    leave() {
      // Unsigned thinking goes back with its empty signature (decisions.md 82).
      if (signature !== '' || hasText) {
        const state: ProviderState = { messages_compatible: { signature } }
        // A block without text has its thinking in the signature.
        if (assembler.openBlock === 'reasoning') assembler.blockState(state)
        else assembler.opaqueReasoning(state)
        signature = ''
      }
      hasText = false
      assembler.closeBlock()
    }
  }
  const write = (piece: string) => {
    if (piece === '') return
    order.write(writer, piece.length, () => {
      hasText = true
      assembler.reasoning(piece)
    })
  }
  const sign = (given: string) => {
    assembler.keep(given.length)
    if (given === '') return
    order.write(writer, given.length, () => {
      // Each one is whole: the service signs a block once.
      signature = given
    })
  }
  write(readText(block.thinking, 'invalid_message_content'))
  sign(readText(block.signature, 'invalid_message_content'))
  return {
    add(delta) {
      const piece = readDelta(delta, 'thinking_delta', 'signature_delta')
      if (piece === undefined) return false
      if (delta.type === 'signature_delta') sign(piece)
      else write(piece)
      return true
    },
    giveWay: () => order.end(writer),
    close: () => order.end(writer)
  }
}

function openRedacted(block: Payload, { assembler, order }: BlockSurroundings): BlockReader {
  const redacted = readText(block.data, 'invalid_message_content')
  if (redacted !== '') {
    const writer: OrderedBlock = { leave: () => undefined }
    order.write(writer, redacted.length, () => assembler.opaqueReasoning({ messages_compatible: { redacted } }))
  }
  return { add: delta => readDelta(delta) !== undefined, giveWay: () => undefined, close: () => undefined }
}

function openCall(block: Payload, surroundings: BlockSurroundings): BlockReader {
  const { order, reading, number } = surroundings
  const { calls } = order
  const { name } = block
  if (typeof name !== 'string' || name === '') throw malformed('invalid_tool_call')
  const id = issueId(block.id, surroundings)
  /** Some servers send the arguments whole, with the start of the block. */
  const whole = readInput(block, surroundings)
  let hasPieces = false
  let isOver = false
  order.endCurrent()
  calls.add({ index: number, id, ...(reading.toolNames.get(name) ?? { name }) })
  const close = () => {
    if (isOver) return
    isOver = true
    calls.add({ index: number, arguments: hasPieces ? undefined : whole, isComplete: true })
  }
  return {
    add(delta) {
      const piece = readDelta(delta, 'input_json_delta')
      if (piece === undefined) return false
      if (isOver && piece.trim() === '') return true
      if (piece.trim() !== '') hasPieces = true
      if (hasPieces) calls.add({ index: number, arguments: piece })
      return true
    },
    giveWay() {
      if (hasPieces ? order.isCallWhole : whole !== NO_ARGUMENTS) close()
    },
    close
  }
}

/** The arguments that stand in the block itself, as text; what is no object is kept as it is (decisions.md 113). */
function readInput(block: Payload, { digits }: BlockSurroundings): string {
  const { input } = block
  if (input === undefined || input === null) return NO_ARGUMENTS
  if (typeof input === 'string') return input
  if (!isJsonObject(input)) return JSON.stringify(input)
  return Object.keys(input).length === 0 ? NO_ARGUMENTS : JSON.stringify(digits(block).input)
}

function issueId(id: unknown, { issuedIds }: BlockSurroundings): string {
  if (id !== undefined && id !== null && typeof id !== 'string') throw malformed('invalid_tool_call')
  return issuedIds.issue(id)
}

/** The text of a member that may be missing or null. Raises `provider_protocol_error` for any other value. */
function readText(value: unknown, fault: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw malformed(fault)
  return value
}

/** @param id the detailed id, for the log. */
function malformed(id: string): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: id })
}
