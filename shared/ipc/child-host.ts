// What a worker and the writer of traffic records use of the process that they run in. Only this file binds them to a forked process:
// everything else of them also runs where no process was forked.

import type { LogOutput } from '../logging.ts'
import { isListeningHandle, type ListeningHandle, toSendHandle } from './listening-handle.ts'

/** Where a child of the supervisor runs: its channel to the supervisor, and its end. */
export interface ChildHost {
  readonly pid: number
  /** Where the lines of its log go in addition to the log file. */
  readonly stdout: LogOutput
  /** False once the supervisor has exited. */
  readonly isConnected: boolean
  /** Sends a message to the supervisor and calls `sent` when it is on its way; drops it when the supervisor has exited. */
  send(message: object, sent?: () => void, handle?: ListeningHandle): void
  /** `handle` came with the message; it belongs to the listener. */
  onMessage(listener: (value: unknown, handle?: ListeningHandle) => void): void
  /** The supervisor has exited. */
  onDisconnect(listener: () => void): void
  onUncaughtError(listener: (error: Error, origin: string) => void): void
  /** Called last, and synchronously. */
  onExit(listener: () => void): void
  /** Sets which rights new files do not get. */
  limitFileRights(mask: number): void
  exit(code: number): void
}

/** The host of a process that the supervisor forked; undefined where this process was started by hand. */
export function createProcessHost(): ChildHost | undefined {
  if (process.send === undefined) return undefined
  // A terminal sends its signals to every process of the group, and `systemctl kill` to every process of the service; the supervisor decides
  // what follows.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, doNothing)
  return {
    pid: process.pid,
    stdout: process.stdout,
    get isConnected() {
      return process.connected
    },
    send(message, sent = doNothing, handle) {
      // Sending fails only after the supervisor has exited; then `disconnect` ends this process.
      if (process.connected) process.send?.(message, toSendHandle(handle), undefined, sent)
    },
    onMessage: listener =>
      void process.on('message', (value: unknown, handle: unknown) =>
        listener(value, isListeningHandle(handle) ? handle : undefined)
      ),
    onDisconnect: listener => void process.on('disconnect', listener),
    onUncaughtError: listener => void process.on('uncaughtException', listener),
    onExit: listener => void process.on('exit', listener),
    limitFileRights: mask => void process.umask(mask),
    exit: code => process.exit(code)
  }
}

function doNothing(): void {
  // A no-op: for signals that only the supervisor handles, and for messages without a completion
  // callback.
}
