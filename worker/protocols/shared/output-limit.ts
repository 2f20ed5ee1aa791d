// The output limit of a request on the client's own wire (decisions.md 72).

import type { JsonValue } from '../../normalized/index.ts'

/** The limit of the alias where the client's is above it; undefined where nothing has to change. */
export function boundLimit(limit: JsonValue | undefined, outputTokensMax: number | undefined): number | undefined {
  const isAbove = typeof limit === 'number' && outputTokensMax !== undefined && limit > outputTokensMax
  return isAbove ? outputTokensMax : undefined
}
