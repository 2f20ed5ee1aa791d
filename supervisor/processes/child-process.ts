// The part of a child process that the supervisor uses; both `node:cluster` and `node:child_process` provide it.
import type { ChildProcess } from 'node:child_process'
import { isListeningHandle, type ListeningHandle, toSendHandle } from '../../shared/ipc/listening-handle.ts'

export interface ChildHandle {
  readonly pid: number | undefined
  /**
   * Sends a message; one to a process whose channel has closed is dropped, because its exit follows. A handle that goes with it is closed in
   * this process.
   */
  send(message: object, handle?: ListeningHandle): void
  /** Ends the process at once, without its cooperation. */
  kill(): void
}

export interface ProcessExit {
  readonly code: number | null
  readonly signal: string | null
}

export interface ChildListeners {
  /** `handle` came with the message; it belongs to the listener. */
  onMessage(value: unknown, handle?: ListeningHandle): void
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

  child.on('message', (value: unknown, handle: unknown) =>
    listeners.onMessage(value, isListeningHandle(handle) ? handle : undefined)
  )
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
    send(message, handle) {
      if (handle === undefined) {
        if (child.connected) child.send(message)
      } else if (child.connected) child.send(message, toSendHandle(handle), () => handle.close())
      else handle.close()
    },
    kill() {
      child.kill('SIGKILL')
    }
  }
}
