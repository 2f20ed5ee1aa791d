// Which limits hold for each key: its own and those of its group. A change of the keys file keeps what is used of limits that stay.
import { LIMIT_MEMBERS } from '../../shared/keys/key-limits.ts'
import type { KeySet, Limits } from '../../shared/keys/key-set.ts'
import { AMOUNT_NAMES } from '../../shared/limits/amounts.ts'
import type { LimitHolder } from '../../shared/limits/leases.ts'
import type { Budget, BudgetOptions } from './budget.ts'
import type { CountedLimit, CountedLimitName, CountedLimitOptions } from './counted-limit.ts'

/** The limits of a key since one change of the keys file. */
export interface KeyLimits {
  readonly key: string
  /** Questions of one domain may depend on each other: keys of one group have the same. */
  readonly domain: string
  /** When these limits began to hold, by the clock of grants. */
  readonly sinceMs: number
  readonly counted: readonly CountedLimit[]
  readonly budgets: readonly Budget[]
}

/** Where limits are counted: on this host, or in a place that hosts share. */
export interface LimitFactory {
  createLimit(options: CountedLimitOptions): CountedLimit
  createBudget(options: BudgetOptions): Budget
}

/** How many earlier sets of limits of one key are kept, for requests that were admitted under them. */
const HISTORY_MAX = 8
/** Keys with such sets. */
const HISTORY_KEYS_MAX = 10_000

export interface KeyLimitsTable {
  /** The limits that hold now; undefined for a key without limits. */
  find(key: string): KeyLimits | undefined
  /** Those that held when something was granted. */
  findAt(key: string, grantedAtMs: number): KeyLimits | undefined
  list(): Iterable<KeyLimits>
  replace(keys: KeySet | undefined, nowMs: number): void
  /** The current limits, and the earlier ones that running requests may still hold a part of. */
  counted(): Iterable<CountedLimit>
}

const COUNTED_NAMES = Object.keys(AMOUNT_NAMES) as CountedLimitName[]

export function createKeyLimits(
  factory: LimitFactory,
  { keys, nowMs }: { keys: KeySet | undefined; nowMs: number }
): KeyLimitsTable {
  let counted = new Map<string, CountedLimit>()
  let budgets = new Map<string, Budget>()
  let current = new Map<string, KeyLimits>()
  /** The earlier limits of keys, the oldest first. */
  const history = new Map<string, KeyLimits[]>()

  function replace(next: KeySet | undefined, changedAtMs: number): void {
    const nextCounted = new Map<string, CountedLimit>()
    const nextBudgets = new Map<string, Budget>()

    function readHolder(holder: LimitHolder, name: string, limits: Limits) {
      const own: { counted: CountedLimit[]; budgets: Budget[] } = { counted: [], budgets: [] }
      for (const limitName of COUNTED_NAMES) {
        const limit = limits[LIMIT_MEMBERS[limitName]]
        if (limit === undefined) continue
        const id = `${holder}:${name}:${limitName}`
        const one = counted.get(id) ?? factory.createLimit({ id, name: limitName, holder, limit })
        one.limit = limit
        nextCounted.set(id, one)
        own.counted.push(one)
      }
      if (limits.budget !== undefined) {
        const id = `${holder}:${name}:budget`
        const budget = budgets.get(id) ?? factory.createBudget({ id, holder, terms: limits.budget })
        budget.change(limits.budget)
        nextBudgets.set(id, budget)
        own.budgets.push(budget)
      }
      return own
    }

    const groups = new Map(next?.groups.map(({ name, limits }) => [name, readHolder('group', name, limits)]))
    const nextCurrent = new Map<string, KeyLimits>()
    for (const { name, group, limits } of next?.keys ?? []) {
      const own = readHolder('key', name, limits)
      const shared = group === undefined ? undefined : groups.get(group)
      const keyLimits: KeyLimits = {
        key: name,
        domain: group === undefined ? `key:${name}` : `group:${group}`,
        sinceMs: changedAtMs,
        counted: [...own.counted, ...(shared?.counted ?? [])],
        budgets: [...own.budgets, ...(shared?.budgets ?? [])]
      }
      const earlier = current.get(name)
      if (earlier !== undefined && areSame(earlier, keyLimits)) nextCurrent.set(name, earlier)
      else if (keyLimits.counted.length + keyLimits.budgets.length > 0) nextCurrent.set(name, keyLimits)
    }
    for (const [key, earlier] of current) {
      if (nextCurrent.get(key) !== earlier) remember(earlier)
    }
    counted = nextCounted
    budgets = nextBudgets
    current = nextCurrent
  }

  function remember(earlier: KeyLimits): void {
    const list = [...(history.get(earlier.key) ?? []), earlier].slice(-HISTORY_MAX)
    history.delete(earlier.key)
    history.set(earlier.key, list)
    const [oldest] = history.keys()
    if (history.size > HISTORY_KEYS_MAX && oldest !== undefined) history.delete(oldest)
  }

  replace(keys, nowMs)
  return {
    find: key => current.get(key),
    findAt(key, grantedAtMs) {
      const now = current.get(key)
      if (now !== undefined && now.sinceMs <= grantedAtMs) return now
      return history.get(key)?.findLast(({ sinceMs }) => sinceMs <= grantedAtMs) ?? now
    },
    list: () => current.values(),
    replace,
    *counted() {
      yield* counted.values()
      for (const list of history.values()) for (const earlier of list) yield* earlier.counted
    }
  }
}

/** Whether the same limits count what a key uses. */
function areSame(left: KeyLimits, right: KeyLimits): boolean {
  return (
    left.domain === right.domain &&
    hasSameMembers(left.counted, right.counted) &&
    hasSameMembers(left.budgets, right.budgets)
  )
}

function hasSameMembers(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((member, index) => member === right[index])
}
