// Reads the content of a message or of a tool result: text, or parts with text, images, files and audio (responses.md 3).

import {
  type ContentPart,
  type Diagnostics,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaSource,
  type NormalizedMessage
} from '../../../normalized/index.ts'
import { readParts } from '../../shared/completions-family/known-parts.ts'
import { readFileData, readMediaUrl } from '../../shared/media/media-source.ts'
import {
  joinPath,
  keepDefined,
  readObject,
  readOptionalString,
  readString,
  wrongType
} from '../../shared/members/field.ts'

/**
 * Reads the content at `path` of the body. Raises `invalid_request` with the path of the wrong part or member.
 * @param ignored given where parts of an unknown type are left out (decisions.md 75); undefined where they are refused.
 */
export function readContent(
  content: JsonValue | undefined,
  path: string,
  ignored: Diagnostics | undefined
): Pick<NormalizedMessage, 'content' | 'form'> {
  if (typeof content === 'string') return { content: [{ type: 'text', text: content }], form: 'text' }
  if (content === undefined) return { content: [], form: 'absent' }
  if (content === null) return { content: [], form: 'null' }
  if (!Array.isArray(content)) throw wrongType(path, 'a string or an array', content)
  return { content: readParts(content, { path, ignored }, partReader) }
}

const PART_TYPES: ReadonlySet<unknown> = new Set([
  'input_text',
  'output_text',
  'text',
  'refusal',
  'input_image',
  'input_file',
  'input_audio'
])

function isKnownPart(part: JsonValue): boolean {
  return !isJsonObject(part) || PART_TYPES.has(part.type)
}

const partReader = { isKnown: isKnownPart, read: readPart }

function readPart(part: JsonValue, path: string): ContentPart {
  if (!isJsonObject(part)) throw wrongType(path, 'an object', part)
  switch (part.type) {
    // Clients return the text of earlier responses as output text (field-lessons.md F6).
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: readText(part, 'text', path) }
    case 'refusal':
      return { type: 'refusal', text: readText(part, 'refusal', path) }
    case 'input_image':
      return readImage(part, path)
    case 'input_file':
      return readFile(part, path)
    case 'input_audio':
      return readAudio(part, path)
    default:
      throw invalidRequest(
        `${path}.type`,
        `'${path}.type' must be one of input_text, output_text, input_image, input_file, input_audio and refusal.`
      )
  }
}

/** Accepts an empty text, because clients send empty parts. */
function readText(part: JsonObject, member: string, path: string): string {
  const text = part[member]
  if (typeof text !== 'string') throw wrongType(joinPath(path, member), 'a string', text)
  return text
}

function readImage(part: JsonObject, path: string): ContentPart {
  const source = readFileId(part, path) ?? readMediaUrl(readString(part, 'image_url', path))
  const detail = readOptionalString(part, 'detail', path)
  const member = source.kind === 'file-id' ? 'file_id' : 'image_url'
  return { type: 'image', source, path, member, ...keepDefined({ detail }) }
}

function readFile(part: JsonObject, path: string): ContentPart {
  const filename = readOptionalString(part, 'filename', path)
  const source = readFileId(part, path) ?? readDataOrUrl(part, path)
  return { type: 'file', source, path, member: findFileMember(part), ...keepDefined({ filename }) }
}

/** The member that `readFile` takes. */
function findFileMember({ file_id: fileId, file_data: data, file_url: url }: JsonObject): string {
  if ((fileId ?? '') !== '') return 'file_id'
  return (data ?? undefined) === undefined && (url ?? undefined) !== undefined ? 'file_url' : 'file_data'
}

function readDataOrUrl(part: JsonObject, path: string): MediaSource {
  if ((part.file_data ?? undefined) === undefined && (part.file_url ?? undefined) !== undefined) {
    return readMediaUrl(readString(part, 'file_url', path))
  }
  return readFileData(readString(part, 'file_data', path))
}

function readAudio(part: JsonObject, path: string): ContentPart {
  const at = `${path}.input_audio`
  const audio = readObject(part, 'input_audio', path)
  const mediaType = `audio/${readString(audio, 'format', at).toLowerCase()}`
  const source: MediaSource = { kind: 'bytes', mediaType, base64: readString(audio, 'data', at) }
  return { type: 'file', source, path, member: 'input_audio' }
}

function readFileId(part: JsonObject, path: string): MediaSource | undefined {
  const fileId = readOptionalString(part, 'file_id', path)
  return fileId === undefined || fileId === '' ? undefined : { kind: 'file-id', fileId }
}
