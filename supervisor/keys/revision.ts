// The revision of a keys file (keys.md 1).
import type { JsonObject } from '../../shared/json.ts'
import { compareCodePoints } from '../../shared/json.ts'
import { revisionOf } from '../../shared/revision.ts'
import type { KeysContent } from './schema.ts'

/**
 * Hash of the file without secrets and digests, equal on every host that reads the same keys: it changes with a limit and not with a
 * rotation. Neither the order of keys nor the notation of the file counts.
 */
export function computeKeysRevision({
  schema_version,
  currency,
  groups,
  keys
}: KeysContent & { readonly currency: string }): string {
  const written = [...keys]
    .sort((left, right) => compareCodePoints(left.name, right.name))
    .map(({ secrets: _, expires_at, ...key }) => ({
      ...key,
      ...(expires_at !== undefined && { expires_at: new Date(expires_at).toISOString() })
    }))
  const content: JsonObject = { schema_version, currency, groups, keys: written }
  return revisionOf(content, { keepNulls: false })
}
