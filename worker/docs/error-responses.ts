// The error responses of every family, as components: their bodies, and the headers of each status
// (operations.md 1.1).
import { LIMIT_HEADERS, limitHeaders } from './limit-headers.ts'
import { type JsonSchema, schemaReference } from './schema.ts'

/** The form of an error body. `by-client`: the client's headers select one of three. */
export type ErrorForm = 'completions' | 'messages' | 'content' | 'by-client' | 'system' | 'machine'

const SCHEMAS: Readonly<Record<ErrorForm, JsonSchema>> = {
  completions: reference('CompletionsError'),
  messages: reference('MessagesError'),
  content: reference('ContentError'),
  'by-client': { anyOf: [reference('CompletionsError'), reference('MessagesError'), reference('ContentError')] },
  system: reference('SystemError'),
  machine: reference('MachineError')
}

const NAMES: Readonly<Record<ErrorForm, string>> = {
  completions: 'Completions',
  messages: 'Messages',
  content: 'Content',
  'by-client': 'Models',
  system: 'System',
  machine: 'Machine'
}

interface ErrorStatus {
  text: string
  headers?: readonly string[]
}

const RETRY = ['Retry-After']

/** What each status means. */
const STATUSES: Readonly<Record<string, ErrorStatus>> = {
  400: { text: 'The request is invalid, or the upstream rejected it.' },
  401: {
    text: 'The gateway key is missing or wrong, or the upstream did not accept the credentials.',
    headers: ['WWW-Authenticate']
  },
  403: { text: 'Access is denied, by the gateway or by the upstream.' },
  404: { text: 'Nothing of this name exists.' },
  405: { text: 'The path is served with other methods.', headers: ['Allow'] },
  408: { text: 'The request body did not arrive in time.' },
  409: { text: 'The record does not allow it.' },
  413: { text: 'The request body or an attachment is too large.' },
  415: { text: 'The content encoding or a media type is not supported.' },
  422: { text: 'The upstream could not process the request.' },
  429: {
    text: 'A limit or the budget of the key is reached, a concurrency limit is reached, or the upstream limits requests.',
    headers: RETRY
  },
  '4XX': { text: 'The head of the request is invalid, or another refusal of the upstream with its status.' },
  500: { text: 'The upstream failed, or the gateway has a fault.', headers: ['X-Should-Retry'] },
  501: { text: 'The transfer coding is not supported.' },
  502: { text: 'The upstream could not be reached, or sent a response that cannot be used.' },
  503: {
    text: 'The gateway is not ready or has no capacity left, the limits of the key cannot be checked, or the upstream is unavailable.',
    headers: RETRY
  },
  504: { text: 'The upstream did not respond in time.' }
}

/** What the status means on system routes, where no upstream is called. */
const SYSTEM_TEXTS: Readonly<Record<string, string>> = {
  400: 'The request is invalid.',
  401: 'The gateway key is missing or wrong.',
  403: 'Access is denied.',
  422: 'A query or path parameter is invalid.',
  429: 'Too many requests of this kind are open.',
  '4XX': 'The head of the request is invalid.',
  500: 'The gateway has a fault.',
  502: 'The upstream could not be reached, or a replay got no response.',
  503: 'The gateway is not ready, or its traffic log cannot be asked.'
}

/** Statuses with which the stages before every handler can respond. */
const STATUSES_OF_STAGES = ['4XX', 500, 501]
/** Those of operations that call the upstream. */
export const UPSTREAM_STATUSES = [400, 401, 403, 404, 408, 413, 415, 422, 429, 502, 503, 504]
/** Those of model lists, which have no body and read the catalog. */
export const CATALOG_STATUSES = [400, 401, 403, 404, 408, 429, 502, 503, 504]

/** References to the error responses of an operation, by status. */
export function referToErrors(form: ErrorForm, statuses: readonly number[]): Record<string, JsonSchema> {
  const all = [...new Set([...statuses, ...STATUSES_OF_STAGES])].map(String).sort()
  return Object.fromEntries(all.map(status => [status, { $ref: `#/components/responses/${nameOf(form, status)}` }]))
}

/** The responses that `references` name, as components. */
export function writeErrorResponses(used: ReadonlySet<string>): Record<string, JsonSchema> {
  const responses: Record<string, JsonSchema> = {}
  for (const form of Object.keys(SCHEMAS) as ErrorForm[]) {
    for (const status of Object.keys(STATUSES)) {
      const name = nameOf(form, status)
      if (used.has(`#/components/responses/${name}`)) responses[name] = writeErrorResponse(form, status)
    }
  }
  return responses
}

function writeErrorResponse(form: ErrorForm, status: string): JsonSchema {
  const { text, headers = [] } = STATUSES[status] ?? { text: 'An error.' }
  const isSystem = form === 'system' || form === 'machine'
  const named = status === '429' ? LIMIT_HEADERS[form] : undefined
  const ofLimits = named === undefined ? [] : ['X-Should-Retry', ...named]
  return {
    description: (isSystem ? SYSTEM_TEXTS[status] : undefined) ?? text,
    headers: writeHeaders(form, [...headers, ...ofLimits]),
    content: { 'application/json': { schema: SCHEMAS[form] } }
  }
}

const NOTICE = 'X-Gateway-Ignored'
const COMMON_HEADERS = ['X-Request-Id', 'Server-Timing']

/** Headers of every response of a family; where the client selects the family, some have them. */
const FAMILY_HEADERS: Readonly<Partial<Record<ErrorForm, readonly string[]>>> = {
  completions: ['OpenAI-Processing-Ms', NOTICE],
  messages: ['Request-Id', NOTICE],
  content: [NOTICE],
  'by-client': ['OpenAI-Processing-Ms', 'Request-Id']
}

/** References to the headers that every response of the form has, and to those of `names`. */
export function writeHeaders(form: ErrorForm, names: readonly string[]): Record<string, JsonSchema> {
  const all = [...COMMON_HEADERS, ...(FAMILY_HEADERS[form] ?? []), ...names]
  return Object.fromEntries(all.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The headers of responses. */
export const headers: Readonly<Record<string, JsonSchema>> = {
  'X-Request-Id': {
    description: 'The id that the gateway gave the request.',
    required: true,
    schema: { type: 'string', format: 'uuid' }
  },
  'Server-Timing': {
    description: 'Milliseconds until the response began.',
    required: true,
    schema: { type: 'string' }
  },
  'OpenAI-Processing-Ms': {
    description: 'The same in whole milliseconds, under the name that SDKs of the completions family read.',
    schema: { type: 'string', pattern: '^\\d+$' }
  },
  'Request-Id': {
    description: 'The id of the request, under the name that SDKs of the messages family read.',
    schema: { type: 'string', format: 'uuid' }
  },
  [NOTICE]: {
    description: 'The fields of the request that had no effect, at most 1 KiB of names.',
    schema: { type: 'string' }
  },
  'Retry-After': {
    description: 'Seconds to wait before another attempt, or a date.',
    schema: { type: 'string' }
  },
  'WWW-Authenticate': { description: 'Sent when the gateway key is missing or wrong.', schema: { const: 'Bearer' } },
  Allow: { description: 'The methods that the path is served with.', schema: { type: 'string' } },
  'X-Should-Retry': {
    description: '`false` where another attempt with the same request would fail again.',
    schema: { const: 'false' }
  },
  ...limitHeaders,
  'X-Gateway-Token-Count': {
    description: '`estimate` where the gateway counted the tokens itself, because the provider cannot.',
    schema: { const: 'estimate' }
  }
}

function nameOf(form: ErrorForm, status: string): string {
  return `${NAMES[form]}${status}`
}

function reference(name: string): JsonSchema {
  return { $ref: schemaReference(name) }
}
