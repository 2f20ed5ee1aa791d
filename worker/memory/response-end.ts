// How a response that runs in the background ends (memory.md 4): what its last event says, and what its record says, are the same.

import type { ResponseStatus, SaveResult, StoredEvent } from '../../shared/memory/store.ts'
import { isJsonObject, type JsonObject } from '../normalized/index.ts'
import type { PartialOutput } from './partial-output.ts'
import type { NumberedEvent } from './stream-events.ts'

export interface ResponseEnd {
  readonly status: ResponseStatus
  /** The response object. */
  readonly response: JsonObject
  /** The event as it is stored, where it says this already. */
  readonly event?: StoredEvent
  /** The conversation of the response is gone. */
  readonly isAlone?: true
}

/**
 * @param opened the response object before anything was generated.
 * @param last the last event of the stream.
 */
export function describeEnd(
  opened: JsonObject,
  last: NumberedEvent | undefined,
  { isCancelled, output }: { isCancelled: boolean; output: PartialOutput }
): ResponseEnd {
  const given = last?.event.response
  const response = isJsonObject(given) ? given : opened
  const { status } = response
  if (isCancelled) {
    const rest = { status: 'cancelled', error: null, incomplete_details: null, output: output.read('incomplete') }
    return { status: 'cancelled', response: { ...response, ...rest } }
  }
  if (last !== undefined && (status === 'completed' || status === 'incomplete')) {
    return { status, response, event: last }
  }
  const error = response.error ?? { code: 'server_error', message: 'The response has no end.' }
  return {
    status: 'failed',
    response: { ...response, status: 'failed', error, output: output.read('incomplete') }
  }
}

/** The end of a response that its store does not take as it is. */
export function refuseEnd({ response }: ResponseEnd, result: SaveResult): ResponseEnd {
  const isTooLarge = result === 'too_large'
  const message = isTooLarge ? 'The response is too large to be stored.' : 'The conversation was deleted.'
  const error = { code: 'server_error', message }
  const output = isTooLarge ? [] : response.output
  return {
    status: 'failed',
    response: { ...response, status: 'failed', error, incomplete_details: null, output },
    ...(isTooLarge ? {} : { isAlone: true })
  }
}

/** The last event of the stream. The clients' SDKs know none of a cancelled response: it has that of one that is not complete. */
export function writeLastEvent({ status, response, event }: ResponseEnd, sequenceNumber: number): StoredEvent {
  if (event !== undefined) return event
  const type = status === 'failed' ? 'response.failed' : 'response.incomplete'
  return { sequenceNumber, json: Buffer.from(JSON.stringify({ type, sequence_number: sequenceNumber, response })) }
}
