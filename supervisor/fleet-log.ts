// The lines of the runtime log about worker processes.
import type { Logger } from '../shared/logging.ts'
import type { KeeperEvent } from './process-keeper.ts'

/** Writes the line of a keeper's event. `isClosing` says that the exit of a worker is expected. */
export function logKeeperEvent(
  log: Logger,
  event: KeeperEvent,
  { workerId, isClosing }: { workerId: number; isClosing: boolean }
): void {
  const worker = { worker_id: workerId }
  switch (event.kind) {
    case 'exited': {
      const { pid, code, signal } = event
      const exit = { event: 'worker_exited', ...worker, worker_pid: pid, exit_code: code, signal }
      if (isClosing) log.info(exit, 'Worker exited')
      else log.error(exit, 'Worker exited unexpectedly')
      break
    }
    case 'restart-planned':
      log.info({ event: 'worker_restart', ...worker, delay_ms: event.delayMs }, 'Worker will be respawned')
      break
    case 'fork-failed':
      log.error(
        { event: 'worker_start_failed', ...worker, reason: 'fork', err: event.error },
        'A worker could not be forked'
      )
      break
    case 'unresponsive':
      log.error(
        { event: 'worker_stuck', ...worker, worker_pid: event.pid },
        'A worker does not acknowledge pings and is killed'
      )
      break
    case 'channel-error':
      log.warn({ event: 'worker_channel_error', ...worker, err: event.error }, 'A message to a worker was lost')
      break
    case 'forking':
    case 'message':
    case 'not-ready-in-time':
    case 'gave-up':
      // Logged by the fleet or the control, which know more, or not worth a line.
      break
  }
}
