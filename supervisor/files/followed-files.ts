// Reads files again while the gateway serves: on request, and when they have changed. What they held before stays in force while they cannot
// be used (decisions.md 100).
import { readFileState } from '../../shared/file-state.ts'
import { StartupError } from '../../shared/startup-error.ts'

/** Asked for instead of watched: what an orchestrator or a network file system changes reaches no watcher of the system reliably. */
const POLL_INTERVAL_MS = 1_000
/** A reading that failed is repeated after this many polls: another file that it needs may be there by then. */
const POLLS_AFTER_FAILURE = 10

export interface Reading {
  /** An operator asked for it. */
  readonly isAskedFor: boolean
  /** The reading before this one failed. */
  readonly hasFailed: boolean
}

export interface FollowedSource<Content> {
  /** The files of the last reading. */
  listPaths(): readonly string[]
  /** Reads the files. Throws what makes them unusable. */
  read(): Content
  /** Puts in force what was read. */
  apply(content: Content, reading: Reading): void
  /** Reports a failure, without a value: once for equal ones that follow each other, and always when an operator asked. */
  onFailed(failure: string): void
}

export interface FollowOptions {
  readonly pollIntervalMs?: number
  /** What tells the files from those that were read; for tests. Default: their state in the file system. */
  readonly sign?: (paths: readonly string[]) => Promise<string>
}

export interface FollowedFiles {
  /** Reads the files now. */
  reload(): void
  close(): void
}

/** Follows the files from now on. */
export function followFiles<Content>(
  source: FollowedSource<Content>,
  { pollIntervalMs = POLL_INTERVAL_MS, sign = readFileState }: FollowOptions = {}
): FollowedFiles {
  /** Of the files when they were read last. Not known at first, so that what has changed since the start is found. */
  let readSignature: string | undefined
  let seenSignature: string | undefined
  let pollsUntilRetry = 0
  let lastFailure: string | undefined
  let isClosed = false
  let timer = setTimeout(poll, pollIntervalMs).unref()

  async function poll(): Promise<void> {
    const signature = await sign(source.listPaths())
    if (isClosed) return
    // Two equal signatures in a row: no file is being written, and files that belong together were replaced together.
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
    let content: Content
    try {
      content = source.read()
    } catch (error) {
      fail(error, isAskedFor)
      return
    }
    const hasFailed = lastFailure !== undefined
    lastFailure = undefined
    source.apply(content, { isAskedFor, hasFailed })
  }

  function fail(error: unknown, isAskedFor: boolean): void {
    pollsUntilRetry = POLLS_AFTER_FAILURE
    // A message of another error could hold what is in a file.
    const failure = StartupError.is(error)
      ? error.summary
      : `internal: ${error instanceof Error ? error.name : typeof error}`
    const isRepeated = failure === lastFailure
    lastFailure = failure
    if (!isRepeated || isAskedFor) source.onFailed(failure)
  }

  return {
    reload: () => read({ isAskedFor: true }),
    close() {
      isClosed = true
      clearTimeout(timer)
    }
  }
}
