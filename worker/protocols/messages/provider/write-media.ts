// Writes images and documents as blocks of the Anthropic Messages wire. What the wire has no block for is refused with the client's path.

import {
  type FilePart,
  type GatewayError,
  type ImagePart,
  type JsonObject,
  pathOfMedia,
  unsupportedSemantic
} from '../../../normalized/index.ts'
import { foldMediaType } from '../../shared/media-source.ts'

/** The media types of images that the wire names; the service refuses any other. */
const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** Raises `unsupported_semantic` for a media type or a source that the wire does not have. */
export function writeImage(image: ImagePart): JsonObject {
  const { source } = image
  switch (source.kind) {
    case 'url':
      return { type: 'image', source: writeUrl(source.url, image) }
    case 'bytes': {
      const mediaType = foldMediaType(source.mediaType)
      if (!IMAGE_TYPES.has(mediaType)) throw refuse(image)
      return { type: 'image', source: { type: 'base64', media_type: mediaType, data: source.base64 } }
    }
    case 'file-id':
      throw refuse(image)
  }
}

const PDF = 'application/pdf'
const PLAIN_TEXT = 'text/plain'

/** Writes a PDF or a plain text as a document. Raises `unsupported_semantic` for any other file, which the wire has no block for. */
export function writeDocument(file: FilePart): JsonObject {
  const document: JsonObject = { type: 'document', source: writeDocumentSource(file) }
  if (file.filename !== undefined && file.filename !== '') document.title = file.filename
  return document
}

function writeDocumentSource(file: FilePart): JsonObject {
  const { source } = file
  switch (source.kind) {
    case 'url':
      return writeUrl(source.url, file)
    case 'bytes': {
      const mediaType = source.mediaType === '' ? findTypeOfName(file) : source.mediaType.toLowerCase()
      if (mediaType === PDF) return { type: 'base64', media_type: PDF, data: source.base64 }
      if (mediaType !== PLAIN_TEXT) throw refuse(file)
      return { type: 'text', media_type: PLAIN_TEXT, data: Buffer.from(source.base64, 'base64').toString('utf8') }
    }
    case 'file-id':
      throw refuse(file)
  }
}

function findTypeOfName({ filename = '' }: FilePart): string {
  const name = filename.toLowerCase()
  if (name.endsWith('.pdf')) return PDF
  return name.endsWith('.txt') ? PLAIN_TEXT : ''
}

/** The service fetches it itself, and only from the web. */
function writeUrl(url: string, part: ImagePart | FilePart): JsonObject {
  if (!/^https?:\/\//i.test(url)) throw refuse(part)
  return { type: 'url', url }
}

function refuse(part: ImagePart | FilePart): GatewayError {
  return unsupportedSemantic(pathOfMedia(part), 'media_not_expressed')
}
