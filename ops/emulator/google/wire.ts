// Where the Google GenAI wire has what: the model and the method of a call are in its path, the key is in a header or in the query.
import { type Endpoint, readJson } from '../endpoints.ts'
import { type Exchange, sendJson } from '../exchange.ts'
import type { ExternalWire } from '../external-wire.ts'
import { createGoogleChat } from './chat.ts'
import { invalidApiKey, missingApiKey, sendGoogleError } from './errors.ts'
import {
  countGoogleTokens,
  embedGoogleContent,
  embedGoogleContents,
  findGoogleModel,
  listGoogleModels
} from './resources.ts'

const chatPath = /^\/models\/(.+):(generateContent|streamGenerateContent)$/
const modelInPath = /\/models\/(.+?)(?::[^:/]+)?$/

function readQuery({ record }: Exchange): URLSearchParams {
  return new URLSearchParams(record.query)
}

/** True for a stream that is one JSON array, and whose errors are in one too. */
function isArray(exchange: Exchange): boolean {
  return exchange.path.endsWith(':streamGenerateContent') && readQuery(exchange).get('alt') !== 'sse'
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

function readModel(exchange: Exchange): string {
  return decode(modelInPath.exec(exchange.path)?.[1] ?? '')
}

function createMethod(method: string, write: (body: unknown, model: string) => unknown): Endpoint {
  return {
    method: 'POST',
    pattern: new RegExp(`^/models/.+:${method}$`),
    name: `/models/{id}:${method}`,
    handler: (exchange, body, state) =>
      sendJson(exchange, 200, write(readJson(exchange, body, state), readModel(exchange)))
  }
}

/** The Google GenAI wire. */
export const googleWire: ExternalWire = {
  findChat(path, exchange) {
    const match = chatPath.exec(path)
    if (match === null) return undefined
    const isStream = match[2] === 'streamGenerateContent'
    return createGoogleChat({ model: decode(match[1] ?? ''), isStream, isArray: isArray(exchange) })
  },
  endpoints: [
    createMethod('countTokens', countGoogleTokens),
    createMethod('embedContent', embedGoogleContent),
    createMethod('batchEmbedContents', embedGoogleContents),
    {
      method: 'GET',
      pattern: /^\/models$/,
      name: '/models',
      handler: exchange => sendJson(exchange, 200, listGoogleModels(readQuery(exchange), exchange.path))
    },
    {
      method: 'GET',
      pattern: /^\/models\/[^:]+$/,
      name: '/models/{id}',
      handler: exchange => sendJson(exchange, 200, findGoogleModel(readModel(exchange)))
    }
  ],
  readKey(exchange) {
    const header = exchange.request.headers['x-goog-api-key']
    return typeof header === 'string' ? header : (readQuery(exchange).get('key') ?? undefined)
  },
  refuseKey: sent => (sent === undefined ? missingApiKey() : invalidApiKey()),
  sendError: (exchange, error) => sendGoogleError(exchange, error, isArray(exchange))
}
