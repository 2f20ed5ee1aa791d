// Writes images and files on the content wire: bytes in the request, or the address of a public file, which the provider fetches.

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
  type WrittenMedia
} from '../../shared/media/described-media.ts'
import { foldMediaType } from '../../shared/media/media-source.ts'

/** Places what the alias declares. Models that read images read the pages of a PDF as such. */
export function createMediaPlacer({ features, isLocal }: MediaTarget): MediaPlacer<JsonObject> {
  return new MediaPlacer({ isLocal, hasStorage: true }, part => {
    if (isImage(part)) return readsImages(features) ? writeMedia(part) : { type: 'unread', reason: 'images' }
    if (readsFiles(features) || (readsImages(features) && findMediaType(part) === PDF)) return writeMedia(part)
    const text = readTextFile(part)
    return text === undefined ? { type: 'unread', reason: 'files' } : { type: 'text', text }
  })
}

/**
 * Writes a part with media. Unread are an address without TLS, which the service does not fetch, the id of a file that another service has,
 * and bytes of an unknown media type.
 */
function writeMedia(part: MediaPart): WrittenMedia<JsonObject> {
  const { source } = part
  switch (source.kind) {
    case 'bytes': {
      const mimeType = source.mediaType === '' ? findTypeOfName(part) : foldMediaType(source.mediaType)
      if (mimeType === undefined) return { type: 'unread', reason: 'format' }
      return { type: 'block', block: { inlineData: { mimeType, data: source.base64 } } }
    }
    case 'url': {
      // Files of the provider's own storage have addresses of this scheme.
      if (!/^(?:https|gs):\/\//i.test(source.url)) return { type: 'unread', reason: 'format' }
      const mimeType = source.mediaType ?? guessMediaType(part, source.url)
      const fileData: JsonObject = mimeType === undefined ? { fileUri: source.url } : { mimeType, fileUri: source.url }
      return { type: 'block', block: { fileData } }
    }
    case 'file-id':
      return { type: 'unread', reason: 'format' }
    default:
      return assertNever(source)
  }
}

const typeOfEnding: Readonly<Record<string, string>> = {
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain',
  webp: 'image/webp'
}

/** The media type by the ending of the file's name. */
function findTypeOfName(part: MediaPart): string | undefined {
  return part.type === 'file' ? findTypeOfEnding(part.filename ?? '') : undefined
}

/** The same for an address; an image of another name counts as a photograph. */
function guessMediaType({ type }: MediaPart, url: string): string | undefined {
  return findTypeOfEnding(url) ?? (type === 'image' ? 'image/jpeg' : undefined)
}

function findTypeOfEnding(name: string): string | undefined {
  return typeOfEnding[/\.([a-z]{3,4})(?:[?#]|$)/i.exec(name)?.[1]?.toLowerCase() ?? '']
}
