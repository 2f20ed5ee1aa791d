// Data that the writer of a request passes to the reader of its response: plain, because it may cross a thread boundary.

import type { ClientToolName } from '../../shared/tools/tool-names.ts'

export interface ChatCompatibleReading {
  /** The client's names by wire name, for functions with another name on the wire and functions in namespaces. */
  toolNames: ReadonlyMap<string, ClientToolName>
  /** The stop strings of the request: some servers name the one that ended the response. */
  stops: readonly string[]
  /** Calls of the history that were left out because they have no result (field-lessons.md B8). */
  droppedToolCalls: number
  /** Of a client on the same wire: it asked for the usage of a stream. */
  showsUsage?: boolean
  /** Of a client on the same wire: how many choices it asked for. */
  choices?: number
}

/** Anomalies of a usable response, as fixed names that a metric can count. */
export type ChatCompatibleAnomaly =
  | 'abandoned_tool_calls_dropped'
  | 'further_choices_dropped'
  | 'announced_tool_call_missing'
  | 'finish_reason_missing'
  | 'end_marker_missing'
