// Data that the writer of a request passes to the reader of its response: plain, because it may cross a thread boundary.

import type { ClientToolName } from '../../shared/tools/tool-names.ts'

export interface ContentCompatibleReading {
  /** The client's names by wire name, for functions with another name on the wire and functions in namespaces. */
  toolNames: ReadonlyMap<string, ClientToolName>
  /** Calls of the history that were left out because they have no result (field-lessons.md B8). */
  droppedToolCalls: number
  /** The response is passed on: what it ends with is the provider's to say. */
  isPassed?: true
}

/** Anomalies of a usable response, as fixed names that a metric can count. */
export type ContentCompatibleAnomaly =
  | 'abandoned_tool_calls_dropped'
  | 'further_candidates_dropped'
  | 'finish_reason_missing'
  | 'unknown_finish_reason'
  | 'failed_finish_reason'
  | 'part_ignored'
