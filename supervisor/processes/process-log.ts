// The lines of the runtime log about child processes.
import type { Logger } from '../../shared/logging.ts'
import { isStopSignal } from '../lifecycle/signals.ts'
import type { KeeperEvent } from './process-keeper.ts'

export interface KeptProcess {
  /** For the ids of the events and for their texts. */
  readonly name: 'worker' | 'writer' | 'store' | 'limits'
  /** Undefined where there is one such process only. */
  readonly workerId?: number
  /** Its exit is expected. */
  readonly isClosing: boolean
}

const TITLES = { worker: 'Worker', writer: 'Writer', store: 'Store', limits: 'Process of shared limits' } as const

/** Writes the line of a keeper's event. */
export function logKeeperEvent(log: Logger, event: KeeperEvent, { name, workerId, isClosing }: KeptProcess): void {
  const ids = workerId === undefined ? {} : { worker_id: workerId }
  const title = TITLES[name]
  switch (event.kind) {
    case 'exited': {
      const { pid, code, signal } = event
      const exit = { event: `${name}_exited`, ...ids, [`${name}_pid`]: pid, exit_code: code, signal }
      if (isClosing) log.info(exit, `${title} exited`)
      else if (isStopSignal(signal)) log.warn(exit, `${title} was stopped by a signal`)
      else log.error(exit, `${title} exited unexpectedly`)
      break
    }
    case 'restart-planned':
      log.info({ event: `${name}_restart`, ...ids, delay_ms: event.delayMs }, `${title} will be respawned`)
      break
    case 'fork-failed':
      log.error(
        { event: `${name}_start_failed`, ...ids, reason: 'fork', err: event.error },
        `A ${name} could not be forked`
      )
      break
    case 'unresponsive':
      log.error(
        { event: `${name}_stuck`, ...ids, [`${name}_pid`]: event.pid },
        `A ${name} does not acknowledge pings and is killed`
      )
      break
    case 'exit-forced':
      log.info(
        { event: `${name}_exit_forced`, ...ids, [`${name}_pid`]: event.pid },
        `${title} has closed everything and is slow to exit, so it is killed`
      )
      break
    case 'channel-error':
      log.warn({ event: `${name}_channel_error`, ...ids, err: event.error }, `A message to a ${name} was lost`)
      break
    case 'forking':
    case 'message':
    case 'not-ready-in-time':
    case 'gave-up':
      // Logged by the fleet or the control, which know more, or not worth a line.
      break
  }
}
