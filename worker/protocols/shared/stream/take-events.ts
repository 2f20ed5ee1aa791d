// The events of one step of reading. In a stream an error of the taxonomy becomes the last event; every other one is a fault of the program.

import { GatewayError, type NormalizedEvent } from '../../../normalized/index.ts'

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

/** The events of a whole response that was read. Throws the error that is the last of them. */
export function takeWholeEvents(state: ReadingState): NormalizedEvent[] {
  const events = state.take()
  const last = events.at(-1)
  if (last?.type === 'error') throw last.error
  return events
}
