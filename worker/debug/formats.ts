// The formats of translations, and how a client's format is read and written.

import { nameModel } from '../bridge/name-model.ts'
import type { ChatConfiguration } from '../bridge/plan-chat.ts'
import { resolveRoute } from '../bridge/resolve-route.ts'
import { standInFor } from '../bridge/stand-in.ts'
import {
  assertBounded,
  type ClientProtocol,
  isJsonObject,
  type JsonObject,
  type NormalizedRequest
} from '../normalized/index.ts'
import type { ReadContext } from '../protocols/client-face.ts'
import { writeCompletionsRequest } from '../protocols/completions/client/write-request.ts'
import { writeContentRequest } from '../protocols/content/client/write-request.ts'
import { writeMessagesRequest } from '../protocols/messages/client/write-request.ts'
import { clientFaces, type ProviderFaces } from '../protocols/registry.ts'
import { writeResponsesRequest } from '../protocols/responses/client/write-request.ts'
import { readModelAlone } from '../protocols/shared/model.ts'
import { invalidDebugRequest } from './errors.ts'
import type { DebugContext } from './job.ts'

/** Client protocols by the name of their format. */
export const protocolsByFormat = {
  openai: 'completions',
  responses: 'responses',
  anthropic: 'messages',
  gemini: 'content'
} as const satisfies Record<string, ClientProtocol>

export type ClientFormat = keyof typeof protocolsByFormat
export type Format = ClientFormat | 'normalized' | 'upstream'

const FORMATS: ReadonlySet<string> = new Set([...Object.keys(protocolsByFormat), 'normalized', 'upstream'])

/** This text is fixed (operations.md 10.1); `gemini` and `responses` are extensions. */
const FORMATS_TEXT = 'anthropic, normalized, openai, upstream'

const SHOWN_CHARACTERS_MAX = 200

/** Reads `from` or `to`. Raises `invalid_request`. */
export function readFormat(body: JsonObject, member: 'from' | 'to'): Format {
  const value = body[member]
  if (typeof value !== 'string' || value.trim() === '') {
    throw invalidDebugRequest(`Expected ${member} to be one of: ${FORMATS_TEXT}`)
  }
  const format = value.trim().toLowerCase()
  if (FORMATS.has(format)) return format as Format
  throw invalidDebugRequest(`Unsupported ${member} format: ${value.slice(0, SHOWN_CHARACTERS_MAX)}`)
}

export function isClientFormat(format: Format): format is ClientFormat {
  return Object.hasOwn(protocolsByFormat, format)
}

/** Where a protocol's model and streaming are outside of the body. */
export interface OutsideBody {
  model?: string | undefined
  isStream?: boolean | undefined
}

/** Reads a body of a client's format as its route does. Raises the errors of the client face. */
export function readClientRequest(
  format: ClientFormat,
  body: JsonObject,
  context: DebugContext,
  outside: OutsideBody = {}
): NormalizedRequest {
  const request = clientFaces[protocolsByFormat[format]].readRequest(body, createReadContext(format, context, outside))
  return completeRequest(request, outside)
}

/** Like `readClientRequest`, for a body that goes to its route: a wrong shape may be the provider's to refuse there. */
export function readRoutedRequest(
  format: ClientFormat,
  body: JsonObject,
  context: DebugContext,
  outside: OutsideBody,
  { settings, faces }: { settings: ChatConfiguration; faces: ProviderFaces }
): NormalizedRequest {
  const protocol = protocolsByFormat[format]
  const readContext = createReadContext(format, context, outside)
  const findPlan = () =>
    resolveRoute(readModelAlone(body, readContext), context.apiMode, {
      routes: settings.routes,
      faces,
      scope: context.scope
    })
  try {
    return readClientRequest(format, body, context, outside)
  } catch (thrown) {
    const named = nameModel(thrown, readModelAlone(body, readContext).model)
    return completeRequest(standInFor(named, { protocol, body, context: readContext, findPlan }, faces), outside)
  }
}

function completeRequest(request: NormalizedRequest, outside: OutsideBody): NormalizedRequest {
  if (request.model === undefined && outside.model !== undefined) request.model = outside.model
  assertBounded(request)
  return request
}

function createReadContext(
  format: ClientFormat,
  { requestId, attachmentIds, storesByDefault }: DebugContext,
  { model, isStream = false }: OutsideBody
): ReadContext {
  if (format === 'responses') return { requestId, attachmentIds, storesByDefault }
  return format === 'gemini' && model !== undefined ? { requestId, path: { model, isStream } } : { requestId }
}

const MODEL_PREFIX = 'models/'

/** The model that a body of the content protocol names beside its path. */
export function readModelMember({ model }: JsonObject): string | undefined {
  if (typeof model !== 'string') return undefined
  const id = model.startsWith(MODEL_PREFIX) ? model.slice(MODEL_PREFIX.length) : model
  return id.trim() === '' ? undefined : id
}

const requestWriters: Readonly<Record<ClientFormat, (request: NormalizedRequest) => JsonObject>> = {
  openai: writeCompletionsRequest,
  responses: writeResponsesRequest,
  anthropic: writeMessagesRequest,
  gemini: writeContentRequest
}

/** Writes a request in a client's format. What the format has no place for is left out. */
export function writeClientRequest(format: ClientFormat, request: NormalizedRequest): JsonObject {
  return requestWriters[format](request)
}

/** The object under `member`, or the whole object where it is not wrapped. */
export function unwrap(payload: JsonObject, member: 'normalized' | 'response'): JsonObject | undefined {
  if (!Object.hasOwn(payload, member)) return payload
  const inner = payload[member]
  return isJsonObject(inner) ? inner : undefined
}
