// Loads a prices file by the rules of profile files (keys.md 4).

import { DEFAULT_CURRENCY, type PriceList } from '../../shared/prices.ts'
import { hasPrices } from '../../shared/profile/price-finder.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import type { Settings } from '../../shared/settings.ts'
import { expandPath } from '../config-file/path.ts'
import { refuseProblems } from '../config-file/problems.ts'
import { type ConfigFileKind, readConfigFile } from '../config-file/read.ts'
import { toPrice } from './pricing.ts'
import { readPricesShape } from './schema.ts'

const PRICES_FILE: ConfigFileKind = { code: 'invalid_prices_file', subject: 'Prices file' }
const MISMATCH = 'Prices file does not match the required schema.'

/** The prices of all models, before it is known which currency the keys file names. */
export interface DeclaredPrices {
  /** Undefined where the prices file names none, or there is none. */
  readonly currency: string | undefined
  /** Of the prices file. */
  readonly models: PriceList['models']
  /** At least one model has a price, in the file or by its alias. */
  readonly isAny: boolean
}

/** Reads the prices file that the settings name, if any. Throws `StartupError` with the places of all problems. */
export function declarePrices({ pricesFile }: Pick<Settings, 'pricesFile'>, { profiles }: ProfileSet): DeclaredPrices {
  const file = pricesFile === undefined ? undefined : loadPrices(expandPath(pricesFile))
  const models = file?.models ?? {}
  return { currency: file?.currency, models, isAny: hasPrices(profiles, models) }
}

/** The prices that workers get, in the currency of the keys file where that of the prices is not named; undefined where there are none. */
export function settlePrices(
  { currency, models, isAny }: DeclaredPrices,
  keysCurrency: string | undefined
): PriceList | undefined {
  return isAny ? { currency: currency ?? keysCurrency ?? DEFAULT_CURRENCY, models } : undefined
}

/** Reads a prices file. Throws `StartupError` `invalid_prices_file`. */
export function loadPrices(path: string): Pick<DeclaredPrices, 'currency' | 'models'> {
  const shape = readPricesShape(readConfigFile(path, PRICES_FILE))
  if ('problems' in shape) throw refuseProblems({ code: PRICES_FILE.code, message: MISMATCH }, shape.problems)
  const { currency, models } = shape.content
  return { currency, models: Object.fromEntries(Object.entries(models).map(([name, own]) => [name, toPrice(own)])) }
}
