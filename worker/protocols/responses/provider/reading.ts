// Data that the writer of a request passes to the reader of its response: plain, because it may cross a thread boundary.

import type { ResponseTurn } from '../../../normalized/index.ts'
import type { ClientToolName } from '../../shared/tools/tool-names.ts'

export interface ResponsesCompatibleReading {
  /** The client's names by wire name, for functions with another name on the wire and functions in namespaces. */
  toolNames: ReadonlyMap<string, ClientToolName>
  /** Calls of the history that were left out because they have no result (field-lessons.md B8). */
  droppedToolCalls: number
  /** The client of this wire asked for a response in the background, which has not ended yet. */
  isBackground?: true
  /** The gateway keeps the state in place of the provider. */
  turn?: ResponseTurn
}

/** Anomalies of a usable response, as fixed names that a metric can count. */
export type ResponsesCompatibleAnomaly =
  | 'abandoned_tool_calls_dropped'
  | 'announced_tool_call_missing'
  | 'finish_reason_unknown'
  | 'output_item_ignored'
  | 'stream_event_ignored'
