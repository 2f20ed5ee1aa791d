// Revisions: short names for exact content, equal in every process and on every machine
// (bridge.md 4.9, 5.5, 6.2).
import { createHash } from 'node:crypto'
import { type CanonicalOptions, canonicalJson, type JsonValue } from './json.ts'

/** `sha256:` and the lower-case hexadecimal digest of the canonical JSON text. */
export function revisionOf(value: JsonValue, options: CanonicalOptions): string {
  return `sha256:${createHash('sha256').update(canonicalJson(value, options), 'utf8').digest('hex')}`
}
