// Media of the history that the upstream cannot read: a text says what stood there, because a refusal would fail every later turn of the
// conversation. In the newest turn of the user they are refused when the attachments are planned (decisions.md 75).

import {
  type ContentPart,
  findNewestTurn,
  isUserTurn,
  type NormalizedMessage,
  type NormalizedRequest,
  pathOfMedia
} from '../../normalized/index.ts'
import { countDecodedBytes, describeMedia, readTextFile, type UnreadReason } from '../shared/media/described-media.ts'
import { isImage, kindOf, type MediaPart } from './attachments.ts'
import type { NativeOptions } from './options.ts'

export interface DescribedHistory {
  messages: readonly NormalizedMessage[]
  /** The client's fields whose media are described. */
  leftOut: readonly string[]
}

type MediaOptions = Pick<NativeOptions, 'isImageInputEnabled' | 'attachmentLimits'>

/**
 * Describes media that their type, their size or the operator's settings forbid. Every other fault
 * shows only when the file is uploaded.
 */
export function describeHistory({ messages }: NormalizedRequest, options: MediaOptions): DescribedHistory {
  if (!messages.some(hasMedia)) return { messages, leftOut: [] }
  const describer = new HistoryDescriber(options)
  const newestTurn = findNewestTurn(messages)
  const described = [...messages]
  // The newest media are kept first, within the limit of all together.
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index] as NormalizedMessage
    if (!hasMedia(message)) continue
    if (index >= newestTurn && isUserTurn(message)) describer.count(message)
    else described[index] = describer.describe(message)
  }
  return { messages: described, leftOut: describer.leftOut }
}

function hasMedia({ content }: NormalizedMessage): boolean {
  return content.some(part => isMedia(part) || (part.type === 'tool-result' && part.content.some(isMedia)))
}

function isMedia(part: ContentPart): part is MediaPart {
  return part.type === 'image' || part.type === 'file'
}

class HistoryDescriber {
  readonly leftOut: string[] = []
  readonly #options: MediaOptions
  /** The same bytes in several messages are one attachment. */
  readonly #counted = new Set<string>()
  #audioAndImageBytes = 0

  constructor(options: MediaOptions) {
    this.#options = options
  }

  /** Counts the media of the newest turn. */
  count({ content }: NormalizedMessage): void {
    for (const part of content) if (isMedia(part)) this.#takesBytes(part)
  }

  describe(message: NormalizedMessage): NormalizedMessage {
    const isJoined = message.form === 'pieces'
    const content = message.content.map((part, index) => {
      if (part.type === 'tool-result') return { ...part, content: part.content.map(inner => this.#replace(inner)) }
      const replaced = this.#replace(part)
      if (!isJoined || replaced === part || replaced.type !== 'text') return replaced
      // Pieces of one text are joined with nothing.
      const isLast = index === message.content.length - 1
      return { ...replaced, text: `${index === 0 ? '' : '\n'}${replaced.text}${isLast ? '' : '\n'}` }
    })
    return { ...message, content }
  }

  #replace<Part extends ContentPart>(part: Part): Part | { type: 'text'; text: string } {
    if (!isMedia(part)) return part
    const reason = this.#findReason(part)
    if (reason === undefined) return part
    const text = reason === 'format' ? readTextFile(part) : undefined
    if (text !== undefined) return { type: 'text', text }
    this.leftOut.push(pathOfMedia(part))
    return { type: 'text', text: describeMedia(part, reason) }
  }

  #findReason(part: MediaPart): UnreadReason | undefined {
    const { isImageInputEnabled } = this.#options
    if (!isImageInputEnabled && isImage(part)) return 'images'
    const { source } = part
    if (source.kind !== 'bytes') return undefined
    if (kindOf(part, source.mediaType) === undefined) return 'format'
    return this.#takesBytes(part) ? undefined : 'size'
  }

  /** Whether a file is within the limits; if so it counts. */
  #takesBytes(part: MediaPart): boolean {
    const { source } = part
    const kind = source.kind === 'bytes' ? kindOf(part, source.mediaType) : undefined
    if (source.kind !== 'bytes' || kind === undefined) return true
    const { attachmentLimits: limits } = this.#options
    const bytes = countDecodedBytes(source.base64)
    if (bytes > limits[`${kind}BytesMax`]) return false
    if (kind === 'text' || this.#counted.has(source.base64)) return true
    if (this.#audioAndImageBytes + bytes > limits.audioAndImageBytesMax) return false
    this.#counted.add(source.base64)
    this.#audioAndImageBytes += bytes
    return true
  }
}
