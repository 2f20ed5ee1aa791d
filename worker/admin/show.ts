// Stored records as the admin API shows them (operations.md 9.2).
import type { TrafficPayload, TrafficSummary } from '../../shared/traffic/query.ts'
import { showTime } from './timestamps.ts'

/** The summary, in the order of the columns; `created_at` with `+00:00`. */
export function showSummary<Summary extends TrafficSummary>(summary: Summary): Summary {
  return { ...summary, created_at: showTime(summary.created_at) }
}

/** A record with its content on one line of NDJSON, line feed included. */
export function writeNdjsonLine(record: TrafficSummary & TrafficPayload): string {
  return `${JSON.stringify(showSummary(record))}\n`
}
