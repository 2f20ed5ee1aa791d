// Writes images and files on the content wire: bytes in the request, or the address of a public file, which the provider fetches.

import {
  assertNever,
  type FilePart,
  type ImagePart,
  type JsonObject,
  pathOfMedia,
  unsupportedSemantic
} from '../../../normalized/index.ts'
import { foldMediaType } from '../../shared/media-source.ts'

/**
 * Writes a part with media. Raises `unsupported_semantic` with the client's field for an address without TLS, which the service does not
 * fetch, for the id of a file that another service has, and for bytes of an unknown media type.
 */
export function writeMedia(part: ImagePart | FilePart): JsonObject {
  const { source } = part
  switch (source.kind) {
    case 'bytes': {
      const mimeType = source.mediaType === '' ? findTypeOfName(part) : foldMediaType(source.mediaType)
      if (mimeType === undefined) throw unsupportedSemantic(pathOfMedia(part), 'media_type_unknown')
      return { inlineData: { mimeType, data: source.base64 } }
    }
    case 'url': {
      if (!/^https:\/\//i.test(source.url)) throw unsupportedSemantic(pathOfMedia(part), 'media_not_expressed')
      const mimeType = source.mediaType ?? guessMediaType(part, source.url)
      return { fileData: mimeType === undefined ? { fileUri: source.url } : { mimeType, fileUri: source.url } }
    }
    case 'file-id':
      throw unsupportedSemantic(pathOfMedia(part), 'media_not_expressed')
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
function findTypeOfName(part: ImagePart | FilePart): string | undefined {
  return part.type === 'file' ? findTypeOfEnding(part.filename ?? '') : undefined
}

/** The same for an address; an image of another name counts as a photograph. */
function guessMediaType({ type }: ImagePart | FilePart, url: string): string | undefined {
  return findTypeOfEnding(url) ?? (type === 'image' ? 'image/jpeg' : undefined)
}

function findTypeOfEnding(name: string): string | undefined {
  return typeOfEnding[/\.([a-z]{3,4})(?:[?#]|$)/i.exec(name)?.[1]?.toLowerCase() ?? '']
}
