// Reads the content blocks of a response, one at a time: whole, or in deltas (messages.md 7.1 and 7.2).

import {
  type EventAssembler,
  GatewayError,
  isJsonObject,
  type ProviderState,
  type ToolCallHead,
  writeToolCallId
} from '../../../normalized/index.ts'
import { NO_ARGUMENTS } from '../../shared/tool-arguments.ts'
import { toShortCallId } from '../../shared/tool-call-ids.ts'
import type { MessagesCompatibleReading } from './reading.ts'

type Payload = Record<string, unknown>

/** The open block. */
export interface BlockReader {
  /**
   * Adds a delta. False for a delta of a kind that is unknown and so has no effect. Raises `provider_protocol_error` for one that belongs to
   * a block of another kind.
   */
  add(delta: Payload): boolean
  /** Ends the block. Returns the arguments of a call whose text came in pieces. */
  close(): string | undefined
}

export interface BlockSurroundings {
  assembler: EventAssembler
  reading: MessagesCompatibleReading
  createNonce: () => string
  /** The ids that calls of the response have already. */
  issuedIds: Set<string>
  /** The block with the digits of its large integers. */
  digits: (block: Payload) => Payload
}

/** Opens the reader of a block; undefined for a kind that the normalized form has no place for. Raises `provider_protocol_error`. */
export function createBlockReader(block: Payload, surroundings: BlockSurroundings): BlockReader | undefined {
  switch (block.type) {
    case 'text':
      return openText(block, surroundings.assembler)
    case 'thinking':
      return openThinking(block, surroundings.assembler)
    case 'redacted_thinking':
      return openRedacted(block, surroundings.assembler)
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

function openText(block: Payload, assembler: EventAssembler): BlockReader {
  assembler.text(readText(block.text, 'invalid_message_content'))
  return {
    add(delta) {
      const piece = readDelta(delta, 'text_delta')
      if (piece !== undefined) assembler.text(piece)
      return piece !== undefined || delta.type === CITATIONS
    },
    close() {
      assembler.closeBlock()
      return undefined
    }
  }
}

function openThinking(block: Payload, assembler: EventAssembler): BlockReader {
  let signature = ''
  const sign = (given: string) => {
    assembler.keep(given.length)
    // Each one is whole: the service signs a block once.
    if (given !== '') signature = given
  }
  assembler.reasoning(readText(block.thinking, 'invalid_message_content'))
  sign(readText(block.signature, 'invalid_message_content'))
  return {
    add(delta) {
      const piece = readDelta(delta, 'thinking_delta', 'signature_delta')
      if (piece === undefined) return false
      if (delta.type === 'signature_delta') sign(piece)
      else assembler.reasoning(piece)
      return true
    },
    close() {
      if (signature !== '') {
        const state: ProviderState = { messages_compatible: { signature } }
        // A block without text has its thinking in the signature.
        if (assembler.openBlock === 'reasoning') assembler.blockState(state)
        else assembler.opaqueReasoning(state)
      }
      assembler.closeBlock()
      return undefined
    }
  }
}

function openRedacted(block: Payload, assembler: EventAssembler): BlockReader {
  const redacted = readText(block.data, 'invalid_message_content')
  if (redacted !== '') assembler.opaqueReasoning({ messages_compatible: { redacted } })
  return { add: delta => readDelta(delta) !== undefined, close: () => undefined }
}

function openCall(block: Payload, surroundings: BlockSurroundings): BlockReader {
  const { assembler, reading } = surroundings
  const { name } = block
  if (typeof name !== 'string' || name === '') throw malformed('invalid_tool_call')
  const head: ToolCallHead = {
    id: issueId(block.id, surroundings),
    ...(reading.toolNames.get(name) ?? { name })
  }
  /** Some servers send the arguments whole, with the start of the block. */
  const whole = readInput(block, surroundings)
  let pieces = ''
  let hasPieces = false
  assembler.startToolCall(head)
  return {
    add(delta) {
      const piece = readDelta(delta, 'input_json_delta')
      if (piece === undefined) return false
      if (piece.trim() !== '') hasPieces = true
      if (hasPieces) assembler.toolCallArguments(piece)
      if (reading.needsJsonArguments) pieces += piece
      return true
    },
    close() {
      if (!hasPieces) assembler.toolCallArguments(whole)
      assembler.closeBlock()
      return hasPieces ? pieces : undefined
    }
  }
}

/** The arguments that stand in the block itself, as text. Raises `provider_protocol_error` for any other value than an object. */
function readInput(block: Payload, { digits }: BlockSurroundings): string {
  const { input } = block
  if (input === undefined || input === null) return NO_ARGUMENTS
  if (!isJsonObject(input)) throw malformed('invalid_tool_call')
  return Object.keys(input).length === 0 ? NO_ARGUMENTS : JSON.stringify(digits(block).input)
}

/**
 * The id that the client sees: the provider's own where it is unique, in the form that clients
 * accept (field-lessons.md B4).
 */
function issueId(id: unknown, { issuedIds, createNonce }: BlockSurroundings): string {
  if (id !== undefined && id !== null && typeof id !== 'string') throw malformed('invalid_tool_call')
  const wireId = id === undefined || id === null || id === '' ? undefined : toShortCallId(id)
  const issued =
    wireId !== undefined && !issuedIds.has(wireId)
      ? wireId
      : writeToolCallId({ stateId: undefined, name: undefined, callNumber: issuedIds.size, nonce: createNonce() })
  issuedIds.add(issued)
  return issued
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
