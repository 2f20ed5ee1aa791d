// Reads the conversation: `contents` and `systemInstruction` (content.md 2 and 3). Only turns that an SDK split itself are merged;
// further merging depends on the provider and is done by its face.

import {
  type ContentPart,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MessageRole,
  type NormalizedMessage,
  type ProviderState,
  type TextPart
} from '../../../normalized/index.ts'
import { readOptionalString, wrongType } from '../../shared/members/field.ts'
import { listParts, type PartReading, readPart } from './read-parts.ts'
import type { ContentRequest } from './schema.ts'
import { spell } from './spelling.ts'

/**
 * Reads the whole conversation, the instruction first. Raises `invalid_request` with the path of a missing or wrong member. `contents`
 * of which no part has an effect are refused.
 */
export function readConversation(body: ContentRequest, reading: PartReading): NormalizedMessage[] {
  const messages = joinStreamedTurns(readContents(body.contents, reading))
  if (messages.length === 0) {
    reading.refuse(invalidRequest('contents', `'contents' must hold something for the model.`))
  }
  const instruction = readSystemText(body, '').join('')
  if (instruction !== '')
    messages.unshift({ role: 'system', content: [{ type: 'text', text: instruction }], form: 'text' })
  return messages
}

/**
 * Reads the texts of `systemInstruction`, a content or a plain string; parts that are no text have no effect.
 * Raises `invalid_request` for any other value.
 */
export function readSystemText(source: JsonObject, parent: string): string[] {
  const member = spell(source, 'systemInstruction')
  const path = parent === '' ? member : `${parent}.${member}`
  const instruction = source[member] ?? undefined
  if (instruction === undefined) return []
  if (typeof instruction === 'string') return [instruction]
  if (!isJsonObject(instruction)) throw wrongType(path, 'an object or a string', instruction)
  return readPlainTexts(instruction.parts)?.map(({ text }) => text) ?? listTexts(instruction, path)
}

/** The texts of a content's parts, in order, without thoughts and parts of other kinds. `parts` may be missing. */
export function listTexts(content: JsonObject, path: string): string[] {
  const { parts } = content
  if (parts === undefined || parts === null || (Array.isArray(parts) && parts.length === 0)) return []
  return listParts(content, path).flatMap(({ part, path: at }) => {
    const { text } = part
    if (text === undefined || text === null || part.thought === true) return []
    if (typeof text !== 'string') throw wrongType(`${at}.text`, 'a string', text)
    return [text]
  })
}

/** The contents with the path of each; a single content needs no list. */
export function listContents(
  contents: JsonValue | undefined,
  path: string
): Array<{ content: JsonObject; path: string }> {
  if (isJsonObject(contents)) return [{ content: contents, path }]
  if (!Array.isArray(contents)) throw wrongType(path, 'an array', contents)
  if (contents.length === 0) throw invalidRequest(path, `'${path}' must hold at least one content.`)
  return contents.map((content, index) => {
    const at = `${path}[${index}]`
    if (!isJsonObject(content)) throw wrongType(at, 'an object', content)
    return { content, path: at }
  })
}

function readContents(contents: JsonValue | undefined, reading: PartReading): NormalizedMessage[] {
  const plain = readPlainContents(contents)
  if (plain !== undefined) return plain
  const messages: NormalizedMessage[] = []
  const listed = listContents(contents, 'contents')
  const newest = listed.findLastIndex(({ content }) => content.role === 'model')
  for (const [index, { content, path }] of listed.entries()) {
    const head = readRole(content, path)
    // What earlier turns hold never fails a request (decisions.md 75).
    const parts = readParts(content, { path, role: head.role, reading: index > newest ? reading : ofHistory(reading) })
    if (parts.length === 0) continue
    const message = createMessage(head.role, parts)
    if (head.sentRole !== undefined) message.sentRole = head.sentRole
    messages.push(message)
  }
  return messages
}

function ofHistory({ numbers }: PartReading): PartReading {
  return { numbers, refuse: () => undefined }
}

/** Creates a message. Several texts of one content are pieces of one text, as an SDK received them (content.md 3). */
function createMessage(role: MessageRole, content: ContentPart[]): NormalizedMessage {
  const [first] = content
  const isOneText = content.length === 1 && first?.type === 'text' && first.text !== ''
  return isOneText ? { role, content } : { role, content, form: 'pieces' }
}

/** Shortcut for contents of texts only, the usual case; undefined for others, which are read content by content. */
function readPlainContents(contents: JsonValue | undefined): NormalizedMessage[] | undefined {
  if (!Array.isArray(contents) || contents.length === 0) return undefined
  const messages: NormalizedMessage[] = []
  for (const content of contents) {
    if (!isJsonObject(content)) return undefined
    const role = content.role === 'user' ? 'user' : content.role === 'model' ? 'assistant' : undefined
    const parts = readPlainTexts(content.parts)
    if (role === undefined || parts === undefined) return undefined
    messages.push(createMessage(role, parts))
  }
  return messages
}

/** Shortcut for parts that are texts only; undefined for others. */
function readPlainTexts(parts: JsonValue | undefined): TextPart[] | undefined {
  if (!Array.isArray(parts) || parts.length === 0) return undefined
  const texts: TextPart[] = []
  for (const part of parts) {
    if (!isJsonObject(part) || typeof part.text !== 'string') return undefined
    for (const member in part) if (member !== 'text') return undefined
    texts.push({ type: 'text', text: part.text })
  }
  return texts
}

function readParts(
  content: JsonObject,
  { path, role, reading }: { path: string; role: MessageRole; reading: PartReading }
): ContentPart[] {
  return listParts(content, path).flatMap(({ part, path: at }) => {
    const read = readPart(part, at, reading)
    if (read?.type === 'tool-call' && role !== 'assistant') {
      const member = spell(part, 'functionCall')
      throw invalidRequest(`${at}.${member}`, `Only a content of the role 'model' can hold a ${member}.`)
    }
    return read === undefined ? [] : [read]
  })
}

const roles: ReadonlyMap<string, MessageRole> = new Map([
  ['', 'user'],
  ['user', 'user'],
  ['model', 'assistant'],
  ['function', 'tool'],
  ['tool', 'tool']
])

function readRole(content: JsonObject, path: string): Pick<NormalizedMessage, 'role' | 'sentRole'> {
  const word = readOptionalString(content, 'role', path) ?? ''
  const role = roles.get(word)
  if (role === undefined) {
    throw invalidRequest(`${path}.role`, `'${path}.role' must be one of user, model, function and tool.`)
  }
  return word === 'function' ? { role, sentRole: word } : { role }
}

/**
 * Merges the chunks of a streamed turn. SDKs record each chunk as a content, and a stream of the gateway ends with an empty text:
 * such a run becomes one turn, because a provider face would join separate turns with line feeds. Empty turns are dropped.
 */
function joinStreamedTurns(messages: NormalizedMessage[]): NormalizedMessage[] {
  if (!messages.some(isEndOfRun)) return messages
  const joined: NormalizedMessage[] = []
  let runStart = 0
  for (const message of messages) {
    if (isEndOfRun(message)) {
      const run = joined.splice(runStart).flatMap(({ content }) => content)
      // A signature on the empty last text belongs to the turn.
      const pieces = joinPieces([...run, ...message.content.filter(part => partState(part) !== undefined)])
      if (pieces.length > 0) joined.push(createMessage('assistant', pieces))
      runStart = joined.length
      continue
    }
    joined.push(message)
    if (message.role !== 'assistant') runStart = joined.length
  }
  return joined
}

function isEndOfRun({ role, content }: NormalizedMessage): boolean {
  return role === 'assistant' && content.every(isEmptyText)
}

function isEmptyText(part: ContentPart): boolean {
  return part.type === 'text' && part.text === ''
}

function partState(part: ContentPart): ProviderState | undefined {
  return part.type === 'text' ? part.state : undefined
}

/** Joins adjacent texts, and adjacent thoughts. A signature covers only its own part, so a signed part is not extended. */
function joinPieces(parts: readonly ContentPart[]): ContentPart[] {
  const joined: ContentPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part.type === 'text' && last?.type === 'text' && last.state === undefined && part.state === undefined) {
      joined[joined.length - 1] = { ...last, text: last.text + part.text }
    } else if (part.type === 'reasoning' && last?.type === 'reasoning' && last.state === undefined) {
      joined[joined.length - 1] = { ...part, text: last.text + part.text }
    } else joined.push(part)
  }
  return joined
}
