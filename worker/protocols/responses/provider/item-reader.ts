// What reads an item of the output, piece by piece.
import type { JsonObject } from '../../../normalized/index.ts'

/** An item while it is read. A piece of a kind that the item does not have is ignored. */
export interface ItemReader {
  isOver: boolean
  /** Ends the item with the whole of it. */
  end(item: JsonObject): void
  text?(piece: string): void
  refusal?(piece: string): void
  reasoning?(piece: string, part: number): void
  callText?(piece: string): void
  annotation?(annotation: unknown): void
  progress?(type: string): void
}
