// Reads and checks the content blocks of a request on the Anthropic wire.

import { asJson, isObject, type JsonValue } from '../json.ts'
import { invalidMember } from './errors.ts'
import { isRedactedData, isSignatureOf } from './signature.ts'

export interface BlockResult {
  callId: string
  value: JsonValue
}

/** What the blocks of one message contain. */
export interface BlocksSummary {
  texts: string[]
  fileCount: number
  calls: Array<{ id: string; name: string }>
  results: BlockResult[]
  /** The types of all blocks, in order. */
  types: string[]
  cacheMarks: number
  /** The service signs no thinking: its own has an empty signature. */
  isUnsigned: boolean
}

type Members = readonly string[]
type Content = Record<string, unknown>

/** The members of each block besides `type` and `cache_control`. Blocks of the service's own tools are not looked into. */
const blockMembers: Readonly<Record<string, Members>> = {
  text: ['text', 'citations'],
  image: ['source', 'transformations'],
  document: ['source', 'citations', 'context', 'title'],
  search_result: ['content', 'source', 'title', 'citations'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
  tool_use: ['id', 'name', 'input', 'caller', 'toolset_name'],
  tool_result: ['tool_use_id', 'content', 'is_error', 'toolset_name'],
  tool_reference: ['tool_name']
}

const userBlocks = ['text', 'image', 'document', 'search_result', 'tool_result', 'container_upload']
const assistantBlocks = ['text', 'thinking', 'redacted_thinking', 'tool_use']
const resultBlocks = ['text', 'image', 'document', 'search_result', 'tool_reference']
/** Blocks of tools that the service runs itself. */
const serviceBlock = /^(?:server_tool_use|mcp_tool_use|compaction|fallback|[a-z_]+_tool_result)$/

const callId = /^[a-zA-Z0-9_-]+$/
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const base64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Reads the content of a message: a text, or a list of blocks. Throws UpstreamError 400. */
export function readBlocks(
  content: unknown,
  role: 'user' | 'assistant',
  at: string,
  isUnsigned = false
): BlocksSummary {
  const summary = createSummary(isUnsigned)
  if (typeof content === 'string') {
    summary.types.push('text')
    addText(content, at, summary)
    return summary
  }
  if (!Array.isArray(content)) throw invalidMember(at, 'Input should be a valid string or array')
  const allowed = role === 'user' ? userBlocks : assistantBlocks
  content.forEach((block, index) => {
    readBlock(block, { at: `${at}.${index}`, allowed, summary })
  })
  return summary
}

/** Reads the instructions: a text, or a list of text blocks. Throws UpstreamError 400. */
export function readSystem(system: unknown, at = 'system'): BlocksSummary {
  const summary = createSummary()
  if (system === undefined || system === null || system === '') return summary
  if (typeof system === 'string') summary.texts.push(system)
  else if (!Array.isArray(system)) throw invalidMember(at, 'Input should be a valid string or array')
  else {
    system.forEach((block, index) => {
      readBlock(block, { at: `${at}.${index}`, allowed: ['text'], summary })
    })
  }
  return summary
}

function createSummary(isUnsigned = false): BlocksSummary {
  return { texts: [], fileCount: 0, calls: [], results: [], types: [], cacheMarks: 0, isUnsigned }
}

function readBlock(
  block: unknown,
  { at, allowed, summary }: { at: string; allowed: Members; summary: BlocksSummary }
): void {
  if (!isObject(block) || typeof block.type !== 'string') throw invalidMember(`${at}.type`, 'Field required')
  const { type } = block
  const isOfService = serviceBlock.test(type) && type !== 'tool_result'
  if (!isOfService && !allowed.includes(type)) throw invalidMember(at, `Input tag '${type}' is not allowed here`)
  const members = blockMembers[type]
  if (members !== undefined) checkMembers(block, [...members, 'type', 'cache_control'], at)
  if (block.cache_control !== undefined && block.cache_control !== null) {
    checkCacheControl(block.cache_control, `${at}.cache_control`)
    summary.cacheMarks++
  }
  summary.types.push(type)
  switch (type) {
    case 'text':
      addText(block.text, `${at}.text`, summary)
      return
    case 'image':
      checkImage(block.source, `${at}.source`)
      summary.fileCount++
      return
    case 'document':
      checkDocument(block.source, `${at}.source`)
      summary.fileCount++
      return
    case 'thinking':
      checkThinking(block, at, summary.isUnsigned)
      return
    case 'redacted_thinking':
      if (typeof block.data !== 'string' || !isRedactedData(block.data)) {
        throw invalidMember(`${at}.data`, 'Invalid `data` in `redacted_thinking` block')
      }
      return
    case 'tool_use':
      summary.calls.push(readCall(block, at))
      return
    case 'tool_result':
      summary.results.push(readResult(block, at, summary))
      return
    default:
  }
}

/** Refuses every member that is not in the list. Throws UpstreamError 400. */
export function checkMembers(object: Content, members: Members, at: string): void {
  const unknown = Object.keys(object).find(name => !members.includes(name))
  if (unknown === undefined) return
  throw invalidMember(at === '' ? unknown : `${at}.${unknown}`, 'Extra inputs are not permitted')
}

/** Throws UpstreamError 400. */
export function checkCacheControl(value: unknown, at: string): void {
  if (!isObject(value) || value.type !== 'ephemeral') throw invalidMember(`${at}.type`, "Input should be 'ephemeral'")
  checkMembers(value, ['type', 'ttl'], at)
  if (value.ttl !== undefined && value.ttl !== '5m' && value.ttl !== '1h') {
    throw invalidMember(`${at}.ttl`, "Input should be '5m' or '1h'")
  }
}

function addText(text: unknown, at: string, summary: BlocksSummary): void {
  if (typeof text !== 'string') throw invalidMember(at, 'Input should be a valid string')
  if (text === '') throw invalidMember(at, 'text content blocks must be non-empty')
  if (text.trim() === '') throw invalidMember(at, 'text content blocks must contain non-whitespace text')
  summary.texts.push(text)
}

function checkThinking({ thinking, signature }: Content, at: string, isUnsigned: boolean): void {
  if (typeof thinking !== 'string') throw invalidMember(`${at}.thinking`, 'Field required')
  if (typeof signature !== 'string') throw invalidMember(`${at}.signature`, 'Field required')
  if (isUnsigned ? signature !== '' : !isSignatureOf(signature, thinking)) {
    throw invalidMember(`${at}.signature`, 'Invalid `signature` in `thinking` block')
  }
}

function readCall({ id, name, input }: Content, at: string): { id: string; name: string } {
  if (typeof id !== 'string' || !callId.test(id))
    throw invalidMember(`${at}.id`, `String should match '${callId.source}'`)
  if (typeof name !== 'string' || name === '') throw invalidMember(`${at}.name`, 'Field required')
  if (!isObject(input)) throw invalidMember(`${at}.input`, 'Input should be a valid dictionary')
  return { id, name }
}

function readResult(block: Content, at: string, outer: BlocksSummary): BlockResult {
  const { tool_use_id: id, content, is_error: isError } = block
  if (typeof id !== 'string' || !callId.test(id)) {
    throw invalidMember(`${at}.tool_use_id`, `String should match '${callId.source}'`)
  }
  if (isError !== undefined && typeof isError !== 'boolean') {
    throw invalidMember(`${at}.is_error`, 'Input should be a valid boolean')
  }
  if (content === undefined) return { callId: id, value: '' }
  if (typeof content === 'string') return { callId: id, value: parseOrKeep(content) }
  if (!Array.isArray(content)) throw invalidMember(`${at}.content`, 'Input should be a valid string or array')
  const summary = createSummary()
  content.forEach((inner, index) => {
    readBlock(inner, { at: `${at}.content.${index}`, allowed: resultBlocks, summary })
  })
  outer.fileCount += summary.fileCount
  outer.cacheMarks += summary.cacheMarks
  return { callId: id, value: parseOrKeep(summary.texts.join('\n')) }
}

function parseOrKeep(text: string): JsonValue {
  try {
    return asJson(JSON.parse(text))
  } catch {
    return text
  }
}

function checkImage(source: unknown, at: string): void {
  if (!isObject(source)) throw invalidMember(at, 'Field required')
  switch (source.type) {
    case 'base64':
      if (!imageTypes.includes(String(source.media_type))) {
        throw invalidMember(`${at}.base64.media_type`, `Input should be ${imageTypes.join(', ')}`)
      }
      checkBase64(source.data, `${at}.base64.data`)
      return
    case 'url':
      checkUrl(source.url, `${at}.url.url`)
      return
    case 'file':
      return
    default:
      throw invalidMember(`${at}.type`, "Input should be 'base64', 'url' or 'file'")
  }
}

function checkDocument(source: unknown, at: string): void {
  if (!isObject(source)) throw invalidMember(at, 'Field required')
  switch (source.type) {
    case 'base64':
      if (source.media_type !== 'application/pdf') {
        throw invalidMember(`${at}.base64.media_type`, "Input should be 'application/pdf'")
      }
      checkBase64(source.data, `${at}.base64.data`)
      return
    case 'text':
      if (source.media_type !== 'text/plain')
        throw invalidMember(`${at}.text.media_type`, "Input should be 'text/plain'")
      if (typeof source.data !== 'string') throw invalidMember(`${at}.text.data`, 'Input should be a valid string')
      return
    case 'url':
      checkUrl(source.url, `${at}.url.url`)
      return
    case 'content':
    case 'file':
      return
    default:
      throw invalidMember(`${at}.type`, "Input should be 'base64', 'content', 'file', 'text' or 'url'")
  }
}

function checkBase64(data: unknown, at: string): void {
  if (typeof data !== 'string' || !base64.test(data)) throw invalidMember(at, 'Invalid base64 data')
}

function checkUrl(url: unknown, at: string): void {
  if (typeof url !== 'string' || !/^https?:\/\//.test(url)) throw invalidMember(at, 'Only HTTP(S) URLs are supported')
}
