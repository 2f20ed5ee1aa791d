// The conversation that a request belongs to, as a short text: turns of one conversation go to one target, so that the provider's prompt
// cache is warm (decisions.md 116).

import { createHash, type Hash } from 'node:crypto'
import type { ContentPart, JsonObject, MediaSource, NormalizedMessage, NormalizedRequest } from '../normalized/index.ts'

/** Prompt caches hold beginnings, so what stands behind so many characters of a text tells no more conversations apart. */
const TEXT_CHARACTERS_MAX = 16_384

/** Pictures of one kind begin alike; their length and their end tell them apart. */
const MEDIA_CHARACTERS = 1024

const DIGEST_CHARACTERS = 22

/**
 * The text of a request's conversation: that of the client's own `prompt_cache_key`, else of its system texts and its first turn of the
 * user. The caller adds the client's key.
 * @param body what the request was read from.
 */
export function describeConversation(
  { messages }: Pick<NormalizedRequest, 'messages'>,
  body: JsonObject | undefined
): string {
  const hash = createHash('sha256')
  const cacheKey = body?.prompt_cache_key
  if (typeof cacheKey === 'string' && cacheKey !== '') {
    addText(hash, 'key', cacheKey)
  } else {
    for (const message of messages) {
      addMessage(hash, message)
      if (message.role === 'user') break
    }
  }
  return hash.digest('base64url').slice(0, DIGEST_CHARACTERS)
}

/** System texts stand before the first turn; a conversation that begins with a turn of the assistant is told apart by it. */
function addMessage(hash: Hash, { role, content }: NormalizedMessage): void {
  let left = TEXT_CHARACTERS_MAX
  for (const part of content) {
    const text = readText(part)
    if (text === undefined) continue
    addText(hash, role, text.slice(0, left))
    left -= text.length
    if (left <= 0) return
  }
}

function readText(part: ContentPart): string | undefined {
  switch (part.type) {
    case 'text':
      return part.text
    case 'image':
    case 'file':
      return readSource(part.source)
    default:
      return undefined
  }
}

function readSource(source: MediaSource): string {
  switch (source.kind) {
    case 'url':
      return source.url.slice(0, MEDIA_CHARACTERS)
    case 'file-id':
      return source.fileId
    case 'bytes':
      return `${source.base64.length} ${source.base64.slice(-MEDIA_CHARACTERS)}`
  }
}

/** The name and the length keep texts apart that would be one text when joined. */
function addText(hash: Hash, name: string, text: string): void {
  hash.update(`${name} ${text.length}\n`).update(text)
}
