// A seeded source of choices: the same seed makes the same case on every machine.

export interface Random {
  /** At least 0, less than 1. */
  next(): number
  /** An integer from 0 to `count - 1`. */
  below(count: number): number
  /** True in this share of the calls. */
  chance(share: number): boolean
  /** Throws RangeError for an empty list. */
  pick<Value>(values: readonly Value[]): Value
}

/** A generator (mulberry32) whose state is 32 bits: enough for a case, which makes some dozens of choices. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  return {
    next,
    below,
    chance: share => next() < share,
    pick(values) {
      if (values.length === 0) throw new RangeError('There is nothing to pick from.')
      return values[below(values.length)] as (typeof values)[number]
    }
  }
}

/** The seed of one case of a run, so that a case can be repeated without those before it. */
export function mixSeeds(seed: number, number: number): number {
  return Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35)
}
