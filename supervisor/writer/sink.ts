// What the writer needs of a place where traffic records are stored (operations.md 8.3).
import type { AuditEntry, PurgeRequest, PurgeResult } from '../../shared/traffic/messages.ts'
import type { PayloadField, TrafficQueries } from '../../shared/traffic/query.ts'
import type { TrafficRecord } from '../../shared/traffic/record.ts'
import type { SinkName } from '../../shared/traffic/sinks.ts'

/**
 * The sink is available and refuses some of the records: repeating them cannot succeed, and the
 * others must be sent without them. Every other error of a sink means that it is unavailable.
 */
export class RecordsRefusedError extends Error {
  /** The ids of the refused records, where the sink reports them; it has then stored all others. */
  readonly refusedIds: ReadonlySet<string> | undefined

  constructor(cause: unknown, refusedIds?: ReadonlySet<string>) {
    super('The sink refuses one or more records.', { cause })
    this.name = 'RecordsRefusedError'
    this.refusedIds = refusedIds
  }
}

/** What is open is no longer where the sink is: it must be opened again, and stores then what it was given. */
export class SinkGoneError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SinkGoneError'
  }
}

export interface Sink {
  readonly name: SinkName
  /**
   * Stores all records; one whose id is stored already is ignored, so that a batch can be sent again. Rejects with
   * `RecordsRefusedError`, or with any other error while the sink is not available.
   */
  write(records: readonly TrafficRecord[]): Promise<void>
  /** Closes files and connections; nothing is written afterwards. */
  close(): Promise<void>
}

/** A sink that can change what it has stored. */
export interface RedactableSink extends Sink {
  /**
   * Empties the chosen content of a record, and its error message with any body, and merges `metadata` into its metadata. False for a
   * record that is not stored; a mirror then redacts it when it arrives.
   */
  redact(id: string, fields: readonly PayloadField[], metadata: object): Promise<boolean>
}

export type ContentPurgeResult = Pick<PurgeResult, 'deleted' | 'isComplete'>

/** A relational sink: it also answers questions and deletes. */
export interface RelationalStore extends RedactableSink {
  readonly queries: TrafficQueries
  purge(request: PurgeRequest): Promise<PurgeResult>
  /** Deletes the captured headers and bodies of the oldest records before the time, of so many at most; the records stay. */
  purgeContent(before: string, batchSize: number): Promise<ContentPurgeResult>
  audit(entry: AuditEntry): Promise<void>
  /** Deletes the oldest entries of the audit before the time, of so many at most. */
  purgeAudit(before: string, batchSize: number): Promise<ContentPurgeResult>
}
