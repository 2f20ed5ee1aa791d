// Ids of tool calls on wires that accept only short ids of some characters (decisions.md 39).

import { createHash } from 'node:crypto'

const ACCEPTED_ID = /^[a-zA-Z0-9_-]{1,40}$/

/**
 * The id in the form that every service accepts: unchanged where it has it, else made from a hash, so that a call and its result get the
 * same id in every request and the beginning of the prompt stays the same for the provider's cache.
 */
export function toShortCallId(id: string): string {
  return ACCEPTED_ID.test(id) ? id : `call_${createHash('sha256').update(id).digest('base64url').slice(0, 32)}`
}
