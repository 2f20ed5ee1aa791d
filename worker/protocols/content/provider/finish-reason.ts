// The finish reasons of the content wire.

import type { ContentFilter, FinishReason } from '../../../normalized/index.ts'

/** What a word says of the response: a reason, or that the model failed to write it. */
export type WireEnd =
  | { type: 'reason'; reason: FinishReason; filter?: ContentFilter; isKnown: boolean }
  /** The model wrote a call or a response that the service could not read: what there is before it can be used. */
  | { type: 'failed' }

const filtered: WireEnd = { type: 'reason', reason: 'content-filter', isKnown: true }
const ended: WireEnd = { type: 'reason', reason: 'stop', isKnown: true }
const failed: WireEnd = { type: 'failed' }

const ends: Readonly<Record<string, WireEnd>> = {
  STOP: ended,
  MAX_TOKENS: { type: 'reason', reason: 'length', isKnown: true },
  SAFETY: filtered,
  RECITATION: filtered,
  LANGUAGE: filtered,
  BLOCKLIST: { type: 'reason', reason: 'content-filter', filter: 'blocklist', isKnown: true },
  PROHIBITED_CONTENT: filtered,
  SPII: filtered,
  // Words of the feedback to a prompt, which some services give as a finish reason too (decisions.md 83).
  MODEL_ARMOR: filtered,
  JAILBREAK: filtered,
  IMAGE_SAFETY: filtered,
  IMAGE_PROHIBITED_CONTENT: filtered,
  IMAGE_RECITATION: filtered,
  IMAGE_OTHER: ended,
  NO_IMAGE: ended,
  OTHER: ended,
  MALFORMED_FUNCTION_CALL: failed,
  MALFORMED_RESPONSE: failed,
  MISSING_THOUGHT_SIGNATURE: failed,
  TOO_MANY_TOOL_CALLS: failed,
  UNEXPECTED_TOOL_CALL: failed
}

const unknown: WireEnd = { type: 'reason', reason: 'stop', isKnown: false }

/**
 * Some services send the word of an enumeration without a value until the end
 * (field-lessons.md A10).
 */
const NO_REASON = 'FINISH_REASON_UNSPECIFIED'

/** True for a value that says nothing about the end. */
export function isNoReason(value: unknown): boolean {
  return value === undefined || value === null || value === '' || value === NO_REASON
}

/** What a finish reason says; null stands for a response without one, which counts as ended. */
export function readEnd(word: string | null): WireEnd {
  if (word === null) return ended
  return Object.hasOwn(ends, word) ? (ends[word] as WireEnd) : unknown
}

/** What a refused prompt says: its response has no content. */
export function readBlock(word: string): WireEnd {
  return word === 'BLOCKLIST' ? readEnd(word) : filtered
}
