// How large the input of a request is, before any tokenizer has seen it.

import type { ContentPart, NormalizedRequest } from '../normalized/index.ts'

export interface InputSize {
  /** Of all texts, calls, results and declarations in UTF-8. */
  bytes: number
  /** Images and files, whose tokens do not follow from their bytes. */
  mediaCount: number
}

/** Measures what the model has to read. Costs a look at every part; only definitions of tools are written for it. */
export function measureInput({ messages, tools, output }: NormalizedRequest): InputSize {
  const size: InputSize = { bytes: 0, mediaCount: 0 }
  for (const { content } of messages) for (const part of content) addPart(size, part)
  for (const tool of tools) {
    if (tool.type !== 'function') continue
    size.bytes +=
      Buffer.byteLength(tool.name) + Buffer.byteLength(tool.description ?? '') + measureJson(tool.parameters)
  }
  if (output?.type === 'json-schema') size.bytes += measureJson(output.schema)
  return size
}

function addPart(size: InputSize, part: ContentPart): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      size.bytes += Buffer.byteLength(part.text)
      return
    case 'tool-call':
      size.bytes += Buffer.byteLength(part.name)
      size.bytes +=
        part.argumentsText === undefined ? measureJson(part.arguments) : Buffer.byteLength(part.argumentsText)
      return
    case 'tool-result':
      for (const inner of part.content) addPart(size, inner)
      return
    default:
      size.mediaCount += 1
  }
}

function measureJson(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

// A token of the vocabularies in use stands for some four bytes of prose, code or JSON in most scripts. Files of data have shorter ones,
// plain words longer ones.
const BYTES_OF_LIKELY_TOKEN = 3.5
const BYTES_OF_LONG_TOKEN = 6
/** What services count for an image of usual size. */
const LIKELY_MEDIA_TOKENS = 1000

/** An estimate that is rather too large, and one that no tokenizer stays below. */
export function estimateInputTokens({ bytes, mediaCount }: InputSize): { likely: number; least: number } {
  return {
    likely: Math.ceil(bytes / BYTES_OF_LIKELY_TOKEN) + mediaCount * LIKELY_MEDIA_TOKENS,
    least: Math.floor(bytes / BYTES_OF_LONG_TOKEN)
  }
}
