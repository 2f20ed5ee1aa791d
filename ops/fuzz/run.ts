// Runs cases of a kind, some at a time, and finds the smallest form of each that breaks a rule.

import { createRandom, mixSeeds } from './random.ts'
import type { FuzzTarget } from './target.ts'
import type { FuzzKind } from './types.ts'

export interface FuzzLimits {
  seed: number
  /** Number of the first case. */
  first: number
  /** How many cases run. */
  cases: number
  /** Time in milliseconds after which no further case begins. */
  durationMs: number
}

export interface Finding {
  kind: string
  seed: number
  /** Number of the case. */
  number: number
  rule: string
  /** Whether the case alone breaks the rule; otherwise it did so beside others only. */
  isRepeatable: boolean
  summary: object
  bytes: Buffer
}

/** How many cases run between two looks at the gateway's health. */
const WINDOW = 200
const SHRINK_RUNS_MAX = 400
const SHRINK_MS_MAX = 60_000

/** Runs the cases of a kind. `onFinding` gets the first finding of each rule and decides whether the run goes on. Resolves with how many cases ran. */
export async function runKind<Case>(
  kind: FuzzKind<Case>,
  target: FuzzTarget,
  limits: FuzzLimits,
  onFinding: (finding: Finding) => boolean
): Promise<number> {
  const { seed, first, cases, durationMs } = limits
  const deadline = Date.now() + durationMs
  const end = first + cases
  const seen = new Set<string>()
  const create = (number: number): Case => kind.create(createRandom(mixSeeds(seed, number)))
  for (let start = first; start < end; start += WINDOW) {
    if (Date.now() >= deadline) return start - first
    const numbers = Array.from({ length: Math.min(WINDOW, end - start) }, (_, index) => start + index)
    const broken = new Map<number, string>()
    await runConcurrently(numbers, kind.concurrency, async number => {
      const rule = await kind.run(create(number), target)
      if (rule !== undefined) broken.set(number, rule)
    })
    const fault = await target.findFault()
    // A broken rule of a case explains the fault: it is repeated alone and looks for the fault itself.
    if (fault !== undefined && broken.size === 0) {
      const culprit = await findCulprit(numbers, create, kind, target)
      broken.set(culprit ?? start, fault)
    }
    for (const [number, rule] of broken) {
      const finding = await explain({ kind, target, fuzzed: create(number), rule, seen })
      if (finding === undefined) continue
      if (!onFinding({ ...finding, kind: kind.name, seed, number })) return number - first + 1
    }
  }
  return cases
}

async function runConcurrently<Item>(
  items: readonly Item[],
  concurrency: number,
  run: (item: Item) => Promise<void>
): Promise<void> {
  let next = 0
  const runSome = async (): Promise<void> => {
    while (next < items.length) await run(items[next++] as Item)
  }
  await Promise.all(Array.from({ length: concurrency }, runSome))
}

/** Runs the cases of a window one after the other, to find the one that harms the gateway. */
async function findCulprit<Case>(
  numbers: readonly number[],
  create: (number: number) => Case,
  kind: FuzzKind<Case>,
  target: FuzzTarget
): Promise<number | undefined> {
  for (const number of numbers) {
    await kind.run(create(number), target)
    if ((await target.findFault()) !== undefined) return number
  }
  return undefined
}

interface Broken<Case> {
  kind: FuzzKind<Case>
  target: FuzzTarget
  fuzzed: Case
  rule: string
  /** Names of the rules that were found broken before; it gets the name of this one. */
  seen: Set<string>
}

/** Repeats a case alone and makes it smaller while it breaks the same rule. Undefined when the rule was seen before. */
async function explain<Case>({ kind, target, fuzzed, rule, seen }: Broken<Case>) {
  const check = async (candidate: Case): Promise<string | undefined> => {
    const broken = await kind.run(candidate, target)
    const fault = await target.findFault()
    return broken === undefined || fault === undefined ? (broken ?? fault) : `${broken}\n${fault}`
  }
  const alone = await check(fuzzed)
  const name = nameRule(alone ?? rule)
  if (seen.has(name)) return undefined
  seen.add(name)
  if (alone === undefined) return { rule, isRepeatable: false, ...kind.describe(fuzzed) }
  const smallest = await shrink(kind, fuzzed, async candidate => {
    const broken = await check(candidate)
    return broken !== undefined && nameRule(broken) === name
  })
  const found = (await check(smallest)) ?? alone
  return { rule: found, isRepeatable: true, ...kind.describe(smallest) }
}

async function shrink<Case>(
  kind: FuzzKind<Case>,
  fuzzed: Case,
  isBroken: (candidate: Case) => Promise<boolean>
): Promise<Case> {
  const deadline = Date.now() + SHRINK_MS_MAX
  let smallest = fuzzed
  let runs = 0
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false
    for (const candidate of kind.listSmaller(smallest)) {
      if (++runs > SHRINK_RUNS_MAX || Date.now() > deadline) return smallest
      if (!(await isBroken(candidate))) continue
      smallest = candidate
      isSmaller = true
      break
    }
  }
  return smallest
}

/** What findings of one cause have in common: the rule without numbers, ids and texts of the case. */
function nameRule(rule: string): string {
  return rule
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/\d+/g, 'N')
    .slice(0, 160)
}
