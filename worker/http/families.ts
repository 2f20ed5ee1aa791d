// Decides which client protocol a request belongs to: by its path, and on the shared model lists by the client's headers.
import type { IncomingHttpHeaders } from 'node:http'
import type { Protocol } from '../observation/observer.ts'

/** The protocol whose form a response takes; `system` is everything that is no client protocol. */
export type Family = 'completions' | 'messages' | 'content' | 'system'

/** The protocol of a family in the words of logs, metrics and records (operations.md 7.4). */
export const PROTOCOL_OF_FAMILY: Readonly<Record<Family, Protocol>> = {
  completions: 'openai',
  messages: 'anthropic',
  content: 'gemini',
  system: 'system'
}

/** Values of a query string, as the router parsed them. */
export type QueryValues = Readonly<Record<string, string | string[] | undefined>>

/**
 * Family of the shared `/models` routes, from what the SDKs say about themselves (bridge.md 6.3).
 * The messages headers win over the content headers, because that SDK is also used through proxies
 * that add Google headers.
 */
export function detectModelsFamily(headers: IncomingHttpHeaders, query: QueryValues): Family {
  const userAgent = headers['user-agent']?.toLowerCase() ?? ''
  if (headers['anthropic-version'] !== undefined || headers['anthropic-beta'] !== undefined) return 'messages'
  if (userAgent.startsWith('anthropic/')) return 'messages'
  if (
    headers['x-goog-api-client'] !== undefined ||
    headers['x-goog-api-key'] !== undefined ||
    headers['x-goog-user-project'] !== undefined ||
    query.key !== undefined
  ) {
    return 'content'
  }
  const isContentAgent =
    userAgent.includes('google-generative-ai') || userAgent.startsWith('google-genai') || userAgent.startsWith('genai/')
  return isContentAgent ? 'content' : 'completions'
}

/**
 * Family whose error form is used for a path that no route serves (operations.md 1.1). The path is
 * repaired and without its query.
 */
export function familyOfPath(path: string, headers: IncomingHttpHeaders, query: QueryValues): Family {
  const segments = path.split('/').filter(segment => segment !== '')
  const isVersioned = segments[0] === 'v1' || segments[0] === 'v2'
  switch (isVersioned ? segments[1] : segments[0]) {
    case 'messages':
      return 'messages'
    case 'v1beta':
    case 'tunedModels':
      return 'content'
    case 'models':
      return segments.at(-1)?.includes(':') === true ? 'content' : detectModelsFamily(headers, query)
    case 'chat':
    case 'completions':
    case 'responses':
    case 'embeddings':
    case 'files':
    case 'batches':
    case 'model':
      return 'completions'
    default:
      return isVersioned ? 'completions' : 'system'
  }
}
