// Reads the keys file again while the gateway serves: on request, and when its content has changed (keys.md 1).
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../shared/logging.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import { type FollowedFiles, type FollowOptions, followFiles } from '../files/followed-files.ts'
import type { OperatorSignals } from '../lifecycle/signals.ts'
import { describeKeys } from './describe-keys.ts'
import type { KeysFile } from './keys-file.ts'
import type { KeysInForce } from './keys-in-force.ts'

export interface KeysReloadDependencies {
  readonly log: Logger
  readonly keys: KeysInForce
  /** Counts a reading that failed. */
  readonly onFailed: () => void
}

/** Follows the file from now on. */
export function createKeysReload(
  { log, keys, onFailed }: KeysReloadDependencies,
  file: KeysFile,
  options: FollowOptions = {}
): FollowedFiles {
  let { secretFiles } = file.loaded
  return followFiles(
    {
      listPaths: () => [file.path, ...secretFiles],
      read: () => file.read(),
      apply(loaded, { isAskedFor, hasFailed }) {
        secretFiles = loaded.secretFiles
        const isUnchanged = isDeepStrictEqual(loaded.keys, keys.current())
        if (!isUnchanged) keys.replace(loaded.keys)
        else if (!isAskedFor && !hasFailed) return
        log.info(
          { event: 'keys_reloaded', ...describeKeys(loaded.keys) },
          isUnchanged ? 'The keys file was read again; nothing has changed' : 'The keys file was read again'
        )
      },
      onFailed(failure) {
        onFailed()
        log.error(
          { event: 'keys_reload_failed' },
          `The keys file cannot be used, and the earlier keys stay in force: ${failure}`
        )
      }
    },
    options
  )
}

/** Follows the file while the gateway runs, and reads it on each signal to reload. */
export function followKeysFile(
  file: KeysFile,
  {
    log,
    keys,
    signals,
    registry
  }: {
    readonly log: Logger
    readonly keys: KeysInForce
    readonly signals: Pick<OperatorSignals, 'onReload'>
    /** Undefined while metrics are off. */
    readonly registry: MetricRegistry | undefined
  }
): Pick<FollowedFiles, 'close'> {
  const failed = registry?.counter('gateway_keys_reload_failed_total').with({})
  const reload = createKeysReload({ log, keys, onFailed: () => failed?.add(1) }, file)
  const ignoreSignals = signals.onReload(reload.reload)
  return {
    close() {
      ignoreSignals()
      reload.close()
    }
  }
}
