// What the writer needs of a place where traffic records are stored (operations contract, section 8.3).
import type { TrafficRecord } from '../../shared/traffic/record.ts'

export type SinkName = 'jsonl' | 'sqlite' | 'postgres' | 'opensearch'

/**
 * The sink is there and refuses some of the records themselves: sending them again cannot succeed, and the others have to be sent
 * without them. Every other error of a sink means that it is not available now.
 */
export class RecordsRefusedError extends Error {
  constructor(cause: unknown) {
    super('The sink refuses one or more records.', { cause })
    this.name = 'RecordsRefusedError'
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
