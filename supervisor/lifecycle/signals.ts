// Catches signals before other modules load, so that one that arrives during loading is not lost
// (field-lessons.md I6).
import { isatty } from 'node:tty'

/**
 * A terminal that closes sends SIGHUP to its processes, which then have to stop. A service manager
 * has no terminal and sends it as a request to reload (operations.md 14): that reopens the log, as
 * SIGUSR1 does, and reads the keys file and the certificate again (keys.md 1; operations.md 3.10).
 */
const hasTerminal = [0, 1, 2].some(isatty)

type StopSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

const stopSignals: readonly StopSignal[] = hasTerminal ? ['SIGTERM', 'SIGINT', 'SIGHUP'] : ['SIGTERM', 'SIGINT']

/**
 * Whether a child process was terminated by a stop signal. A process that is still loading has no
 * handler for it, and a terminal or a service manager signals every process: a child may exit
 * before this process receives its own signal.
 */
export function isStopSignal(signal: string | null): boolean {
  return signal === 'SIGTERM' || signal === 'SIGINT' || signal === 'SIGHUP'
}

/** Read the keys file and the certificate again. */
const reloadSignals: readonly NodeJS.Signals[] = hasTerminal ? [] : ['SIGHUP']

/** For log rotation from outside: rename the file, then signal. */
const reopenSignals: readonly NodeJS.Signals[] = hasTerminal ? ['SIGUSR1'] : ['SIGUSR1', 'SIGHUP']

/** Replace the workers one by one. */
const replaceSignals: readonly NodeJS.Signals[] = ['SIGUSR2']

/**
 * One Ctrl-C can arrive twice: a terminal signals every process of its group, and the shell or `npm` in between forwards it. A
 * repetition within this time does not count as a second signal, which would cancel running requests.
 */
const REPETITION_MS = 500

export interface OperatorSignals {
  /** Calls the listener for each stop signal, at once for signals that arrived earlier. */
  onStop(listener: () => void): void
  /**
   * Calls the listener for each signal that requests a reopened log file. Returns the function that
   * removes the listener.
   */
  onReopen(listener: () => void): () => void
  /** The same for each signal that requests a new reading of the keys file and the certificate. */
  onReload(listener: () => void): () => void
  /** The same for each signal that requests new workers in place of those that run. */
  onReplace(listener: () => void): () => void
}

/** Installs the handlers. They stay until the process ends: a default handler would end it without cleanup. */
export function catchSignals(): OperatorSignals {
  let caught = 0
  let listener = () => {
    caught += 1
  }
  for (const signal of stopSignals) {
    let lastAtMs = Number.NEGATIVE_INFINITY
    process.on(signal, () => {
      const isRepetition = performance.now() - lastAtMs < REPETITION_MS
      lastAtMs = performance.now()
      if (!isRepetition) listener()
    })
  }
  // No log is open yet, so there is none to reopen, and no worker runs.
  for (const signal of [...reopenSignals, ...replaceSignals]) process.on(signal, () => undefined)
  return {
    onStop(next) {
      listener = next
      for (; caught > 0; caught -= 1) next()
    },
    onReopen: listener => listen(reopenSignals, listener),
    onReload: listener => listen(reloadSignals, listener),
    onReplace: listener => listen(replaceSignals, listener)
  }
}

function listen(signals: readonly NodeJS.Signals[], listener: () => void): () => void {
  for (const signal of signals) process.on(signal, listener)
  return () => {
    for (const signal of signals) process.off(signal, listener)
  }
}
