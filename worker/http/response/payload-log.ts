// The lines with what a client sent and what it got, in DEBUG (operations.md 12). Loaded only then:
// they cost more than the request itself. In PROD the log leaves the payloads out.
import type { Logger } from '../../../shared/logging.ts'
import { createRedactor } from '../../../shared/secrets/redaction.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { LogIds } from '../../observation/observer.ts'
import type { Family, Operation, PayloadEvents } from '../../operations/operation.ts'
import { listAuthorizationTexts } from '../../providers/pass-token.ts'
import type { UpstreamAuthorization } from '../../providers/types.ts'

/** What the log needs of a request. */
export interface LoggedRequest {
  readonly isModelRequest: boolean
  readonly route: string
  readonly operation: Pick<Operation, 'payloadEvents'> | undefined
  readonly family: Family
  readonly logIds: LogIds
  readonly authorization: UpstreamAuthorization
  readonly body: Uint8Array
  readonly outgoing: { readonly statusCode: number }
}

export interface PayloadLog {
  /** The body of a model request has arrived. */
  request(request: LoggedRequest): void
  /** A model request gets this whole response. */
  response(request: LoggedRequest, body: string | Uint8Array): void
  /** A model request gets this piece of its stream. */
  chunk(request: LoggedRequest, piece: string | Uint8Array): void
}

/** Enough to see what was sent, and little enough to keep a debug log small. */
const LOGGED_BYTES_MAX = 64 * 1024

/** Creates the log; undefined unless the level is DEBUG. */
export function createPayloadLog({ log, settings }: { log: Logger; settings: Pick<Settings, 'mode'> }): PayloadLog {
  const isShown = settings.mode === 'DEV'
  const describe = (request: LoggedRequest, content: string | Uint8Array) =>
    isShown ? readPayload(content, maskAuthorization(request)) : ''
  return {
    request(request) {
      if (!request.isModelRequest) return
      const fields = { event: 'client_request_payload', ...request.logIds, route: request.route }
      log.debug({ ...fields, payload: describe(request, request.body) }, 'Client request')
    },
    response(request, body) {
      if (!request.isModelRequest) return
      const fields = { event: nameEvents(request).response, ...request.logIds, status: request.outgoing.statusCode }
      log.debug({ ...fields, response: describe(request, body) }, 'Client response')
    },
    chunk(request, piece) {
      if (!request.isModelRequest) return
      log.debug(
        { event: nameEvents(request).chunk, ...request.logIds, response: describe(request, piece) },
        'Client stream'
      )
    }
  }
}

const completionEvents: PayloadEvents = { response: 'chat_completion_response', chunk: 'stream_chunk' }
const EVENTS_OF_FAMILY: Readonly<Record<Family, PayloadEvents>> = {
  completions: completionEvents,
  messages: { response: 'anthropic_message_response', chunk: 'stream_chunk' },
  content: { response: 'gemini_response', chunk: 'stream_chunk' },
  system: completionEvents
}

function nameEvents({ operation, family }: LoggedRequest): PayloadEvents {
  return operation?.payloadEvents ?? EVENTS_OF_FAMILY[family]
}

/**
 * Masks what the client brought for the upstream, wherever it repeats it; the log itself knows only
 * the gateway's own secrets.
 */
function maskAuthorization({ authorization }: LoggedRequest): (text: string) => string {
  const knownSecrets = listAuthorizationTexts(authorization)
  return knownSecrets.length === 0 ? text => text : createRedactor({ knownSecrets }).redactText
}

/**
 * JSON as a value, because the log masks secret members by their names; anything else, and what is
 * too long, as text.
 */
function readPayload(content: string | Uint8Array, mask: (text: string) => string): unknown {
  if (content.length > LOGGED_BYTES_MAX) return mask(readText(content.slice(0, LOGGED_BYTES_MAX)))
  const text = mask(readText(content))
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function readText(content: string | Uint8Array): string {
  return typeof content === 'string' ? content : Buffer.from(content).toString('utf8')
}
