// Invalid documents: a valid one in which one to three values are replaced, removed, repeated or extended.

import * as fc from '../../support/properties.ts'

type Step = string | number
type Holder = Record<Step, unknown>

/** The paths of all values of a document. */
export function listPaths(value: unknown, path: Step[] = []): Step[][] {
  const own = path.length === 0 ? [] : [path]
  if (typeof value !== 'object' || value === null) return own
  const steps: Step[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  return [...own, ...steps.flatMap(step => listPaths((value as Holder)[step], [...path, step]))]
}

export type Change = 'replace' | 'remove' | 'repeat' | 'add'

/** A copy of a document with the value at a path changed. */
export function change(document: object, path: Step[], how: Change, value: unknown): object {
  const copy = structuredClone(document)
  let holder: unknown = copy
  for (const step of path.slice(0, -1)) holder = (holder as Holder | null | undefined)?.[step]
  const last = path.at(-1)
  if (typeof holder !== 'object' || holder === null || last === undefined) return copy
  const target = holder as Holder
  const inner = target[last]
  if (how === 'remove' && Array.isArray(holder)) holder.splice(Number(last), 1)
  else if (how === 'remove') delete target[last]
  else if (how === 'repeat' && Array.isArray(holder)) holder.push(inner)
  else if (how === 'add' && typeof inner === 'object' && inner !== null) (inner as Holder).added = value
  else target[last] = value
  return copy
}

/** Values of wrong types and sizes, as a careless or hostile client sends them. */
const oddValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    '',
    ' ',
    'x',
    [],
    {},
    [null],
    [[]],
    [{}],
    { type: null },
    '\ud800'
  ),
  fc.constantFrom<unknown>(
    'data:image/png;base64,',
    'none',
    'auto',
    { type: 'function' },
    { type: 'text' },
    '__proto__'
  ),
  fc.jsonValue()
)

/** Invalid variants of a valid document. */
export function oddVersionsOf(document: object): fc.Arbitrary<object> {
  const changes = fc.array(
    fc.tuple(
      fc.constantFrom(...listPaths(document)),
      fc.constantFrom<Change>('replace', 'replace', 'remove', 'repeat', 'add'),
      oddValue
    ),
    { minLength: 1, maxLength: 3 }
  )
  return changes.map(steps =>
    steps.reduce<object>((changed, [path, how, value]) => change(changed, path, how, value), document)
  )
}
