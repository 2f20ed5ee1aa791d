// fast-check for the tests, with the number of runs that the set of tests asks for: a twentieth in `npm test`, all in `npm run test:long`
// and with `FULL_RUNS=1`. Import it as `import * as fc from '…/support/properties.ts'`; a rule of `.biome.json` forbids the package itself.

import process from 'node:process'
import {
  type Arbitrary,
  assert as assertFully,
  type IAsyncProperty,
  type IProperty,
  integer,
  oneof,
  type Parameters
} from 'fast-check'

export * from 'fast-check'

/** Of fast-check itself. */
const DEFAULT_RUNS = 100
const RUNS_MIN = 25
const DIVISOR = 20

/** Whether properties make all of their runs. Only then is a count of the cases that their values hit no matter of chance. */
export const areRunsFull = process.env.FULL_RUNS === '1'

/** How many of a property's runs to make. */
export function reduceRuns(runs = DEFAULT_RUNS, isFull = areRunsFull): number {
  return isFull ? runs : Math.min(runs, Math.max(RUNS_MIN, Math.ceil(runs / DIVISOR)))
}

/**
 * Any character, as the unit of a text. fast-check's own unit `binary` means the same, and takes a second of processor time in every process to
 * list them all.
 */
export const anyCharacter: Arbitrary<string> = oneof(
  integer({ min: 0, max: 0x7f }),
  integer({ min: 0x80, max: 0xd7ff }),
  integer({ min: 0xe000, max: 0xffff }),
  integer({ min: 0x10000, max: 0x10ffff })
).map(point => String.fromCodePoint(point))

/** One in so many places, and no divisor of the lengths that texts like to have. */
const CUT_STEP = 11

/** Where to cut a text of so many bytes: everywhere in full runs. */
export function cutsOf(length: number): number[] {
  const step = areRunsFull ? 1 : CUT_STEP
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step)
}

export function assert<Values>(property: IAsyncProperty<Values>, parameters?: Parameters<Values>): Promise<void>
export function assert<Values>(property: IProperty<Values>, parameters?: Parameters<Values>): void
export function assert<Values>(
  property: IAsyncProperty<Values> | IProperty<Values>,
  parameters: Parameters<Values> = {}
): Promise<void> | void {
  return assertFully(property as IAsyncProperty<Values>, { ...parameters, numRuns: reduceRuns(parameters.numRuns) })
}
