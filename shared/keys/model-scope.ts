// Which models a key may use (keys.md 1 and 2). Plain data, so that it can cross to a thread.
import type { GatewayKey, KeySet } from './key-set.ts'

/** Lists of patterns: a model must match one pattern of every list. Undefined allows every model. */
export type ModelScope = ReadonlyArray<readonly string[]> | undefined

/** The scope of a key: its own models and those of its group. */
export function readModelScope(
  key: Pick<GatewayKey, 'group' | 'models'>,
  { groups }: Pick<KeySet, 'groups'>
): ModelScope {
  const group = key.group === undefined ? undefined : groups.find(({ name }) => name === key.group)
  const lists = [key.models, group?.models].filter(list => list !== undefined)
  return lists.length === 0 ? undefined : lists
}

/** Whether a model is in the scope, by the name under which the gateway lists it. */
export function isInScope(scope: ModelScope, model: string): boolean {
  return scope === undefined || scope.every(patterns => patterns.some(pattern => matches(pattern, model)))
}

/** A pattern is a name, or the beginning of names before a trailing `*`. */
function matches(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : pattern === model
}
