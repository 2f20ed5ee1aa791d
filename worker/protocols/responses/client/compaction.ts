// Replaces a long conversation by a summary of it (memory.md 5): the wish for one, its text in a sealed item, and the message that a later
// request reads from that item. Nothing is kept between the two requests, so that any worker with the same key can open an item.

import { createCipheriv, createDecipheriv } from 'node:crypto'
import {
  type GatewayError,
  invalidRequest,
  type NormalizedMessage,
  type NormalizedRequest
} from '../../../normalized/index.ts'

/** The item of an input that asks for a summary of the items before it. */
export const COMPACTION_TRIGGER = 'compaction_trigger'

/** Begins a sealed summary of the gateway; other services write other items of this type. */
const MARK = 'gateway-summary:'

const CIPHER = 'aes-256-gcm'
export const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Bound to the cipher text, so that nothing else that was sealed with the key is taken for a summary. */
const PURPOSE = Buffer.from(MARK)

/**
 * Seals a summary, so that its client can neither read nor alter it.
 * @param key 32 bytes.
 * @param nonce `NONCE_BYTES` random bytes.
 */
export function sealSummary(text: string, key: Uint8Array, nonce: Uint8Array): string {
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(PURPOSE)
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return MARK + sealed.toString('base64url')
}

/** Whether the gateway wrote this content; also for one that was altered behind its beginning. */
export function isSealedSummary(content: unknown): content is string {
  return typeof content === 'string' && content.startsWith(MARK)
}

/** The text of a sealed summary; undefined for one that was altered, or sealed with another key. */
export function openSummary(content: string, key: Uint8Array): string | undefined {
  const sealed = Buffer.from(content.slice(MARK.length), 'base64url')
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const tagStart = sealed.length - TAG_BYTES
  try {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAAD(PURPOSE).setAuthTag(sealed.subarray(tagStart))
    return decipher.update(sealed.subarray(NONCE_BYTES, tagStart), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}

/** The error for a summary that cannot be opened: without it the conversation would begin in its middle. */
export function unopened(path: string): GatewayError {
  return invalidRequest(
    `${path}.encrypted_content`,
    `'${path}.encrypted_content' cannot be opened: it was altered, or a gateway with another key has written it.`
  )
}

/** Introduces a summary to the model that goes on with the conversation. */
const INTRODUCTION = 'The earlier part of this conversation was replaced by the following summary of it.\n\n'

/** The text of the message that stands for a summary. */
export function introduceSummary(summary: string): string {
  return INTRODUCTION + summary
}

const INSTRUCTION =
  'Summarize the conversation so far. Another assistant will go on with it and will see nothing of it but your summary. Keep what it needs: ' +
  'the goals and wishes of the user in their own words, decisions and their reasons, what was done and with which results, the exact names ' +
  'of files, functions, commands, addresses and values that are still needed, what is unfinished, and the next steps. Leave out what no ' +
  'longer matters. Write in the language of the conversation. Respond with the summary alone and call no tools.'

/**
 * Turns a request into the one for a summary. The conversation stays as it is, and so do the declared tools, because some providers refuse
 * calls in the history without their declarations; no tool may be called, and the response is free text.
 */
export function askForSummary(request: NormalizedRequest): void {
  const question: NormalizedMessage = { role: 'user', content: [{ type: 'text', text: INSTRUCTION }], form: 'text' }
  request.messages = [...request.messages, question]
  delete request.output
  delete request.parallelToolCalls
  delete request.toolChoice
  delete request.sampling.stop
  if (request.tools.length > 0) request.toolChoice = { type: 'none' }
}
