// What takes the response of an exchange, piece by piece, and how it may steer the exchange meanwhile.
import type { ResponseHead } from '../../protocols/provider-face.ts'

/** What a receiver may do with the response while it arrives. */
export interface ExchangeControl {
  /** Reads no more from the provider until `resume`; the time in between does not count against the idle limit. */
  pause(): void
  resume(): void
  /** Ends the exchange now; it counts as a success, because the receiver has what it wanted. */
  cancel(): void
}

/** Takes a response. An error that it throws ends the exchange and rejects it. */
export interface ExchangeReceiver {
  onHead(head: ResponseHead, control: ExchangeControl): void
  /**
   * Takes the pieces of the body that one read of the connection brought. Returns what it leaves for another turn of the event loop; until
   * then nothing more is read.
   */
  onData(pieces: readonly Buffer[]): Buffer | undefined
  /** The body broke off or stalled. True: what arrived is enough, and the exchange counts as ended. */
  onBrokenBody?(): boolean
  /** Called once, when the exchange has ended in any way. */
  onClosed?(): void
}
