// What all machine documents have in common: bounded texts, revisions, and no member that could
// carry content or credentials (bridge.md 5).
import { z } from 'zod'
import type { JsonValue } from '../json.ts'

/** Member names that no machine document may have at any depth, so that no builder can leak content or credentials. */
const FORBIDDEN_MEMBERS = new Set([
  'api_key',
  'authorization',
  'content',
  'credential',
  'credential_value',
  'prompt',
  'request_body',
  'response_body',
  'secret',
  'tool_arguments'
])

/** Longest text of a machine document, in UTF-16 units. */
export const MACHINE_TEXT_MAX = 512

export const machineText = z.string().min(1).max(MACHINE_TEXT_MAX)
export const revision = z.string().regex(/^sha256:[0-9a-f]{64}$/)

/** Returns the document. Throws when it breaks its schema or has a forbidden member: an internal error, no client can cause it. */
export function validated<Document>(schema: z.ZodType<Document>, document: JsonValue): Document {
  assertNoForbiddenMembers(document)
  return schema.parse(document)
}

/** Throws when a member of a machine document, at any depth, has a name reserved for content or credentials. */
export function assertNoForbiddenMembers(value: JsonValue): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (FORBIDDEN_MEMBERS.has(name)) throw new Error(`A machine document must not have a member named ${name}.`)
    assertNoForbiddenMembers(member)
  }
}
