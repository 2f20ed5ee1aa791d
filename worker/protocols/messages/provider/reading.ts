// Data that the writer of a request passes to the reader of its response: plain, because it may cross a thread boundary.

import type { ClientToolName } from '../../shared/tools/tool-names.ts'

export interface MessagesCompatibleReading {
  /** The client's names by wire name, for functions with another name on the wire and functions in namespaces. */
  toolNames: ReadonlyMap<string, ClientToolName>
  /** Calls of the history that were left out because they have no result (field-lessons.md B8). */
  droppedToolCalls: number
}

/** Anomalies of a usable response, as fixed names that a metric can count. */
export type MessagesCompatibleAnomaly =
  | 'abandoned_tool_calls_dropped'
  | 'announced_tool_call_missing'
  | 'content_block_ignored'
  | 'content_delta_ignored'
  | 'stream_event_ignored'
  | 'finish_reason_unknown'
  | 'finish_reason_missing'
  | 'end_marker_missing'
