// Writes images and documents as blocks of the Anthropic Messages wire.

import { assertNever, type JsonObject } from '../../../normalized/index.ts'
import type { MediaTarget } from '../../provider-face.ts'
import {
  findMediaType,
  isImage,
  type MediaPart,
  MediaPlacer,
  PDF,
  readsFiles,
  readsImages,
  readTextFile,
  type UnreadReason,
  type WrittenMedia
} from '../../shared/media/described-media.ts'

/** The media types of images that the wire names; the service refuses any other. */
const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** Places what the alias declares. Models that read images read the pages of a PDF as such. */
export function createMediaPlacer({ features, isLocal }: MediaTarget): MediaPlacer<JsonObject> {
  return new MediaPlacer({ isLocal }, part => {
    if (isImage(part)) return readsImages(features) ? writeImage(part) : unread('images')
    const text = readTextFile(part)
    const hasDocuments = readsFiles(features) || readsImages(features)
    if (text !== undefined) return hasDocuments ? writeTextDocument(part, text) : { type: 'text', text }
    return hasDocuments ? writeDocument(part, readsFiles(features)) : unread('files')
  })
}

function writeImage(part: MediaPart): WrittenMedia<JsonObject> {
  const { source } = part
  switch (source.kind) {
    case 'url':
      return isWebAddress(source.url) ? writeBlock('image', { type: 'url', url: source.url }) : unread('format')
    case 'bytes': {
      const mediaType = findMediaType(part)
      if (!IMAGE_TYPES.has(mediaType)) return unread('format')
      return writeBlock('image', { type: 'base64', media_type: mediaType, data: source.base64 })
    }
    case 'file-id':
      return unread('format')
    default:
      return assertNever(source)
  }
}

function writeTextDocument(part: MediaPart, data: string): WrittenMedia<JsonObject> {
  return withTitle(writeBlock('document', { type: 'text', media_type: 'text/plain', data }), part)
}

/** Only a PDF is a document; of an address without a media type the service finds out itself. */
function writeDocument(part: MediaPart, readsOthers: boolean): WrittenMedia<JsonObject> {
  const { source } = part
  const mediaType = findMediaType(part)
  const isPdf = mediaType === PDF || (mediaType === '' && source.kind === 'url')
  if (!isPdf) return unread(readsOthers ? 'format' : 'files')
  if (source.kind === 'bytes') {
    return withTitle(writeBlock('document', { type: 'base64', media_type: PDF, data: source.base64 }), part)
  }
  if (source.kind !== 'url' || !isWebAddress(source.url)) return unread('format')
  return withTitle(writeBlock('document', { type: 'url', url: source.url }), part)
}

function withTitle(written: WrittenMedia<JsonObject>, part: MediaPart): WrittenMedia<JsonObject> {
  const title = part.type === 'file' ? part.filename : undefined
  if (written.type === 'block' && title !== undefined && title !== '') written.block.title = title
  return written
}

function writeBlock(type: string, source: JsonObject): WrittenMedia<JsonObject> {
  return { type: 'block', block: { type, source } }
}

/** The service fetches it itself, and only from the web. */
function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

function unread(reason: UnreadReason): { type: 'unread'; reason: UnreadReason } {
  return { type: 'unread', reason }
}
