// Removes credentials, those of the gateway and those that a client brought, from texts that a client receives and from log lines,
// because a provider that explains a refusal may repeat what it received.

import type { Logger } from '../../../shared/logging.ts'
import { createRedactor, REDACTED, type Redactor } from '../../../shared/secrets/redaction.ts'
import { GatewayError, type NormalizedEvent } from '../../normalized/index.ts'
import type { ResponseSink } from '../types.ts'

export interface ErrorRedaction {
  /** Throws what was thrown; in the message of a `GatewayError` the secrets are masked. */
  rethrow(thrown: unknown): never
  /** A sink that passes everything on, and errors with the secrets in their messages masked. */
  wrapSink(sink: ResponseSink): ResponseSink
  /** A logger whose lines have the secrets masked. */
  protect(log: Logger): Logger
}

interface KnownSecrets {
  secrets: readonly string[]
  redactor: Redactor
}

/**
 * Creates the redaction of one executor.
 * @param listSecrets texts that no client may see, wherever they occur. It returns another array when they change; it is asked when
 * something fails, so that a credential without failures costs nothing.
 */
export function createErrorRedaction(listSecrets: () => readonly string[]): ErrorRedaction {
  let current: KnownSecrets | undefined

  function findRedactor(): KnownSecrets {
    const secrets = listSecrets()
    if (current?.secrets !== secrets) current = { secrets, redactor: createRedactor({ knownSecrets: secrets }) }
    return current
  }

  function redactError(error: GatewayError): GatewayError {
    const { secrets, redactor } = findRedactor()
    const mask = (text: string) => maskCutSecret(redactor.redactText(text), secrets)
    const message = mask(error.message)
    const { providerCode, providerParam } = error
    // A record with content has it.
    const providerText = error.providerText === undefined ? undefined : mask(error.providerText)
    const isKept = [providerCode, providerParam].every(word => word === undefined || redactor.redactText(word) === word)
    if (!isKept) return error.with({ message, providerText, providerCode: undefined, providerParam: undefined })
    const isSame = message === error.message && providerText === error.providerText
    return isSame ? error : error.with({ message, providerText })
  }

  function redactEvent(event: NormalizedEvent): NormalizedEvent {
    return event.type === 'error' ? { ...event, error: redactError(event.error) } : event
  }

  return {
    rethrow(thrown) {
      throw GatewayError.is(thrown) ? redactError(thrown) : thrown
    },
    wrapSink: sink => new RedactedSink(sink, redactEvent),
    protect: log => log.child({}, { formatters: { log: fields => redactFields(fields, findRedactor()) } })
  }
}

function redactFields(fields: object, { secrets, redactor }: KnownSecrets): Record<string, unknown> {
  const redacted = redactor.redactValue(fields) as Record<string, unknown>
  // The face cuts the words of a provider to a length.
  if (typeof redacted.provider_text !== 'string') return redacted
  return { ...redacted, provider_text: maskCutSecret(redacted.provider_text, secrets) }
}

/** A shorter piece of a secret at the end of a text is not recognised: it may be the beginning of any word. */
const PIECE_LENGTH_MIN = 8

/** Masks the beginning of a secret at the end of a text: the face cuts the provider's messages to a length. */
function maskCutSecret(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    if (secret.length <= PIECE_LENGTH_MIN) continue
    const beginning = secret.slice(0, PIECE_LENGTH_MIN)
    for (let at = text.indexOf(beginning); at >= 0; at = text.indexOf(beginning, at + 1)) {
      if (secret.startsWith(text.slice(at))) return text.slice(0, at) + REDACTED
    }
  }
  return text
}

/** Every request creates one; a class spares it a closure for each method. */
class RedactedSink implements ResponseSink {
  readonly #sink: ResponseSink
  readonly #redact: (event: NormalizedEvent) => NormalizedEvent

  constructor(sink: ResponseSink, redact: (event: NormalizedEvent) => NormalizedEvent) {
    this.#sink = sink
    this.#redact = redact
  }

  push(events: readonly NormalizedEvent[], bytes?: Uint8Array): boolean {
    // An error is the last event of its stream.
    return this.#sink.push(events.at(-1)?.type === 'error' ? events.map(this.#redact) : events, bytes)
  }

  whenDrained(): Promise<void> {
    return this.#sink.whenDrained()
  }
}
