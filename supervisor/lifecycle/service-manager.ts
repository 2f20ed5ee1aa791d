// Reports the state of the gateway to systemd: ready, stopping, status and watchdog pings
// (operations.md 14). The messages are datagrams of a local socket, which Node cannot send, so the
// program of systemd sends them.

import { execFile } from 'node:child_process'
import type { Logger } from '../../shared/logging.ts'

export interface ServiceManagerOptions {
  readonly log: Logger
  /** Where systemd listens, and the time after which a silent service is dead. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly pid: number
  /** Whether the gateway works; a watchdog ping is sent only then. */
  readonly isAlive: () => boolean
}

export interface ServiceManager {
  /**
   * `/ready` is 200 for the first time. From now on watchdog pings are sent, if systemd requests
   * them.
   */
  ready(): void
  stopping(): void
  /** Shown by `systemctl status`. */
  showStatus(status: string): void
  /** Sends nothing more. */
  close(): void
}

const PROGRAM = 'systemd-notify'
/** The program waits until systemd has read the message. */
const TIMEOUT_MS = 5_000

/** Undefined unless systemd started this process and waits for messages. */
export function createServiceManager(options: ServiceManagerOptions): ServiceManager | undefined {
  const { log, environment, isAlive } = options
  const { NOTIFY_SOCKET, PATH } = environment
  if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === '') return undefined
  const env = { NOTIFY_SOCKET, PATH }
  /** The message to send after the current one; a newer message replaces an older one. */
  const waiting = new Map<string, string>()
  let isSending = false
  let isClosed = false
  let hasFailed = false
  let watchdog: NodeJS.Timeout | undefined

  function send(values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values)) waiting.set(name, value)
    if (!isSending) sendWaiting()
  }

  function sendWaiting(): void {
    if (waiting.size === 0 || isClosed) return
    const message = [...waiting].map(([name, value]) => `${name}=${value}`)
    waiting.clear()
    isSending = true
    execFile(PROGRAM, message, { env, timeout: TIMEOUT_MS }, error => {
      isSending = false
      if (error !== null) warn(error)
      sendWaiting()
    })
  }

  /** Once: each message after the first would fail in the same way. */
  function warn(error: Error): void {
    if (hasFailed) return
    hasFailed = true
    const fields = { event: 'service_manager_unreachable', err: error }
    log.warn(fields, `Messages to systemd cannot be sent; '${PROGRAM}' is needed for that`)
  }

  function startWatchdog(): void {
    const limitMs = readWatchdogMs(options)
    if (limitMs === undefined) return
    watchdog = setInterval(() => {
      if (isAlive()) send({ WATCHDOG: '1' })
    }, limitMs / 2)
  }

  return {
    ready() {
      send({ READY: '1', STATUS: 'serving' })
      startWatchdog()
    },
    stopping() {
      send({ STOPPING: '1' })
    },
    showStatus(status) {
      send({ STATUS: status })
    },
    close() {
      isClosed = true
      clearInterval(watchdog)
    }
  }
}

/** The time in milliseconds after which systemd takes this process for dead; undefined where it does not watch it. */
function readWatchdogMs({ environment, pid }: Pick<ServiceManagerOptions, 'environment' | 'pid'>): number | undefined {
  const { WATCHDOG_USEC, WATCHDOG_PID } = environment
  if (WATCHDOG_PID !== undefined && Number(WATCHDOG_PID) !== pid) return undefined
  const limitMs = Number(WATCHDOG_USEC) / 1000
  return limitMs > 0 ? limitMs : undefined
}
