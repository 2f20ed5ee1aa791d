// The lines with what a client sent and what it got, in DEBUG (operations contract, section 12). Loaded only then: they cost more than the
// request itself. In PROD the log leaves the payloads out.
import type { Logger } from '../../shared/logging.ts'
import type { Settings } from '../../shared/settings.ts'
import type { RequestContext } from './request-context.ts'

export interface PayloadLog {
  /** The body of a model request has arrived. */
  request(context: RequestContext): void
  /** A model request gets this whole response. */
  response(context: RequestContext, body: string | Uint8Array): void
  /** A model request gets this piece of its stream. */
  chunk(context: RequestContext, piece: string | Uint8Array): void
}

/** Enough to see what was sent, and little enough to keep a debug log small. */
const LOGGED_BYTES_MAX = 64 * 1024

/** Creates the log; undefined unless the level is DEBUG. */
export function createPayloadLog({ log, settings }: { log: Logger; settings: Pick<Settings, 'mode'> }): PayloadLog {
  const isShown = settings.mode === 'DEV'
  const describe = (content: string | Uint8Array) => (isShown ? readPayload(content) : '')
  return {
    request(context) {
      if (!context.isModelRequest) return
      const fields = { event: 'client_request_payload', ...context.logIds, route: context.route }
      log.debug({ ...fields, payload: describe(context.body) }, 'Client request')
    },
    response(context, body) {
      if (!context.isModelRequest) return
      const fields = { event: nameResponse(context), ...context.logIds, status: context.outgoing.statusCode }
      log.debug({ ...fields, response: describe(body) }, 'Client response')
    },
    chunk(context, piece) {
      if (!context.isModelRequest) return
      const event = isResponses(context) ? 'responses_stream_chunk' : 'stream_chunk'
      log.debug({ event, ...context.logIds, response: describe(piece) }, 'Client stream')
    }
  }
}

function isResponses({ route }: RequestContext): boolean {
  return route.endsWith('/responses')
}

function nameResponse(context: RequestContext): string {
  if (isResponses(context)) return 'responses_api_response'
  if (context.route.endsWith('/embeddings')) return 'embeddings_response'
  switch (context.family) {
    case 'messages':
      return 'anthropic_message_response'
    case 'content':
      return 'gemini_response'
    default:
      return 'chat_completion_response'
  }
}

/** JSON as a value, because the log masks secret members by their names; anything else, and what is too long, as text. */
function readPayload(content: string | Uint8Array): unknown {
  if (content.length > LOGGED_BYTES_MAX) return readText(content.slice(0, LOGGED_BYTES_MAX))
  const text = readText(content)
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function readText(content: string | Uint8Array): string {
  return typeof content === 'string' ? content : Buffer.from(content).toString('utf8')
}
