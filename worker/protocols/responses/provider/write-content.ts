// Writes texts, images and files as parts of an input item of the Responses wire, and the output of a tool.

import {
  type ContentPart,
  type FilePart,
  type ImagePart,
  type JsonObject,
  type MediaSource,
  pathOfMedia,
  type RefusalPart,
  type TextPart,
  type ToolResultPart,
  unsupportedSemantic
} from '../../../normalized/index.ts'

type InputPart = TextPart | RefusalPart | ImagePart | FilePart

export function isInputPart(part: ContentPart): part is InputPart {
  return part.type === 'text' || part.type === 'refusal' || part.type === 'image' || part.type === 'file'
}

/**
 * Writes the parts of a prompt; an empty text beside others is left out. Raises `unsupported_semantic` with the path of media that is known
 * only by the id of a file.
 * @param isCut texts that follow one another are one text that was cut anywhere (decisions.md 60).
 */
export function writeInputParts(content: readonly InputPart[], isCut: boolean): JsonObject[] {
  const parts: JsonObject[] = []
  let text: string | undefined
  for (const part of content) {
    if (part.type === 'image' || part.type === 'file') {
      parts.push(part.type === 'image' ? writeImage(part) : writeFile(part))
      text = undefined
      continue
    }
    if (part.text === '' && content.length > 1) continue
    if (isCut && text !== undefined) {
      text += part.text
      parts[parts.length - 1] = writeText(text)
    } else {
      text = part.text
      parts.push(writeText(text))
    }
  }
  return parts
}

const ERROR_MARK = 'Error: '

/** The output of a tool: its plain text, or the list of its parts where it has media (bridge.md 8.9). */
export function writeOutput({ content, isError }: ToolResultPart): string | JsonObject[] {
  const parts = content.filter(isInputPart)
  const texts = parts.flatMap(part => (part.type === 'text' || part.type === 'refusal' ? [part.text] : []))
  const text = texts.join('\n')
  const mark = isError && !text.startsWith(ERROR_MARK) ? ERROR_MARK : ''
  if (texts.length === parts.length) return mark + text
  const written = writeInputParts(parts, false)
  return mark === '' ? written : [writeText(mark.trim()), ...written]
}

function writeText(text: string): JsonObject {
  return { type: 'input_text', text }
}

function writeImage(part: ImagePart): JsonObject {
  return { type: 'input_image', image_url: writeSource(part.source, part), detail: part.detail ?? 'auto' }
}

const DEFAULT_FILENAME = 'file'

/** A file in its bytes needs a name on this wire. */
function writeFile(part: FilePart): JsonObject {
  const { filename, source } = part
  const url = writeSource(source, part)
  if (source.kind === 'url') return { type: 'input_file', file_url: url }
  return { type: 'input_file', filename: filename ?? nameFile(source), file_data: url }
}

function nameFile(source: MediaSource): string {
  const ending = source.kind === 'bytes' ? /^[a-z]+\/([a-z0-9]{1,8})$/.exec(source.mediaType)?.[1] : undefined
  return ending === undefined ? DEFAULT_FILENAME : `${DEFAULT_FILENAME}.${ending}`
}

function writeSource(source: MediaSource, part: ImagePart | FilePart): string {
  switch (source.kind) {
    case 'url':
      return source.url
    case 'bytes':
      return `data:${source.mediaType};base64,${source.base64}`
    case 'file-id':
      throw unsupportedSemantic(pathOfMedia(part))
  }
}
