// What the writer of a request leaves for the reader of its answer: plain data that survives a thread boundary.

import type { ReaderDependencies } from '../face.ts'
import type { ResponseIds } from './response-ids.ts'
import type { ClientToolName } from './tool-names.ts'

export interface NativeReading {
  /** The client's names of the tools that have another name on the wire. */
  toolNames: ReadonlyMap<string, ClientToolName>
  /** The option for parallel calls was sent: calls are held until the upstream has finished (specification 4.6, rule 12). */
  buffersToolCalls: boolean
  /** A call was demanded without a name: an answer without one is passed on and counted as an anomaly (decisions 8). */
  expectsToolCall: boolean
  /** The client asked for JSON of a schema: nothing may be added to the text. */
  isStructuredOutput: boolean
  /** Attachments beyond the limits; the client is told in the answer's metadata. */
  droppedAttachments: number
  /** Calls of the history that nobody answered and that were left out (field lesson B8). */
  droppedToolCalls: number
}

/** What an answer shows that a request should not lead to, under names that a metric can carry. */
export type NativeAnomaly =
  | 'abandoned_tool_calls_dropped'
  | 'finish_reason_missing'
  | 'finish_reason_unknown'
  | 'forced_tool_call_missing'
  | 'announced_tool_call_missing'
  | 'tool_call_changed_late'

export interface NativeReaderOptions extends ReaderDependencies {
  reading: NativeReading
  ids: ResponseIds
}
