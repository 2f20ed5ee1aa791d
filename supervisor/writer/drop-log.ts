// The lines of the runtime log about dropped records: one for each sink and reason per interval, with their number.
import type { Logger } from '../../shared/logging.ts'
import type { SinkName } from '../../shared/traffic/sinks.ts'
import type { SinkDropReason } from './sink-queue.ts'

const TEXTS: Readonly<Record<SinkDropReason, string>> = {
  queue_full: 'Traffic log queue is full; dropping event',
  refused: 'A sink refused traffic records; dropping event',
  spill_failed: 'Traffic records could not be spilled; dropping event',
  spill_full: 'The spill of the traffic log is full; dropping its oldest events',
  closed: 'Traffic log is closed; dropping event'
}

export interface DropLog {
  note(sink: SinkName, reason: SinkDropReason, count: number): void
  /** Writes what was not written yet. */
  close(): void
}

/** The first drop is written at once, later ones together at the end of each interval. */
export function createDropLog({ log, intervalMs }: { log: Logger; intervalMs: number }): DropLog {
  const waiting = new Map<string, { sink: SinkName; reason: SinkDropReason; count: number; timer: NodeJS.Timeout }>()

  function write(sink: SinkName, reason: SinkDropReason, count: number): void {
    if (count > 0) log.warn({ event: 'traffic_records_dropped', sink, reason, count }, TEXTS[reason])
  }

  function end(name: string): void {
    const drops = waiting.get(name)
    waiting.delete(name)
    if (drops === undefined) return
    clearTimeout(drops.timer)
    if (drops.count > 0) note(drops.sink, drops.reason, drops.count)
  }

  function note(sink: SinkName, reason: SinkDropReason, count: number): void {
    const name = `${sink} ${reason}`
    const drops = waiting.get(name)
    if (drops !== undefined) {
      drops.count += count
      return
    }
    write(sink, reason, count)
    waiting.set(name, { sink, reason, count: 0, timer: setTimeout(() => end(name), intervalMs).unref() })
  }

  return {
    note,
    close() {
      for (const { sink, reason, count, timer } of waiting.values()) {
        clearTimeout(timer)
        write(sink, reason, count)
      }
      waiting.clear()
    }
  }
}
