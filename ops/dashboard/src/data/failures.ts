// The failures of a range of time by their code: how many, since when, and whom they affect.
import type { SumsRow } from './api.ts'
import { readPart } from './figures.ts'

export interface FailureGroup {
  readonly code: string
  readonly requests: number
  /** Starts of the first and of the last part with such a failure, in seconds. */
  readonly first: number
  readonly last: number
  /** Failures of each part of the range. */
  readonly values: readonly number[]
  /** The most affected first. */
  readonly keys: readonly Affected[]
  readonly models: readonly Affected[]
}

export interface Affected {
  readonly name: string
  readonly requests: number
}

/** The most frequent code first. */
export function describeFailures(
  byTime: readonly SumsRow[],
  byWhom: readonly SumsRow[],
  parts: readonly number[]
): FailureGroup[] {
  const whomOf = Map.groupBy(byWhom, row => row.error_code ?? '')
  const groups = [...Map.groupBy(byTime, row => row.error_code ?? '')].map(([code, rows]) => {
    const at = new Map(rows.map(row => [readPart(row), row.requests]))
    const whom = whomOf.get(code) ?? []
    return {
      code,
      requests: rows.reduce((sum, { requests }) => sum + requests, 0),
      first: Math.min(...at.keys()),
      last: Math.max(...at.keys()),
      values: parts.map(part => at.get(part) ?? 0),
      keys: addByName(whom, 'api_key_name'),
      models: addByName(whom, 'model')
    }
  })
  return groups.sort((one, other) => other.requests - one.requests)
}

function addByName(rows: readonly SumsRow[], name: 'api_key_name' | 'model'): Affected[] {
  const sums = new Map<string, number>()
  for (const row of rows) {
    const value = row[name]
    if (value === null || value === undefined || value === '') continue
    sums.set(value, (sums.get(value) ?? 0) + row.requests)
  }
  return [...sums].map(([name, requests]) => ({ name, requests })).sort((one, other) => other.requests - one.requests)
}

const RECENT_PARTS = 3
const RECENT_MIN = 3

/** Whether failures go on: several were in the last parts of the range. */
export function goesOn({ values }: FailureGroup): boolean {
  return values.slice(-RECENT_PARTS).reduce((sum, value) => sum + value, 0) >= RECENT_MIN
}
