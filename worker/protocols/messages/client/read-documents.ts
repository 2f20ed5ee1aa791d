// Reads documents and search results, which hold what the model has to read: a file, a text, or blocks of their own (decisions.md 82).

import {
  type ContentPart,
  type FilePart,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaSource
} from '../../../normalized/index.ts'
import { readMediaUrl } from '../../shared/media/media-source.ts'

/** A document of this type without a media type is one. */
const PDF = 'application/pdf'
const PLAIN_TEXT = 'text/plain'

/** The parts that a document stands for; undefined for one without a source that is known. */
export function readDocument(block: JsonObject, path: string): readonly ContentPart[] | undefined {
  const { source } = block
  if (!isJsonObject(source)) return undefined
  switch (source.type) {
    case 'text':
      return typeof source.data === 'string' ? [{ type: 'text', text: source.data }] : undefined
    case 'content':
      return readBlocks(source.content)
    case 'base64':
      return typeof source.data === 'string' ? readBytes(block, { ...source, data: source.data }, path) : undefined
    case 'url':
      return typeof source.url === 'string' ? [writeFile(block, withType(readMediaUrl(source.url)), path)] : undefined
    case 'file':
      return typeof source.file_id === 'string'
        ? [writeFile(block, { kind: 'file-id', fileId: source.file_id }, path)]
        : undefined
    default:
      return undefined
  }
}

function readBytes(block: JsonObject, source: JsonObject & { data: string }, path: string): ContentPart[] {
  const mediaType = typeof source.media_type === 'string' ? source.media_type : PDF
  if (mediaType === PLAIN_TEXT) return [{ type: 'text', text: Buffer.from(source.data, 'base64').toString('utf8') }]
  return [writeFile(block, { kind: 'bytes', mediaType, base64: source.data }, path)]
}

/** The service fetches PDFs only. */
function withType(source: MediaSource): MediaSource {
  return source.kind === 'url' ? { ...source, mediaType: PDF } : source
}

function writeFile({ title }: JsonObject, source: MediaSource, path: string): FilePart {
  const part: FilePart = { type: 'file', source, path }
  if (typeof title === 'string' && title !== '') part.filename = title
  return part
}

/** What was found, with the place where it stands. */
export function readSearchResult({ title, source, content }: JsonObject): readonly ContentPart[] | undefined {
  const texts = readBlocks(content)
  if (texts === undefined || texts.length === 0) return undefined
  const head = [title, source].filter(text => typeof text === 'string' && text !== '').join('\n')
  return head === '' ? texts : [{ type: 'text', text: head }, ...texts]
}

/** The texts of a text or of a list of blocks; undefined for any other value. */
function readBlocks(content: JsonValue | undefined): ContentPart[] | undefined {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return undefined
  return content.flatMap(block =>
    isJsonObject(block) && typeof block.text === 'string' ? [{ type: 'text' as const, text: block.text }] : []
  )
}
