// Reads the queries of the operations on stored things. A wrong value and an unknown name are refused by name, as the public service does
// (memory.md 4).

import type { Page } from '../../shared/memory/store.ts'
import { invalidRequest } from '../normalized/index.ts'

/** Values of a query string, as the router parsed them. */
type QueryValues = Readonly<Record<string, string | string[] | undefined>>

/** Names that every operation takes: keys of the gateway, and the version that Azure's clients add to each address. */
const COMMON_NAMES: ReadonlySet<string> = new Set(['key', 'x-api-key', 'api-version'])

/** SDKs write a list as `include[]`, `include[0]` or repeated. */
const LIST_SUFFIX = /\[\d*\]$/

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100

/** Raises `invalid_request` for a parameter that the operation does not have. `include` never changes what is shown: nothing is left out. */
export function checkQuery(query: QueryValues, names: readonly string[] = []): void {
  for (const name of Object.keys(query)) {
    const plain = name.replace(LIST_SUFFIX, '')
    if (COMMON_NAMES.has(name) || names.includes(plain)) continue
    throw invalidRequest(plain, `Unknown parameter: '${plain}'.`)
  }
}

/** Reads which page of a list is wanted. Raises `invalid_request` with the name of the wrong parameter. */
export function readPage(query: QueryValues): Page {
  checkQuery(query, ['after', 'limit', 'order', 'include'])
  const after = readLast(query, 'after')
  if (after === '') throw invalidRequest('after', `'after' must be the id of an item of the list.`)
  return {
    after,
    limit: readWhole(query, 'limit', { min: 1, max: LIMIT_MAX }) ?? LIMIT_DEFAULT,
    order: readOrder(query)
  }
}

/** What a retrieval of a response asks for. */
export interface Retrieval {
  readonly isStream: boolean
  /** Events with a greater number only; -1 for all. */
  readonly startingAfter: number
}

/** Reads how a response is retrieved. Raises `invalid_request` with the name of the wrong parameter. */
export function readRetrieval(query: QueryValues): Retrieval {
  checkQuery(query, ['include', 'include_obfuscation', 'starting_after', 'stream'])
  readBoolean(query, 'include_obfuscation')
  return {
    isStream: readBoolean(query, 'stream') ?? false,
    startingAfter: readWhole(query, 'starting_after', { min: 0 }) ?? -1
  }
}

/** Of a repeated parameter the last value counts. */
function readLast(query: QueryValues, name: string): string | undefined {
  const value = query[name]
  return Array.isArray(value) ? value.at(-1) : value
}

function readOrder(query: QueryValues): Page['order'] {
  const order = readLast(query, 'order') ?? 'desc'
  if (order === 'asc' || order === 'desc') return order
  throw invalidRequest('order', `'order' must be 'asc' or 'desc'.`)
}

function readBoolean(query: QueryValues, name: string): boolean | undefined {
  const value = readLast(query, name)
  if (value === undefined) return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  throw invalidRequest(name, `'${name}' must be 'true' or 'false'.`)
}

function readWhole(
  query: QueryValues,
  name: string,
  { min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }
): number | undefined {
  const text = readLast(query, name)
  if (text === undefined) return undefined
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  const bounds = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  throw invalidRequest(name, `'${name}' must be a whole number ${bounds}.`)
}
