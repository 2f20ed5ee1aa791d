// Reads the content blocks of a message (messages.md 3.2 to 3.4). The type of a block and the role of its message decide whether
// the block is read, ignored and reported in `ignored`, or refused.

import {
  type ContentPart,
  type Diagnostics,
  type ImagePart,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaSource,
  type ProviderState,
  type ReasoningPart,
  type ToolCallPart,
  type ToolResultPart
} from '../../../normalized/index.ts'
import type { SentNumbers } from '../../shared/json/sent-numbers.ts'
import { readMediaUrl } from '../../shared/media/media-source.ts'
import {
  readObject,
  readOptionalBoolean,
  readOptionalString,
  readString,
  wrongType
} from '../../shared/members/field.ts'
import { readStateSignature, returnState, type SignedState } from '../../shared/state-signature.ts'
import { readObjectArguments } from '../../shared/tools/tool-arguments.ts'
import { readResultText } from '../../shared/tools/tool-result.ts'
import { TOOL_CHANGES, writeToolReference } from './deferred-tools.ts'
import { readDocument, readSearchResult } from './read-documents.ts'
import { GATEWAY_SIGNATURE } from './signature.ts'

export interface BlockPlace {
  role: 'user' | 'assistant' | 'system'
  /** Path of the array of blocks in the body. */
  path: string
  /** Receives the type of every block without effect, keyed by the block's path. */
  ignored: Diagnostics
  numbers: SentNumbers
}

/** Reads the blocks of one message, in order. Raises `invalid_request` with the path of the missing or wrong member. */
export function readBlocks(blocks: readonly JsonValue[], place: BlockPlace): ContentPart[] {
  const parts: ContentPart[] = []
  /** State for a call that the next block holds. */
  let callState: ProviderState | undefined
  for (const [index, block] of blocks.entries()) {
    const carried = place.role === 'assistant' ? readStateBlock(block) : undefined
    if (carried !== undefined) {
      if (carried.owner === 'next-call') callState = carried.state
      else returnState(parts, carried)
      continue
    }
    for (const part of readBlock(block, { ...place, path: `${place.path}[${index}]` })) {
      if (part.type === 'tool-call' && callState !== undefined) part.state = callState
      parts.push(part)
    }
    callState = undefined
  }
  return parts
}

/** The state of another part that a thinking block without text carries (`signCarried`); undefined for any other block. */
function readStateBlock(block: JsonValue): SignedState | undefined {
  if (!isJsonObject(block) || block.type !== 'thinking') return undefined
  const carried = readStateSignature(block.signature)
  return carried?.owner === undefined ? undefined : carried
}

/** @param place its path is the path of the block, not of the array. */
function readBlock(block: JsonValue, place: BlockPlace): readonly ContentPart[] {
  const { role, path } = place
  if (!isJsonObject(block)) throw wrongType(path, 'an object', block)
  const type = readString(block, 'type', path)
  switch (type) {
    case 'text':
      return [{ type: 'text', text: readText(block, 'text', path) }]
    case 'image':
      return role === 'user' ? [readImage(block, path)] : ignore(type, place)
    case 'document':
      return (role === 'user' ? readDocument(block, path) : undefined) ?? ignore(type, place)
    case 'search_result':
      return (role === 'user' ? readSearchResult(block) : undefined) ?? ignore(type, place)
    case 'tool_use':
      if (role !== 'assistant') throw misplaced(path, 'tool_use', 'an assistant message')
      return [readToolUse(block, place)]
    case 'tool_result':
      if (role !== 'user') throw misplaced(path, 'tool_result', 'a user message')
      return [readToolResult(block, place)]
    case 'thinking':
      return role === 'assistant' ? [readThinking(block)] : ignore(type, place)
    case 'redacted_thinking':
      return role === 'assistant' ? [readRedactedThinking(block)] : ignore(type, place)
    default:
      return TOOL_CHANGES.has(type) ? NOTHING : ignore(type, place)
  }
}

const NOTHING: readonly ContentPart[] = Object.freeze([])

function ignore(type: string, { ignored, path }: BlockPlace): readonly ContentPart[] {
  ignored[`${path}.type`] = type
  return NOTHING
}

function misplaced(path: string, type: string, where: string): Error {
  return invalidRequest(`${path}.type`, `A ${type} block can only stand in ${where}.`)
}

/** Accepts an empty text, because clients send empty blocks. */
function readText(block: JsonObject, member: string, path: string): string {
  const text = block[member]
  if (typeof text !== 'string') throw wrongType(`${path}.${member}`, 'a string', text)
  return text
}

function readImage(block: JsonObject, path: string): ImagePart {
  return { type: 'image', source: readImageSource(readObject(block, 'source', path), `${path}.source`), path }
}

function readImageSource(source: JsonObject, path: string): MediaSource {
  switch (readString(source, 'type', path)) {
    case 'base64': {
      const mediaType = readOptionalString(source, 'media_type', path) ?? 'image/png'
      return { kind: 'bytes', mediaType, base64: readString(source, 'data', path) }
    }
    case 'url':
      return readMediaUrl(readString(source, 'url', path))
    case 'file':
      return { kind: 'file-id', fileId: readString(source, 'file_id', path) }
    default:
      throw invalidRequest(`${path}.type`, `'${path}.type' must be base64, url or file.`)
  }
}

function readToolUse(block: JsonObject, { path, numbers }: BlockPlace): ToolCallPart {
  const id = readString(block, 'id', path)
  const name = readString(block, 'name', path)
  return { type: 'tool-call', id, name, ...readObjectArguments(block.input, `${path}.input`, numbers) }
}

function readToolResult(block: JsonObject, place: BlockPlace): ToolResultPart {
  const { path } = place
  return {
    type: 'tool-result',
    callId: readString(block, 'tool_use_id', path),
    content: readResultContent(block.content ?? undefined, { ...place, path: `${path}.content` }),
    isError: readOptionalBoolean(block, 'is_error', path) ?? false,
    hasErrorFlag: true,
    path: `${path}.tool_use_id`
  }
}

/** A tool result may have no content. In its content texts, images, documents and references to tools have an effect. */
function readResultContent(content: JsonValue | undefined, place: BlockPlace): ContentPart[] {
  if (content === undefined) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  const text = readResultText(content)
  if (text !== undefined) return text.content
  if (!Array.isArray(content)) throw wrongType(place.path, 'a string or an array', content)
  return content.flatMap((block, index) => {
    const path = `${place.path}[${index}]`
    if (!isJsonObject(block)) throw wrongType(path, 'an object', block)
    const type = readString(block, 'type', path)
    if (RESULT_BLOCKS.has(type)) return readBlock(block, { ...place, path })
    if (type === 'tool_reference') return { type: 'text', text: writeToolReference(block, path) }
    return ignore(type, { ...place, path })
  })
}

const RESULT_BLOCKS: ReadonlySet<string> = new Set(['text', 'image', 'document', 'search_result'])

/**
 * Keeps the thinking and its signature for a provider that needs them back; a provider face must
 * not send the thinking as text (field-lessons.md C1). The members are not validated.
 */
function readThinking(block: JsonObject): ReasoningPart {
  const { thinking, signature } = block
  const part: ReasoningPart = { type: 'reasoning', text: typeof thinking === 'string' ? thinking : '' }
  if (typeof signature === 'string' && signature !== '' && signature !== GATEWAY_SIGNATURE) {
    part.state = readStateSignature(signature)?.state ?? { messages_compatible: { signature } }
  }
  return part
}

function readRedactedThinking(block: JsonObject): ReasoningPart {
  const redacted = typeof block.data === 'string' ? block.data : ''
  return { type: 'reasoning', text: '', state: { messages_compatible: { redacted } } }
}
