// The keys file of a start, which can be read again while the gateway serves (keys.md 1).
import type { Settings } from '../../shared/settings.ts'
import { expandPath } from '../config-file/path.ts'
import { type KeysContext, type LoadedKeys, loadKeys } from './load.ts'

export interface KeysFile {
  readonly path: string
  /** As the start has read it. */
  readonly loaded: LoadedKeys
  /** Reads it again, by the variables and the settings of the start. Throws `StartupError`. */
  read(): LoadedKeys
}

/** Reads the file that the settings name; undefined without one. Throws `StartupError`. */
export function openKeysFile(
  settings: Pick<Settings, 'adminApiKey' | 'apiKey' | 'apiKeys' | 'keysFile' | 'limitsRedisUrl' | 'responsesStoreDsn'>,
  { isDemo, ...context }: Pick<KeysContext, 'lookup' | 'hasPrices' | 'currency'> & { isDemo: boolean }
): KeysFile | undefined {
  if (settings.keysFile === undefined) return undefined
  // Links are followed at each reading: an orchestrator swaps them.
  const path = expandPath(settings.keysFile)
  // The demo brings a store of its own, whose address is a setting only once it runs.
  const hasDurableCounter = isDemo || (settings.limitsRedisUrl ?? settings.responsesStoreDsn) !== undefined
  const loaded = loadKeys(path, { ...context, settings, hasDurableCounter })
  // What is spent is counted in the currency of the start.
  const currency = context.hasPrices ? loaded.keys.currency : context.currency
  return { path, loaded, read: () => loadKeys(path, { ...context, currency, settings, hasDurableCounter }) }
}
