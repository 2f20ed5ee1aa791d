// Writes texts, images and files as parts of an input item of the Responses wire, and the output of a tool.

import type {
  ContentPart,
  FilePart,
  ImagePart,
  JsonObject,
  RefusalPart,
  TextPart,
  ToolResultPart
} from '../../../normalized/index.ts'
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

export type InputPart = TextPart | RefusalPart | ImagePart | FilePart

/** True for what a prompt and a result of a tool are made of. */
export function isInputPart(part: ContentPart): part is InputPart {
  return part.type === 'text' || part.type === 'refusal' || isMedia(part)
}

export function isMedia(part: ContentPart): part is MediaPart {
  return part.type === 'image' || part.type === 'file'
}

/** Places what the alias declares. Models that read images read the pages of a PDF as such. */
export function createMediaPlacer({ features, isLocal }: MediaTarget): MediaPlacer<JsonObject> {
  return new MediaPlacer({ isLocal }, part => {
    if (isImage(part)) return readsImages(features) ? writeImage(part) : { type: 'unread', reason: 'images' }
    const text = readTextFile(part)
    if (text !== undefined) return { type: 'text', text }
    const isPage = findMediaType(part) === PDF && readsImages(features)
    return isPage || readsFiles(features) ? writeFile(part) : { type: 'unread', reason: 'files' }
  })
}

/** How the media of a list of parts are placed. */
export interface PartSurroundings {
  placer: MediaPlacer<JsonObject>
  /** The parts are of the newest turn of the user. */
  isNewest: boolean
  /** Texts that follow one another are one text that was cut anywhere (decisions.md 60). */
  isCut?: boolean
}

/** Writes the parts of a prompt; an empty text beside others is left out. Raises what `MediaPlacer.place` raises. */
export function writeInputParts(
  content: readonly InputPart[],
  { placer, isNewest, isCut = false }: PartSurroundings
): JsonObject[] {
  const parts: JsonObject[] = []
  let text: string | undefined
  for (const part of content) {
    if (isMedia(part)) {
      const placed = placer.place(part, isNewest)
      parts.push(placed.type === 'text' ? writeText(placed.text) : placed.block)
      text = undefined
    } else if (part.text !== '' || content.length === 1) {
      text = isCut && text !== undefined ? text + part.text : part.text
      if (isCut && parts.at(-1)?.type === 'input_text' && text !== part.text) parts[parts.length - 1] = writeText(text)
      else parts.push(writeText(text))
    }
  }
  return parts
}

/** Stands before the result of a tool that failed: the wire has no mark for it (decisions.md 76). */
const ERROR_MARK = 'Error:'

/** The output of a tool: its plain text, or the list of its parts where it has media (decisions.md 76). */
export function writeOutput(
  { content, isError }: ToolResultPart,
  placer: MediaPlacer<JsonObject>
): string | JsonObject[] {
  const parts = writeInputParts(content.filter(isInputPart), { placer, isNewest: false })
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
  const text = texts.join('\n')
  const isMarked = !isError || text.startsWith(ERROR_MARK)
  if (texts.length === parts.length) return isMarked ? text : `${ERROR_MARK} ${text}`.trimEnd()
  return isMarked ? parts : [writeText(ERROR_MARK), ...parts]
}

function writeText(text: string): JsonObject {
  return { type: 'input_text', text }
}

function writeImage(part: MediaPart): WrittenMedia<JsonObject> {
  const { source } = part
  if (source.kind === 'file-id') return { type: 'unread', reason: 'format' }
  const mediaType = part.type === 'image' && source.kind === 'bytes' ? source.mediaType : findMediaType(part)
  const url = source.kind === 'url' ? source.url : `data:${mediaType};base64,${source.base64}`
  const detail = (part.type === 'image' && part.detail) || 'auto'
  return { type: 'block', block: { type: 'input_image', image_url: url, detail } }
}

/** A file in its bytes needs a name on this wire. Of the ids of files it knows its own only. */
function writeFile(part: MediaPart): WrittenMedia<JsonObject> {
  const { source } = part
  const mediaType = findMediaType(part)
  switch (source.kind) {
    case 'url':
      return { type: 'block', block: { type: 'input_file', file_url: source.url } }
    case 'bytes': {
      if (mediaType === '' || mediaType.startsWith('audio/')) return { type: 'unread', reason: 'format' }
      const filename = (part.type === 'file' && part.filename) || (mediaType === PDF ? 'document.pdf' : 'file')
      const data = `data:${mediaType};base64,${source.base64}`
      return { type: 'block', block: { type: 'input_file', filename, file_data: data } }
    }
    case 'file-id':
      return { type: 'unread', reason: 'format' }
  }
}
