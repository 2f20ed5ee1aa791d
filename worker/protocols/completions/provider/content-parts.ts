// Reads the content of a message or of a delta. It is a text on most services; some send a list of parts with texts and thinking in it
// (decisions.md 81).

import { isJsonObject } from '../../../normalized/index.ts'
import { protocolError } from '../../shared/external-payload.ts'

/** Takes the pieces of the content in their order. */
export interface ContentTaker {
  text(piece: string): void
  thinking(piece: string): void
  refusal(piece: string): void
}

/** Reads `content`, which may be missing or null. Raises `provider_protocol_error` for any other value. */
export function readContent(content: unknown, taker: ContentTaker, fault: string): void {
  if (content === undefined || content === null) return
  if (typeof content === 'string') {
    taker.text(content)
    return
  }
  if (!Array.isArray(content)) throw protocolError(fault)
  for (const part of content) {
    if (!isJsonObject(part)) throw protocolError(fault)
    readPart(part, taker)
  }
}

/** The texts of a content that is a list of parts; undefined for any other content, and for a list of something else. */
export function joinParts(content: unknown): { text: string; thinking: string } | undefined {
  if (!Array.isArray(content) || !content.every(isJsonObject)) return undefined
  const joined = { text: '', thinking: '' }
  const taker: ContentTaker = {
    text(piece) {
      joined.text += piece
    },
    thinking(piece) {
      joined.thinking += piece
    },
    refusal(piece) {
      joined.text += piece
    }
  }
  for (const part of content) readPart(part, taker)
  return joined
}

/** Parts of other types, such as references to the results of a search, hold no text of the model. */
function readPart(part: Readonly<Record<string, unknown>>, taker: ContentTaker): void {
  switch (part.type) {
    case 'text':
    case 'output_text':
      taker.text(readText(part.text))
      return
    case 'thinking':
    case 'reasoning':
      taker.thinking(readText(part.thinking ?? part.text))
      return
    case 'refusal':
      taker.refusal(readText(part.refusal))
      return
  }
}

/** A text, or a list of parts with texts. */
function readText(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  return value.map(entry => (isJsonObject(entry) && typeof entry.text === 'string' ? entry.text : '')).join('')
}
