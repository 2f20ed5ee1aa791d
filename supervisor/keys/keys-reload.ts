// Reads the keys file again while the gateway serves: on request, and when its content has changed (keys.md 1).
import { stat } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../shared/logging.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import { StartupError } from '../../shared/startup-error.ts'
import type { OperatorSignals } from '../signals.ts'
import { describeKeys } from './describe-keys.ts'
import type { KeysFile } from './keys-file.ts'
import type { KeysInForce } from './keys-in-force.ts'

/** Asked for instead of watched: what an orchestrator or a network file system changes reaches no watcher of the system reliably. */
const POLL_INTERVAL_MS = 1_000
/** A reading that failed is repeated after this many polls: a secret's file may be there by then. */
const POLLS_AFTER_FAILURE = 10

export interface KeysReload {
  /** Reads the file now. */
  reload(): void
  close(): void
}

export interface KeysReloadDependencies {
  readonly log: Logger
  readonly keys: KeysInForce
  /** Counts a reading that failed. */
  readonly onFailed: () => void
  /** Looks whether files have changed; for tests. Default: by their state in the file system. */
  readonly sign?: (paths: readonly string[]) => Promise<string>
}

/** Follows the file from now on. */
export function createKeysReload(
  { log, keys, onFailed, sign = signFiles }: KeysReloadDependencies,
  file: KeysFile,
  { pollIntervalMs = POLL_INTERVAL_MS }: { pollIntervalMs?: number } = {}
): KeysReload {
  let { secretFiles } = file.loaded
  /** Of the files when they were read last. Not known at first, so that what has changed since the start is found. */
  let readSignature: string | undefined
  let seenSignature: string | undefined
  let pollsUntilRetry = 0
  let lastFailure: string | undefined
  let isClosed = false
  let timer = setTimeout(poll, pollIntervalMs)

  async function poll(): Promise<void> {
    const signature = await sign([file.path, ...secretFiles])
    if (isClosed) return
    // Two equal signatures in a row: the file is not being written.
    const isStable = signature === seenSignature
    seenSignature = signature
    const isDue = signature !== readSignature || (lastFailure !== undefined && --pollsUntilRetry <= 0)
    if (isStable && isDue) {
      readSignature = signature
      read({ isAskedFor: false })
    }
    timer = setTimeout(poll, pollIntervalMs).unref()
  }

  function read({ isAskedFor }: { isAskedFor: boolean }): void {
    let loaded: ReturnType<KeysFile['read']>
    try {
      loaded = file.read()
    } catch (error) {
      fail(error, isAskedFor)
      return
    }
    const hasFailed = lastFailure !== undefined
    lastFailure = undefined
    secretFiles = loaded.secretFiles
    const isUnchanged = isDeepStrictEqual(loaded.keys, keys.current())
    if (!isUnchanged) keys.replace(loaded.keys)
    else if (!isAskedFor && !hasFailed) return
    log.info(
      { event: 'keys_reloaded', ...describeKeys(loaded.keys) },
      isUnchanged ? 'The keys file was read again; nothing has changed' : 'The keys file was read again'
    )
  }

  function fail(error: unknown, isAskedFor: boolean): void {
    pollsUntilRetry = POLLS_AFTER_FAILURE
    // A message of another error could hold what is in the file.
    const failure = StartupError.is(error)
      ? error.summary
      : `internal: ${error instanceof Error ? error.name : typeof error}`
    const isRepeated = failure === lastFailure
    lastFailure = failure
    if (isRepeated && !isAskedFor) return
    onFailed()
    log.error(
      { event: 'keys_reload_failed' },
      `The keys file cannot be used, and the earlier keys stay in force: ${failure}`
    )
  }

  timer.unref()
  return {
    reload: () => read({ isAskedFor: true }),
    close() {
      isClosed = true
      clearTimeout(timer)
    }
  }
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
): Pick<KeysReload, 'close'> {
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

/** What tells a file from the one that was there before: links are followed, so that a swapped link is another file. */
async function signFiles(paths: readonly string[]): Promise<string> {
  const states = paths.map(path =>
    stat(path, { bigint: true }).then(
      ({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(':'),
      () => 'unreadable'
    )
  )
  return (await Promise.all(states)).join(' ')
}
