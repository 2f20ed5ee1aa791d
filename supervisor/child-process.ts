// The part of a child process that the supervisor uses; both `node:cluster` and `node:child_process` provide it.
import type { ChildProcess } from 'node:child_process'

export interface ChildHandle {
  readonly pid: number | undefined
  /** Sends a message; one to a process whose channel has closed is dropped, because its exit follows. */
  send(message: object): void
  /** Ends the process at once, without its cooperation. */
  kill(): void
}

export interface ProcessExit {
  readonly code: number | null
  readonly signal: string | null
}

export interface ChildListeners {
  onMessage(value: unknown): void
  /** A message could not be sent. */
  onChannelError(error: Error): void
  /** The process has exited, and no message of it follows. */
  onExit(exit: ProcessExit): void
  /** The system could not start the process, so there is no exit. */
  onForkFailed(error: Error): void
}

/** Starts a process and reports what happens to it. Throws where the system reports at once that it cannot start one. */
export type ForkChild = (listeners: ChildListeners) => ChildHandle

/** Connects a child process that was just forked with an IPC channel. */
export function attachChild(child: ChildProcess, listeners: ChildListeners): ChildHandle {
  let exit: ProcessExit | undefined
  let isReported = false

  /** Messages may still be in the channel when the process has exited; the closed channel comes after the last one. */
  function reportExit(): void {
    if (exit === undefined || child.connected || isReported) return
    isReported = true
    listeners.onExit(exit)
  }

  child.on('message', listeners.onMessage)
  child.on('error', error => {
    if (child.pid === undefined) listeners.onForkFailed(error)
    else listeners.onChannelError(error)
  })
  child.on('exit', (code, signal) => {
    exit = { code, signal }
    reportExit()
  })
  child.on('disconnect', reportExit)
  return {
    get pid() {
      return child.pid
    },
    send(message) {
      if (child.connected) child.send(message)
    },
    kill() {
      child.kill('SIGKILL')
    }
  }
}
