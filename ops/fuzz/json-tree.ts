// JSON documents that are changed structurally, with the texts that `JSON.stringify` cannot write: numbers out of range, members twice.

import type { Random } from './random.ts'

/** A piece of JSON text that stands in a document as it is. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A JSON value; any value in it may be a `RawJson`. */
export type Tree = unknown
type Holder = Record<string | number, Tree>

/** Named values of other documents, which a mutation puts where they do not belong. */
export interface Donors {
  names: readonly string[]
  values: ReadonlyMap<string, readonly Tree[]>
}

/** Writes a document as JSON text. */
export function writeTree(tree: Tree): string {
  if (tree instanceof RawJson) return tree.text
  if (Array.isArray(tree)) return `[${tree.map(writeTree).join(',')}]`
  if (typeof tree !== 'object' || tree === null) return JSON.stringify(tree) ?? 'null'
  return `{${Object.entries(tree)
    .map(([name, value]) => `${JSON.stringify(name)}:${writeTree(value)}`)
    .join(',')}}`
}

/** A copy that shares nothing with the original but its immutable texts. */
export function copyTree(tree: Tree): Tree {
  if (tree instanceof RawJson) return tree
  if (Array.isArray(tree)) return tree.map(copyTree)
  if (typeof tree !== 'object' || tree === null) return tree
  const copy: Holder = {}
  for (const [name, value] of Object.entries(tree)) setMember(copy, name, copyTree(value))
  return copy
}

/** Collects the members of documents by name; `names` adds names without a value of their own. */
export function collectDonors(documents: readonly Tree[], names: readonly string[]): Donors {
  const values = new Map<string, Tree[]>()
  const visit = (tree: Tree): void => {
    if (typeof tree !== 'object' || tree === null) return
    for (const [name, value] of Object.entries(tree)) {
      if (!Array.isArray(tree)) {
        const known = values.get(name)
        if (known === undefined) values.set(name, [value])
        else if (known.length < DONORS_OF_NAME_MAX) known.push(value)
      }
      visit(value)
    }
  }
  documents.forEach(visit)
  return { names: [...new Set([...values.keys(), ...names])], values }
}

const DONORS_OF_NAME_MAX = 50

/** Changes one value of a document in place. A document that is no object or array stays as it is. */
export function mutateTree(root: Tree, random: Random, donors: Donors): void {
  const place = findPlace(root, random)
  if (place === undefined) return
  const { holder, key } = place
  const value = holder[key]
  switch (random.below(14)) {
    case 0:
    case 1:
      setMember(holder, key, oddValue(random))
      break
    case 2:
      if (Array.isArray(holder)) holder.splice(Number(key), 1)
      else delete holder[key]
      break
    case 3:
      setMember(holder, key, donate(random, donors).value)
      break
    case 4:
      repeat(holder, key, random)
      break
    case 5:
      swap(holder, key, random)
      break
    case 6:
    case 7:
      addMember(value, holder, donate(random, donors))
      break
    case 8:
      addMember(value, holder, { name: random.pick(ODD_NAMES), value: oddValue(random) })
      break
    case 9:
      setMember(holder, key, writeTwice(value, random))
      break
    case 10:
      setMember(holder, key, random.chance(0.5) ? [value] : { [random.pick(ODD_NAMES)]: value })
      break
    case 11:
      setMember(holder, key, unwrap(value, random))
      break
    default:
      setMember(holder, key, changeScalar(value, random))
  }
}

/** Smaller variants of a document, the smallest first. */
export function* listSmallerTrees(tree: Tree): Generator<Tree> {
  if (typeof tree === 'string') {
    if (tree.length > 1) yield* [tree.slice(0, tree.length >> 1), tree.slice(tree.length >> 1)]
    return
  }
  if (tree instanceof RawJson || typeof tree !== 'object' || tree === null) return
  const isList = Array.isArray(tree)
  const entries = Object.entries(tree)
  const build = (kept: ReadonlyArray<readonly [string, Tree]>): Tree => {
    if (isList) return kept.map(([, value]) => value)
    const built: Holder = {}
    for (const [name, value] of kept) setMember(built, name, value)
    return built
  }
  for (let size = entries.length; size >= 1; size >>= 1) {
    for (let start = 0; start < entries.length; start += size) {
      yield build([...entries.slice(0, start), ...entries.slice(start + size)])
    }
  }
  for (const [index, [name, value]] of entries.entries()) {
    for (const smaller of listSmallerTrees(value)) yield build(entries.with(index, [name, smaller]))
  }
}

/** Sets a member of its own, also when it is named `__proto__`. */
function setMember(holder: object, name: string | number, value: Tree): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true })
}

/** Goes down from the root by random members and stops anywhere. */
function findPlace(root: Tree, random: Random): { holder: Holder; key: string } | undefined {
  let holder = root
  for (;;) {
    if (typeof holder !== 'object' || holder === null || holder instanceof RawJson) return undefined
    const keys = Object.keys(holder)
    if (keys.length === 0) return undefined
    const key = random.pick(keys)
    const inner = (holder as Holder)[key]
    const isLeaf =
      typeof inner !== 'object' || inner === null || inner instanceof RawJson || Object.keys(inner).length === 0
    if (isLeaf || random.chance(0.3)) return { holder: holder as Holder, key }
    holder = inner
  }
}

const ODD_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  ' ',
  'type',
  'x-unknown',
  'a.b[0]',
  '\ud800',
  'n'.repeat(3000)
]

const ODD_VALUES: readonly Tree[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  new RawJson('-0'),
  new RawJson('1e400'),
  new RawJson('-1e400'),
  new RawJson('1E-400'),
  new RawJson('123456789012345678901234567890'),
  '',
  ' ',
  'x',
  '\u0000',
  '\ud800',
  'a\udc00b',
  '\ud83d\ude00',
  '\u2028\u2029\ufeff',
  '{"a":"\ud800"}',
  '{"a":1e400}',
  '[1,2]',
  '{"a":1}',
  '__proto__',
  'constructor',
  'auto',
  'none',
  'required',
  'any',
  'call_1',
  'data:image/png;base64,',
  'data:image/png;base64,aGk=',
  'data:;base64,####',
  'https://[::1]/a.png',
  'file:///etc/passwd',
  '../../x',
  '%00%ff',
  'x'.repeat(70_000),
  [],
  {},
  [null],
  [[]],
  [{}],
  ['x', 1, null],
  { type: null },
  { type: 'text' },
  { type: 'function' },
  { type: 'object', properties: { a: { $ref: '#' } } },
  new RawJson('{"a":1,"a":"b"}'),
  new RawJson('{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}'),
  new RawJson(`${'['.repeat(60)}${']'.repeat(60)}`),
  new RawJson(`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`),
  new RawJson(`${'['.repeat(30_000)}${']'.repeat(30_000)}`)
]

function oddValue(random: Random): Tree {
  return copyTree(random.pick(ODD_VALUES))
}

function donate(random: Random, { names, values }: Donors): { name: string; value: Tree } {
  const name = random.pick(names)
  const known = values.get(name)
  return { name, value: known === undefined || random.chance(0.3) ? oddValue(random) : copyTree(random.pick(known)) }
}

/** Repeats an item of a list beside it; a member is repeated under another name. */
function repeat(holder: Holder, key: string, random: Random): void {
  const value = holder[key]
  if (!Array.isArray(holder)) {
    setMember(holder, `${key}_`, copyTree(value))
    return
  }
  const count = random.chance(0.05) ? 300 : 1 + random.below(4)
  const copies = Array.from({ length: count }, () => copyTree(value))
  holder.splice(Number(key), 0, ...copies)
}

/** Exchanges two values of one list or object. */
function swap(holder: Holder, key: string, random: Random): void {
  const other = random.pick(Object.keys(holder))
  const value = holder[key]
  setMember(holder, key, holder[other])
  setMember(holder, other, value)
}

/** Adds a member to the value, or beside it when it is no object. */
function addMember(value: Tree, holder: Holder, { name, value: added }: { name: string; value: Tree }): void {
  const target = typeof value === 'object' && value !== null && !(value instanceof RawJson) ? value : holder
  if (Array.isArray(target)) target.push(added)
  else setMember(target, name, added)
}

/** An object with one of its members twice. */
function writeTwice(value: Tree, random: Random): Tree {
  if (typeof value !== 'object' || value === null || value instanceof RawJson || Array.isArray(value)) return value
  const names = Object.keys(value)
  if (names.length === 0) return value
  const text = writeTree(value).slice(0, -1)
  return new RawJson(`${text},${JSON.stringify(random.pick(names))}:${writeTree(oddValue(random))}}`)
}

function unwrap(value: Tree, random: Random): Tree {
  if (typeof value !== 'object' || value === null || value instanceof RawJson) return value
  const inner = Object.values(value)
  return inner.length === 0 ? value : random.pick(inner)
}

/** Prompts that make the embedded upstream respond in one of its other ways. */
const DIRECTIVES = [
  '[[reason:because]] [[text:done]]',
  '[[len:9]]',
  '[[tool:f {"a":"b"}]]',
  '[[tool:f {}]] [[undeclared]] [[parallel]] [[tool:g {}]]',
  '[[stringargs]] [[tool:f {"a":1}]]',
  '[[chunks:a|\ud83d\ude00|b]]',
  '[[finish:length]]',
  '[[finish:blacklist]]',
  '[[nousage]]',
  '[[builtin:web_search]] search the web',
  '[[builtin:image_generate]] draw',
  '[[badframe]]',
  '[[errframe]]',
  '[[noeof]]',
  '[[nodone]]',
  '[[die:1]]',
  '[[error:429 retry=1]]',
  '[[error:500]]',
  '[[badjson]]',
  '[[gzip]]',
  '[[split:1]] [[text:\u00e4\u00f6\u00fc]]',
  '[[extra]]'
]

function changeScalar(value: Tree, random: Random): Tree {
  if (typeof value === 'number') return random.pick([-value, value * 1e6, value + 0.5, String(value)])
  if (typeof value === 'boolean') return random.pick<Tree>([!value, String(value), Number(value)])
  if (typeof value !== 'string') return oddValue(random)
  const middle = random.below(value.length + 1)
  return random.pick([
    random.pick(DIRECTIVES),
    value.slice(0, middle),
    `${value.slice(0, middle)}\ud800${value.slice(middle)}`,
    `${value.slice(0, middle)}\u0000\n"\\${value.slice(middle)}`,
    value.toUpperCase(),
    ` ${value} `,
    value.repeat(20).slice(0, 200_000)
  ])
}
