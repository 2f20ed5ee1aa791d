// The translations between clients' formats, the normalized form and providers' bodies
// (operations.md 10). Pure: no call to a provider, no upload, no state.

import { assertNever, isJsonObject, type JsonObject, type JsonValue, withoutRawJson } from '../normalized/index.ts'
import { clientFaces } from '../protocols/registry.ts'
import { invalidDebugRequest, onPayload } from './errors.ts'
import {
  type ClientFormat,
  type Format,
  isClientFormat,
  protocolsByFormat,
  readClientRequest,
  readFormat,
  readModelMember,
  unwrap,
  writeClientRequest
} from './formats.ts'
import type { DebugContext, TranslationEndpoint } from './job.ts'
import { findLosses, type Loss, listIgnored, listUnsent } from './loss.ts'
import { readRequestDocument } from './normalized/read-request.ts'
import { writeRequestDocument } from './normalized/write-request.ts'
import { writeResponseDocument } from './normalized/write-response.ts'
import { createPlaceholderRequest, readUpstreamResponse } from './read-upstream.ts'
import {
  type DebugEnvironment,
  planSelected,
  type RoutedRequest,
  type RouteSelection,
  readSelection,
  showUpstreamBody
} from './selected-route.ts'

/** What a translation starts from, besides the payload. */
interface Translation {
  payload: JsonObject
  selection: RouteSelection
  requestedModel: string | undefined
  /** Of the format whose streaming is not in its body. */
  isStream: boolean
}

interface Translated {
  payload: JsonValue
  intermediate: JsonObject
  loss: Loss[]
}

/**
 * Translates for one of the five endpoints. Raises `invalid_request` and
 * `invalid_normalized_payload`.
 */
export function translateDebug(
  endpoint: TranslationEndpoint,
  body: JsonObject,
  context: DebugContext,
  environment: DebugEnvironment
): JsonObject {
  switch (endpoint) {
    case 'translate':
      return translateAny(body, context, environment)
    case 'openai-to-normalized':
      return normalize('openai', body, context)
    case 'anthropic-to-normalized':
      return normalize('anthropic', body, context)
    case 'normalized-to-upstream': {
      const source = readNormalized(body, context)
      const selection = Object.hasOwn(body, 'normalized') ? readSelection(body, environment.settings) : {}
      return {
        source: 'normalized',
        target: 'upstream',
        openai_payload: writeClientRequest('openai', source.request),
        upstream_payload: writeUpstream(source, selection, context, environment)
      }
    }
    case 'upstream-to-openai': {
      const selection = Object.hasOwn(body, 'response') ? readSelection(body, environment.settings) : {}
      const translation = { payload: body, selection, requestedModel: undefined, isStream: false }
      const { payload, intermediate } = translateResponse('openai', translation, context, environment)
      return { source: 'upstream', target: 'openai', normalized: intermediate.normalized, openai: payload }
    }
    default:
      return assertNever(endpoint)
  }
}

function normalize(format: ClientFormat, body: JsonObject, context: DebugContext): JsonObject {
  const request = onPayload(() => readClientRequest(format, body, context))
  return {
    source: format,
    target: 'normalized',
    normalized: writeRequestDocument(request, protocolsByFormat[format])
  }
}

function translateAny(body: JsonObject, context: DebugContext, environment: DebugEnvironment): JsonObject {
  const from = readFormat(body, 'from')
  const to = readFormat(body, 'to')
  const { payload } = body
  if (!isJsonObject(payload)) throw invalidDebugRequest('Expected payload to be an object')
  if (from === to) return { from, to, payload }
  if (from === 'upstream' && to === 'anthropic') {
    throw invalidDebugRequest(`Unsupported translation pair: ${from} -> ${to}`)
  }
  const translation: Translation = {
    payload,
    selection: readSelection(body, environment.settings),
    requestedModel: readText(body.requested_model),
    isStream: body.stream === true
  }
  const translated =
    from === 'upstream'
      ? translateResponse(to, translation, context, environment)
      : translateRequest({ from, to }, translation, context, environment)
  const { intermediate } = translated
  return {
    from,
    to,
    payload: translated.payload,
    ...(Object.keys(intermediate).length === 0 ? {} : { intermediate }),
    ...(body.loss === true ? { loss: translated.loss.map(one => ({ ...one })) } : {})
  }
}

function translateRequest(
  { from, to }: { from: Exclude<Format, 'upstream'>; to: Format },
  translation: Translation,
  context: DebugContext,
  environment: DebugEnvironment
): Translated {
  const source = readSource(from, translation, context)
  const { request, protocol } = source
  const ignored = listIgnored(request)
  const normalized = writeRequestDocument(request, protocol)
  if (to === 'normalized') return { payload: normalized, intermediate: {}, loss: ignored }
  if (isClientFormat(to)) {
    const payload = writeClientRequest(to, request)
    // The response for this pair shows no intermediate form (operations.md 10.1).
    const intermediate: JsonObject = from === 'anthropic' && to === 'openai' ? {} : { normalized }
    const loss = [...ignored, ...findLosses(normalized, to, payload, context)]
    return { payload, intermediate, loss }
  }
  const openai = writeClientRequest('openai', request)
  const selection = { apiMode: context.apiMode, ...translation.selection }
  const planned = onPayload(() => planSelected(source, selection, environment))
  return {
    payload: showUpstreamBody(planned),
    intermediate: { normalized, openai },
    loss: planned.edits !== undefined ? [] : [...ignored, ...listUnsent(request, selection, environment)]
  }
}

function readSource(
  from: Exclude<Format, 'upstream'>,
  { payload, requestedModel, isStream }: Translation,
  context: DebugContext
): RoutedRequest {
  if (from === 'normalized') {
    const source = readNormalized(payload, context)
    if (source.request.model === undefined && requestedModel !== undefined) source.request.model = requestedModel
    return source
  }
  const model = from === 'gemini' ? (requestedModel ?? readModelMember(payload)) : requestedModel
  const request = onPayload(() => readClientRequest(from, payload, context, { model, isStream }))
  return { request, protocol: protocolsByFormat[from], body: payload }
}

function readNormalized(payload: JsonObject, { requestId }: DebugContext): RoutedRequest {
  const document = unwrap(payload, 'normalized')
  if (document === undefined) throw invalidDebugRequest('Expected normalized to be an object')
  return readRequestDocument(document, requestId)
}

function writeUpstream(
  source: RoutedRequest,
  selection: RouteSelection,
  { apiMode }: DebugContext,
  environment: DebugEnvironment
): JsonObject {
  return onPayload(() => showUpstreamBody(planSelected(source, { apiMode, ...selection }, environment)))
}

const DEFAULT_MODEL = 'GigaChat'

function translateResponse(
  to: Format,
  { payload, selection, requestedModel }: Translation,
  { apiMode, nowSeconds }: DebugContext,
  environment: DebugEnvironment
): Translated {
  const response = unwrap(payload, 'response')
  if (response === undefined) throw invalidDebugRequest('Expected an upstream response object')
  const model = requestedModel ?? readText(payload.requested_model) ?? readText(response.model) ?? DEFAULT_MODEL
  const isApiModeGiven = selection.apiMode !== undefined
  const read = onPayload(() =>
    readUpstreamResponse(response, { apiMode, ...selection, model, isApiModeGiven }, environment)
  )
  const normalized = writeResponseDocument(read)
  if (!isClientFormat(to)) return { payload: normalized, intermediate: {}, loss: [] }
  const request = createPlaceholderRequest(model)
  const written = clientFaces[protocolsByFormat[to]].writeResponse(read, {
    requestId: request.requestId,
    createdAt: nowSeconds,
    model,
    request
  })
  // The response may be sent to another thread.
  return { payload: withoutRawJson(written), intermediate: { normalized }, loss: [] }
}

function readText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}
