// Reads the parts of a content: text, thoughts, media, calls and their results (content.md 3).

import {
  assertNever,
  type ContentPart,
  createToolTurnState,
  type GatewayError,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaSource,
  type ProviderState,
  readToolCallId
} from '../../../normalized/index.ts'
import type { SentNumbers } from '../../shared/json/sent-numbers.ts'
import { readMediaUrl } from '../../shared/media/media-source.ts'
import {
  joinPath,
  keepDefined,
  readObject,
  readOptionalString,
  readString,
  wrongType
} from '../../shared/members/field.ts'
import { isWithoutData, readMember, spell } from './spelling.ts'
import { readThoughtSignature } from './thought-signature.ts'

/** The kinds of parts, by their member. A part may have other members beside it. */
const PART_KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const

/** Parts of other services' responses that SDKs replay: no provider accepts them. */
const REPLAYED_KINDS = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse', 'audioTranscription']

/**
 * The `parts` of `content`, the object at `path`, with the path of each; a single part needs no list.
 * Raises `invalid_request` when they are missing, empty or no objects.
 */
export function listParts(content: JsonObject, path: string): Array<{ part: JsonObject; path: string }> {
  const { parts } = content
  const at = joinPath(path, 'parts')
  if (isJsonObject(parts)) return [{ part: parts, path: at }]
  if (!Array.isArray(parts)) throw wrongType(at, 'an array', parts)
  if (parts.length === 0) throw invalidRequest(at, `'${at}' must hold at least one part.`)
  return parts.map((part, index) => {
    if (!isJsonObject(part)) throw wrongType(`${at}[${index}]`, 'an object', part)
    return { part, path: `${at}[${index}]` }
  })
}

/** What the parts of a request are read with. */
export interface PartReading {
  numbers: SentNumbers
  /** Takes the error of a part that only a provider of this wire can judge. */
  refuse(error: GatewayError): void
}

/** Reads a part; undefined for one without effect. Raises `invalid_request` with the path of the wrong member. */
export function readPart(part: JsonObject, path: string, reading: PartReading): ContentPart | undefined {
  const kinds = PART_KINDS.filter(kind => readMember(part, kind) !== undefined)
  const [kind] = kinds
  if (kind === undefined) return readOther(part, path, reading)
  if (kinds.length > 1) throw invalidRequest(path, `'${path}' must hold only one of ${kinds.join(' and ')}.`)
  switch (kind) {
    case 'text':
      return readText(part, path)
    case 'inlineData':
      return dropThought(part, readInlineData(part, path))
    case 'fileData':
      return dropThought(part, readFileData(part, path, reading))
    case 'functionCall':
      return readFunctionCall(part, path, reading.numbers)
    case 'functionResponse':
      return readFunctionResponse(part, path, reading)
    default:
      return assertNever(kind)
  }
}

/** A part of another kind says something to a provider of this wire only. */
function readOther(part: JsonObject, path: string, { refuse }: PartReading): ContentPart | undefined {
  if (REPLAYED_KINDS.some(kind => readMember(part, kind) !== undefined)) return undefined
  // The signature beside an empty text holds what a provider wants back.
  if (isWithoutData(part))
    return readMember(part, 'thoughtSignature') === undefined ? undefined : readText({ ...part, text: '' }, path)
  refuse(invalidRequest(path, `'${path}' must hold one of ${PART_KINDS.join(', ')}.`))
  return undefined
}

/** Drops media that belong to a thought, because thoughts are not sent to the model again. */
function dropThought(part: JsonObject, read: ContentPart): ContentPart | undefined {
  return part.thought === true ? undefined : read
}

/** Reads a text or a thought. A text may be empty, because SDKs replay the empty text at the end of a stream. */
function readText(part: JsonObject, path: string): ContentPart {
  const { text } = part
  if (typeof text !== 'string') throw wrongType(joinPath(path, 'text'), 'a string', text)
  const { state, hiddenText = '' } = readThoughtSignature(readMember(part, 'thoughtSignature'))
  if (part.thought !== true) return { type: 'text', text, ...keepDefined({ state }) }
  return { type: 'reasoning', text: text === '' ? hiddenText : text, ...keepDefined({ state }) }
}

function readInlineData(part: JsonObject, path: string): ContentPart {
  const member = spell(part, 'inlineData')
  const data = readObject(part, member, path)
  const at = joinPath(path, member)
  const mediaType = readString(data, spell(data, 'mimeType'), at)
  const source: MediaSource = { kind: 'bytes', mediaType, base64: toStandardBase64(readString(data, 'data', at)) }
  return writeMediaPart({ source, mediaType, filename: readFilename(data, at), path: at })
}

function readFileData(part: JsonObject, path: string, { refuse }: PartReading): ContentPart {
  const member = spell(part, 'fileData')
  const data = readObject(part, member, path)
  const at = joinPath(path, member)
  const uriMember = spell(data, 'fileUri')
  const mediaType = readOptionalString(data, spell(data, 'mimeType'), at) ?? ''
  const uri = readString(data, uriMember, at)
  if (!ADDRESS.test(uri) && !FILE_ID.test(uri)) {
    const uriPath = joinPath(at, uriMember)
    refuse(invalidRequest(uriPath, `'${uriPath}' must be an http, https, data or gs address or the name of a file.`))
  }
  const source = readFileUri(uri, mediaType)
  return writeMediaPart({ source, mediaType, filename: readFilename(data, at), path: at })
}

/** The addresses of the protocol (decisions.md 105). */
const ADDRESS = /^(?:https?:\/\/|data:|gs:\/\/)/i

/** The name of an uploaded file, with or without the prefix `files/`. */
const FILE_ID = /^(?:files\/)?([A-Za-z0-9_.-]+)$/

function readFileUri(uri: string, mediaType: string): MediaSource {
  const fileId = FILE_ID.exec(uri)?.[1]
  if (fileId !== undefined) return { kind: 'file-id', fileId }
  const source = readMediaUrl(uri)
  return source.kind === 'url' && mediaType !== '' ? { ...source, mediaType } : source
}

function readFilename(data: JsonObject, path: string): string | undefined {
  const filename = readOptionalString(data, spell(data, 'displayName'), path)
  return filename === '' ? undefined : filename
}

function writeMediaPart(media: {
  source: MediaSource
  mediaType: string
  filename: string | undefined
  path: string
}): ContentPart {
  const { source, mediaType, filename, path } = media
  if (/^image\//i.test(mediaType)) return { type: 'image', source, path }
  return { type: 'file', source, path, ...keepDefined({ filename }) }
}

/** Some SDKs encode bytes in the URL-safe alphabet, which not every provider accepts. */
function toStandardBase64(base64: string): string {
  return base64.includes('-') || base64.includes('_') ? base64.replaceAll('-', '+').replaceAll('_', '/') : base64
}

function readFunctionCall(part: JsonObject, path: string, numbers: SentNumbers): ContentPart {
  const member = spell(part, 'functionCall')
  const call = readObject(part, member, path)
  const at = joinPath(path, member)
  const name = readString(call, 'name', at)
  const args: JsonValue | undefined = call.args ?? undefined
  if (args !== undefined && !isJsonObject(args)) throw wrongType(joinPath(at, 'args'), 'an object', args)
  const signature = readThoughtSignature(readMember(part, 'thoughtSignature'))
  const id = readId(call, at) ?? signature.callId ?? null
  const state = signature.state ?? readSignedState(signature.callId)
  const argumentsText = args && numbers.writeExact(args)
  return { type: 'tool-call', id, name, arguments: args ?? {}, ...keepDefined({ argumentsText, state }) }
}

/** The state id in the signature: it is certain even when the client replaced the call's id. */
function readSignedState(callId: string | undefined): ProviderState | undefined {
  const toolStateId = callId === undefined ? undefined : readToolCallId(callId).stateId
  return toolStateId === undefined ? undefined : createToolTurnState(toolStateId)
}

function readFunctionResponse(part: JsonObject, path: string, reading: PartReading): ContentPart {
  const member = spell(part, 'functionResponse')
  const result = readObject(part, member, path)
  const at = joinPath(path, member)
  const name = readString(result, 'name', at)
  const response = result.response ?? undefined
  if (response !== undefined && !isJsonObject(response))
    throw wrongType(joinPath(at, 'response'), 'an object', response)
  const json = response && (reading.numbers.writeExact(response) ?? JSON.stringify(response))
  const text: ContentPart[] = json === undefined ? [] : [{ type: 'text', text: json }]
  const content = text.concat(readResultMedia(result, at, reading))
  return { type: 'tool-result', callId: readId(result, at) ?? null, name, content, isError: false, path: at }
}

/** Reads the media that a function returned beside its object. */
function readResultMedia(result: JsonObject, path: string, reading: PartReading): ContentPart[] {
  const { parts } = result
  if (parts === undefined || parts === null || (Array.isArray(parts) && parts.length === 0)) return []
  return listParts(result, path).flatMap(({ part, path: at }) => {
    if (readMember(part, 'inlineData') !== undefined) return [readInlineData(part, at)]
    return readMember(part, 'fileData') === undefined ? [] : [readFileData(part, at, reading)]
  })
}

function readId(source: JsonObject, path: string): string | undefined {
  const id = readOptionalString(source, 'id', path)
  return id === '' ? undefined : id
}
