// Data that the writer of a request passes to the reader of its response: plain, because it may cross a thread boundary.

import type { ReaderDependencies } from '../provider-face.ts'
import type { ResponseIds } from './response-ids.ts'
import type { ClientToolName } from './tool-names.ts'

export interface NativeReading {
  /** The client's names by wire name, for functions with another name on the wire and functions in namespaces. */
  toolNames: ReadonlyMap<string, ClientToolName>
  /**
   * Wire names of the client's functions. A call of another name may turn out to be run by the
   * upstream itself (decisions.md 64).
   */
  declaredNames: ReadonlySet<string>
  /**
   * Parallel calls were requested: calls are held until the upstream has finished
   * (specification.md 4.6, rule 12).
   */
  buffersToolCalls: boolean
  /** The conversation is stored: ids of calls hold the function's name, because the next turn may come without its history. */
  namesCallsInIds: boolean
  /**
   * A call of any tool was required: a response without a call is passed on and counted as an
   * anomaly (decisions.md 8).
   */
  expectsToolCall: boolean
  /** The client requested JSON of a schema: nothing may be added to the text. */
  isStructuredOutput: boolean
  /** Attachments beyond the limits; the response's metadata reports their number. */
  droppedAttachments: number
  /** Calls of the history that were left out because they have no result (field-lessons.md B8). */
  droppedToolCalls: number
}

/** Anomalies of a response, as fixed names that a metric can count. */
export type NativeAnomaly =
  | 'abandoned_tool_calls_dropped'
  | 'finish_reason_missing'
  | 'finish_reason_unknown'
  | 'forced_tool_call_missing'
  | 'announced_tool_call_missing'
  | 'tool_call_changed_late'
  | 'tool_state_id_left_out'

export interface NativeReaderOptions extends ReaderDependencies {
  reading: NativeReading
  ids: ResponseIds
}
