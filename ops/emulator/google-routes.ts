// Finds what a call of the Google GenAI wire asks for: the model and the method are in its path.
import type { ChatWire } from './chat-wire.ts'
import { readJson } from './endpoints.ts'
import { UpstreamError } from './errors.ts'
import { type Exchange, sendJson } from './exchange.ts'
import { createGoogleChat } from './google-chat.ts'
import { invalidApiKey, missingApiKey } from './google-errors.ts'
import {
  countGoogleTokens,
  embedGoogleContent,
  embedGoogleContents,
  findGoogleModel,
  listGoogleModels
} from './google-resources.ts'
import type { EmulatorState } from './state.ts'

export const GOOGLE_PATH = '/google'

export interface GoogleRoute {
  /** The name of a further provider; undefined for the first one. */
  provider: string | undefined
  /** Route name in the `byRoute` counters. */
  name: string
  method: 'GET' | 'POST'
  handle: { chat: ChatWire } | { respond: (exchange: Exchange, body: Buffer, state: EmulatorState) => void }
}

/** `/google/v1beta` or `/google/v1` and, for a provider with a name, `/google/<name>/v1beta`. */
const googlePath = /^\/google(?:\/([^/]+))?\/(?:v1beta|v1)(\/.*)?$/
const methodPath = /^\/models\/(.+):([^:/]+)$/

/** True for a path of this wire. */
export function isGooglePath(path: string): boolean {
  return path === GOOGLE_PATH || path.startsWith(`${GOOGLE_PATH}/`)
}

/** True for a stream that is one JSON array, and whose errors are in one too. */
export function isGoogleArray({ path, record }: Exchange): boolean {
  return path.endsWith(':streamGenerateContent') && new URLSearchParams(record.query).get('alt') !== 'sse'
}

/** Finds the route of a path; throws UpstreamError 404 when there is none. */
export function findGoogleRoute(exchange: Exchange): GoogleRoute {
  const match = googlePath.exec(exchange.path)
  if (match === null) throw new UpstreamError(404, 'Not Found')
  const [, provider, rest = ''] = match
  const called = methodPath.exec(rest)
  if (called !== null)
    return findMethod(exchange, { provider, model: decode(called[1] ?? ''), method: called[2] ?? '' })
  if (rest === '/models') {
    const respond = (one: Exchange) => sendJson(one, 200, listGoogleModels(new URLSearchParams(one.record.query)))
    return { provider, name: '/models', method: 'GET', handle: { respond } }
  }
  if (!rest.startsWith('/models/')) throw new UpstreamError(404, 'Not Found')
  const respond = (one: Exchange) => sendJson(one, 200, findGoogleModel(decode(rest.slice('/models/'.length))))
  return { provider, name: '/models/{id}', method: 'GET', handle: { respond } }
}

const resources: Record<string, (body: unknown, model: string) => unknown> = {
  countTokens: countGoogleTokens,
  embedContent: embedGoogleContent,
  batchEmbedContents: embedGoogleContents
}

function findMethod(
  exchange: Exchange,
  { provider, model, method }: { provider: string | undefined; model: string; method: string }
): GoogleRoute {
  const route = { provider, name: `/models/{id}:${method}`, method: 'POST' as const }
  if (method === 'generateContent' || method === 'streamGenerateContent') {
    const isStream = method === 'streamGenerateContent'
    return { ...route, handle: { chat: createGoogleChat({ model, isStream, isArray: isGoogleArray(exchange) }) } }
  }
  const write = Object.hasOwn(resources, method) ? resources[method] : undefined
  if (write === undefined) throw new UpstreamError(404, 'Not Found')
  const respond = (one: Exchange, body: Buffer, state: EmulatorState) =>
    sendJson(one, 200, write(readJson(one, body, state), model))
  return { ...route, handle: { respond } }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Checks the key, which is in a header or in the query. Throws GoogleError 403 without one and 400 for a wrong one. */
export function authorizeGoogle(exchange: Exchange, state: EmulatorState, provider: string | undefined): void {
  const { googleApiKey, googleApiKeys } = state.settings
  const header = exchange.request.headers['x-goog-api-key']
  const sent =
    typeof header === 'string' ? header : (new URLSearchParams(exchange.record.query).get('key') ?? undefined)
  const named = provider !== undefined && Object.hasOwn(googleApiKeys, provider) ? googleApiKeys[provider] : undefined
  const key = provider === undefined ? (googleApiKey ?? undefined) : named
  if (key === undefined || (key === null ? sent === undefined : sent === key)) return
  state.recorder.stats.unauthorized++
  throw sent === undefined ? missingApiKey() : invalidApiKey()
}
