// An upstream that explains why it refuses a call may repeat what it was sent. The words are for the client, the gateway's own
// credentials are not.

import { createRedactor } from '../../../shared/redaction.ts'
import { GatewayError, type NormalizedEvent } from '../../normalized/index.ts'
import type { EventSink } from '../types.ts'

export interface Concealment {
  /** Throws what was thrown, without the secrets in its words. */
  rethrow(thrown: unknown): never
  /** A sink that passes everything on, errors without the secrets in their words. */
  around(sink: EventSink): EventSink
}

/** @param secrets texts that no client may see, wherever they stand. */
export function createConcealment(secrets: readonly string[]): Concealment {
  const redactor = createRedactor({ knownSecrets: secrets })

  function conceal(error: GatewayError): GatewayError {
    const message = redactor.redactText(error.message)
    return message === error.message ? error : error.with({ message })
  }

  function concealEvent(event: NormalizedEvent): NormalizedEvent {
    return event.type === 'error' ? { ...event, error: conceal(event.error) } : event
  }

  return {
    rethrow(thrown) {
      throw GatewayError.is(thrown) ? conceal(thrown) : thrown
    },
    around: sink => ({
      // An error is the last event of its stream.
      push: events => sink.push(events.at(-1)?.type === 'error' ? events.map(concealEvent) : events),
      whenDrained: () => sink.whenDrained()
    })
  }
}
