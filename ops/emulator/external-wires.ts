// The wires of external providers: where the emulator serves them, and the key that each call must carry.
import { createAnthropicChat } from './anthropic/chat.ts'
import { invalidMember, sendAnthropicError } from './anthropic/errors.ts'
import { anthropicEndpoints, openAiEndpoints, responsesEndpoints } from './endpoints.ts'
import { UpstreamError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { ExternalWire } from './external-wire.ts'
import { googleWire } from './google/wire.ts'
import { openAiChat, sendOpenAiError } from './openai/chat.ts'
import { createResponsesChat } from './responses/chat.ts'
import { sendResponsesError } from './responses/errors.ts'
import type { EmulatorSettings } from './settings.ts'

/** The wires by the first segment of their paths. */
const wires: Readonly<Record<string, ExternalWire>> = {
  anthropic: {
    findChat: (path, exchange) => (path === '/messages' ? createAnthropicChat(exchange) : undefined),
    endpoints: anthropicEndpoints,
    readKey: ({ request }) => readHeader(request.headers['x-api-key']),
    refuseKey: () => new UpstreamError(401, 'invalid x-api-key'),
    checkHeaders: ({ request }) => {
      if (request.headers['anthropic-version'] === undefined)
        throw invalidMember('anthropic-version', 'header is required')
    },
    sendError: sendAnthropicError
  },
  openai: {
    findChat: path => (path === '/chat/completions' ? openAiChat : undefined),
    endpoints: openAiEndpoints,
    readKey: ({ request }) => /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1],
    refuseKey: () => new UpstreamError(401, 'Incorrect API key provided'),
    sendError: sendOpenAiError
  },
  google: googleWire,
  'responses-provider': {
    findChat: path => (path === '/responses' ? createResponsesChat() : undefined),
    endpoints: responsesEndpoints,
    readKey: ({ request }) => /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1],
    refuseKey: () => new UpstreamError(401, 'Incorrect API key provided'),
    sendError: sendResponsesError
  }
}

function readHeader(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export interface ExternalPlace {
  wire: ExternalWire
  /** The base path, such as `/openai/v1`, and `/openai/<name>/v1` for a provider with a name. */
  base: string
  provider: string | undefined
  /** The path below the base. */
  rest: string
}

const externalPath = /^(\/([a-z-]+)(?:\/([^/]+))?\/(?:v1|v1beta))(\/.*)$/

/** Finds the wire of a path; undefined for every other path. */
export function findExternalPlace(path: string): ExternalPlace | undefined {
  const match = externalPath.exec(path)
  const segment = match?.[2] ?? ''
  const wire = Object.hasOwn(wires, segment) ? wires[segment] : undefined
  if (match === null || wire === undefined) return undefined
  return { wire, base: match[1] ?? '', provider: match[3], rest: match[4] ?? '' }
}

/** Checks the key of a call. Throws UpstreamError for a key that the provider does not accept. */
export function authorizeExternal(
  exchange: Exchange,
  { wire, provider }: ExternalPlace,
  settings: EmulatorSettings
): void {
  const sent = wire.readKey(exchange)
  if (!acceptsKey(sent, provider, settings)) throw wire.refuseKey(sent)
}

function acceptsKey(sent: string | undefined, provider: string | undefined, settings: EmulatorSettings): boolean {
  const { chatApiKey, chatApiKeys } = settings
  if (provider === undefined) return chatApiKey === null || sent === chatApiKey
  if (!Object.hasOwn(chatApiKeys, provider)) return true
  // Null: a provider that refuses every key.
  return sent === (chatApiKeys[provider] ?? undefined)
}
