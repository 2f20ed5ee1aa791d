// Writes images and files on the chat completions wire. Only messages of the user hold them there (bridge.md 8.1).

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

/** The formats of sound that the wire names. */
const soundFormats: Readonly<Record<string, string>> = {
  'audio/mp3': 'mp3',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/wave': 'wav',
  'audio/x-wav': 'wav'
}

/** Places what the alias declares. */
export function createMediaPlacer({ features, isLocal }: MediaTarget): MediaPlacer<JsonObject> {
  return new MediaPlacer({ isLocal }, part => {
    if (isImage(part)) return readsImages(features) ? writeImage(part) : { type: 'unread', reason: 'images' }
    const text = readTextFile(part)
    if (text !== undefined) return { type: 'text', text }
    return readsFiles(features) ? writeFile(part) : { type: 'unread', reason: 'files' }
  })
}

function writeImage(part: MediaPart): WrittenMedia<JsonObject> {
  const { source } = part
  const image: JsonObject = { url: '' }
  switch (source.kind) {
    case 'url':
      image.url = source.url
      break
    case 'bytes':
      image.url = `data:${part.type === 'image' ? source.mediaType : findMediaType(part)};base64,${source.base64}`
      break
    case 'file-id':
      return { type: 'unread', reason: 'format' }
    default:
      assertNever(source)
  }
  if (part.type === 'image' && part.detail !== undefined) image.detail = part.detail
  return { type: 'block', block: { type: 'image_url', image_url: image } }
}

/** A file goes as its bytes: the wire has no address of one, and the ids of other services say nothing to this one. */
function writeFile(part: MediaPart): WrittenMedia<JsonObject> {
  const { source } = part
  const mediaType = findMediaType(part)
  if (source.kind !== 'bytes' || mediaType === '') return { type: 'unread', reason: 'format' }
  const format = soundFormats[mediaType]
  if (format !== undefined) {
    return { type: 'block', block: { type: 'input_audio', input_audio: { data: source.base64, format } } }
  }
  const filename = (part.type === 'file' && part.filename) || nameFile(mediaType)
  return {
    type: 'block',
    block: { type: 'file', file: { filename, file_data: `data:${mediaType};base64,${source.base64}` } }
  }
}

/** The wire demands a name. */
function nameFile(mediaType: string): string {
  return mediaType === PDF ? 'document.pdf' : 'file'
}
