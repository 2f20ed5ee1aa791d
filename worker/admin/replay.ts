// Sends a recorded request again: what may be sent, with which mark, and what is shown of the
// response (operations.md 9.5; field-lessons.md L18). The request itself goes through
// `dispatch.ts`.
import { DEFAULT_KEY_NAME, type KeyRing } from '../../shared/keys/key-ring.ts'
import type { ModelScope } from '../../shared/keys/model-scope.ts'
import { createRedactor, REDACTED, type Redactor } from '../../shared/secrets/redaction.ts'
import { listSecretTexts } from '../../shared/settings/effective.ts'
import { isAuthRequired, type Settings } from '../../shared/settings.ts'
import type { TrafficPayload, TrafficSummary } from '../../shared/traffic/query.ts'
import { GatewayError, isJsonObject, type JsonObject } from '../normalized/index.ts'
import { REPLAY_MARK } from '../protocols/shared/members/common-parameters.ts'
import { CAPTURED_DEPTH_MAX } from '../translation/captured-body.ts'
import { readOptionalObject } from './body.ts'
import type { DispatchedRequest, DispatchedResponse } from './dispatch.ts'

/** Bytes of a response that are shown. */
export const REPLAY_BYTES_MAX = 1_000_000
const TIMEOUT_SECONDS_MAX = 3600
const DEFAULT_TIMEOUT_SECONDS = 600

/** What the body of the replay request changes. */
export interface ReplayOptions {
  /** Take the place of members of the recorded body. */
  readonly overrides: JsonObject
  readonly stream: boolean | undefined
  readonly timeoutMs: number
}

/** The mark of a replayed request in its `metadata`. */
export interface ReplayMark {
  readonly source_log_id: string
  readonly source_request_id: string
  readonly replayed_at: string
}

/**
 * Raises `replay_not_supported` for a record that is never replayed. Returns the path to send it
 * to.
 */
export function readReplayPath({ method, route, metadata }: TrafficSummary): string {
  if (method !== 'POST') throw new GatewayError('replay_not_supported')
  const path = isJsonObject(metadata) && typeof metadata.path === 'string' ? metadata.path : route
  if (!route.startsWith('/') || !path.startsWith('/')) throw notSupported('Invalid replay route')
  if ([route, path].some(isInternal)) throw notSupported('Admin, debug, and log routes cannot be replayed')
  return path
}

/** The recorded body. Raises `request_body_not_captured` where it is not there as a whole. */
export function readReplayBody({ metadata }: TrafficSummary, payload: TrafficPayload | null): JsonObject {
  const body = payload?.request_body
  if (!isJsonObject(body) || isTruncated(body) || isShortened(metadata)) {
    throw new GatewayError('request_body_not_captured')
  }
  return body
}

/** Texts were cut or files left out when the body was captured. */
function isShortened(metadata: TrafficSummary['metadata']): boolean {
  const shortened = isJsonObject(metadata) ? metadata.content_shortened : undefined
  return Array.isArray(shortened) && shortened.includes('request_body')
}

/** Raises `invalid_json` and `invalid_request`. */
export function readReplayOptions(body: Buffer, settings: Pick<Settings, 'requestTimeoutSeconds'>): ReplayOptions {
  const { overrides = {}, stream, timeout_seconds: seconds } = readOptionalObject(body) ?? {}
  if (!isJsonObject(overrides)) throw invalid('Expected overrides to be an object')
  if (stream !== undefined && typeof stream !== 'boolean') throw invalid('Expected stream to be a boolean')
  const isTime = typeof seconds === 'number' && seconds > 0 && seconds <= TIMEOUT_SECONDS_MAX
  if (seconds !== undefined && !isTime) {
    throw invalid(`Expected timeout_seconds to be a number above 0 and at most ${TIMEOUT_SECONDS_MAX}`)
  }
  const fallback = settings.requestTimeoutSeconds === 0 ? DEFAULT_TIMEOUT_SECONDS : settings.requestTimeoutSeconds
  return { overrides, stream, timeoutMs: (isTime ? seconds : fallback) * 1000 }
}

export interface Replays {
  /** The request to send: redacted again, and marked so that it needs no key. */
  plan(options: {
    summary: TrafficSummary
    path: string
    body: JsonObject
    options: ReplayOptions
    mark: ReplayMark
  }): DispatchedRequest
  /** The body of the response to the admin. */
  show(
    sent: { id: string; request: DispatchedRequest; mark: ReplayMark; summary: TrafficSummary },
    response: DispatchedResponse
  ): object
}

export function createReplays(settings: Settings, keyRing: Pick<KeyRing, 'findByName'>): Replays {
  const knownSecrets = listSecretTexts(settings)
  // Only secrets are taken out of a body that was stored as a whole.
  const requestRedactor = createRedactor({ knownSecrets, keepsFiles: true, depthMax: CAPTURED_DEPTH_MAX })
  const responseRedactor = createRedactor({ knownSecrets, extraKeys: settings.trafficLogRedactExtraKeys })
  return {
    plan({ summary, path, body, options: { overrides, stream }, mark }) {
      const redacted = requestRedactor.redactValue(body) as JsonObject
      const target = aim(path, summary.route, { overrides, stream })
      const sent: JsonObject = { ...redacted, ...target.changes }
      const marked = hasMetadata(summary.route) ? { ...sent, metadata: mergeMark(sent.metadata, mark) } : sent
      return {
        path: target.path,
        headers: { 'content-type': 'application/json', 'x-gateway-replay': 'true' },
        body: JSON.stringify(marked),
        replay: {
          sourceId: summary.id,
          keyName: isAuthRequired(settings) ? findOwnKey(settings) : undefined,
          scope: findRecordedScope(summary, keyRing)
        }
      }
    },
    show({ id, request, mark, summary }, response) {
      return {
        id,
        request_id: summary.request_id,
        replayed: true,
        request: {
          method: 'POST',
          path: request.path,
          metadata: { [REPLAY_MARK]: mark },
          // A value that was masked, when it was recorded or now, cannot be sent as it was.
          redacted: request.body.includes(REDACTED)
        },
        response: {
          status_code: response.status,
          headers: responseRedactor.redactValue(response.headers),
          body: showBody(response, responseRedactor)
        }
      }
    }
  }
}

interface ReplayTarget {
  readonly path: string
  /** Members that take the place of those of the body. */
  readonly changes: JsonObject
}

/**
 * Content routes name the model, and whether they stream, in their path. Raises `invalid_request`.
 */
function aim(path: string, route: string, { overrides, stream }: Omit<ReplayOptions, 'timeoutMs'>): ReplayTarget {
  const [, start, recordedModel, recordedMethod = ''] = /^(.*\/models\/)(.+):(\w+)$/.exec(path) ?? []
  if (!route.includes('/models/{model}:') || start === undefined) {
    return { path, changes: { ...overrides, ...(stream !== undefined && { stream }) } }
  }
  const { model, ...changes } = overrides
  if (model !== undefined && typeof model !== 'string') throw invalid('Expected overrides.model to be a string')
  const shownModel = model === undefined ? recordedModel : encodeURIComponent(model.replace(/^models\//, ''))
  const method = stream === undefined ? recordedMethod : chooseMethod(recordedMethod, stream)
  return { path: `${start}${shownModel}:${method}`, changes }
}

/** Embeddings and token counts have no stream. */
function chooseMethod(method: string, stream: boolean): string {
  if (!/^(?:stream)?generateContent$/i.test(method)) return method
  return stream ? 'streamGenerateContent' : 'generateContent'
}

/** Bodies of these routes have a member for the client's own facts. */
function hasMetadata(route: string): boolean {
  return /\/(?:chat\/completions|messages)$/.test(route)
}

function mergeMark(metadata: unknown, mark: ReplayMark): JsonObject {
  return { ...(isJsonObject(metadata) ? metadata : {}), [REPLAY_MARK]: { ...mark } }
}

/**
 * JSON where it is whole JSON, else text; in the wrapper of captured bodies where it was cut
 * (section 8.2).
 */
function showBody({ body, isCut }: DispatchedResponse, redactor: Redactor): unknown {
  if (body.length === 0) return null
  const text = body.toString('utf8')
  if (isCut) return { truncated: true, max_bytes: REPLAY_BYTES_MAX, body: redactor.redactText(text) }
  try {
    return redactor.redactValue(JSON.parse(text))
  } catch {
    return redactor.redactText(text)
  }
}

/** The wrapper of a captured body that was cut (section 8.2). */
function isTruncated({ truncated, max_bytes, body }: JsonObject): boolean {
  return truncated === true && typeof max_bytes === 'number' && body !== undefined
}

function isInternal(path: string): boolean {
  return /^\/+(?:_admin|_debug|logs|debug\/)/.test(path)
}

/** Of a key that is gone, nothing says what it was allowed to name. */
function findRecordedScope(
  { metadata }: Pick<TrafficSummary, 'metadata'>,
  keyRing: Pick<KeyRing, 'findByName'>
): ModelScope {
  const name = isJsonObject(metadata) ? metadata.api_key_name : undefined
  return typeof name === 'string' ? keyRing.findByName(name)?.scope : undefined
}

/** The name of the first key of the settings; undefined where all keys are those of a keys file. */
function findOwnKey({ apiKey, apiKeys }: Settings): string | undefined {
  return apiKey === undefined ? Object.keys(apiKeys)[0] : DEFAULT_KEY_NAME
}

function notSupported(message: string): GatewayError {
  return new GatewayError('replay_not_supported', { message })
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', { message })
}
