// Removes the gateway's credentials from texts that a client receives, because a provider that explains a refusal may repeat what it
// received.

import { createRedactor } from '../../../shared/redaction.ts'
import { GatewayError, type NormalizedEvent } from '../../normalized/index.ts'
import type { ByteSink, RelayHead, ResponseSink } from '../types.ts'

export interface ErrorRedaction {
  /** Throws what was thrown; in the message of a `GatewayError` the secrets are masked. */
  rethrow(thrown: unknown): never
  /** A sink that passes everything on, and errors with the secrets in their messages masked. */
  around(sink: ResponseSink): ResponseSink
}

/** @param secrets texts that no client may see, wherever they occur. */
export function createErrorRedaction(secrets: readonly string[]): ErrorRedaction {
  const redactor = createRedactor({ knownSecrets: secrets })

  function redactError(error: GatewayError): GatewayError {
    const message = redactor.redactText(error.message)
    return message === error.message ? error : error.with({ message })
  }

  function redactEvent(event: NormalizedEvent): NormalizedEvent {
    return event.type === 'error' ? { ...event, error: redactError(event.error) } : event
  }

  return {
    rethrow(thrown) {
      throw GatewayError.is(thrown) ? redactError(thrown) : thrown
    },
    around: sink => new RedactedSink(sink, redactEvent)
  }
}

/** Every request creates one; a class spares it a closure for each method. */
class RedactedSink implements ResponseSink {
  readonly #sink: ResponseSink
  readonly #redact: (event: NormalizedEvent) => NormalizedEvent

  constructor(sink: ResponseSink, redact: (event: NormalizedEvent) => NormalizedEvent) {
    this.#sink = sink
    this.#redact = redact
  }

  push(events: readonly NormalizedEvent[]): boolean {
    // An error is the last event of its stream.
    return this.#sink.push(events.at(-1)?.type === 'error' ? events.map(this.#redact) : events)
  }

  relay(head: RelayHead): ByteSink {
    return this.#sink.relay(head)
  }

  whenDrained(): Promise<void> {
    return this.#sink.whenDrained()
  }
}
