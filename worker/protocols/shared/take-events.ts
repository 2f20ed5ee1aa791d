// One step of reading a streamed response: an error of the taxonomy becomes the last event, every other one is a fault of the program.

import { GatewayError, type NormalizedEvent } from '../../normalized/index.ts'

/** A response while it is read. */
export interface ReadingState {
  /** The response has ended: nothing more is read. */
  readonly isOver: boolean
  /** Ends the response with an error. */
  fail(error: GatewayError): void
  /** The events since the last take. */
  take(): NormalizedEvent[]
}

/** Runs `read` and returns the events that it made; none when the response is over. Throws what `read` throws besides `GatewayError`. */
export function takeEvents(state: ReadingState, read: () => void): NormalizedEvent[] {
  if (state.isOver) return []
  try {
    read()
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown
    state.fail(thrown)
  }
  return state.take()
}
