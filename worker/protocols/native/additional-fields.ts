// The additional fields of a request: vendor members and members that the gateway does not know. They are sent unchanged, but a
// member that the request itself sets always wins (completions.md 2.4).

import {
  GatewayError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest
} from '../../normalized/index.ts'
import { V2_MODEL_OPTIONS } from './constants.ts'
import { isReasoningOff } from './generation.ts'

/** Members for the gateway only: the switch for streaming, and the wrappers whose contents are merged already. */
const NEVER_SENT: ReadonlySet<string> = new Set(['stream', 'extra_body', 'additional_fields'])

/** Names that would change the prototype of the object they are assigned to. */
const REFUSED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

const REASONING_MEMBERS: readonly string[] = ['reasoning', 'reasoning_effort']

/**
 * Selects the fields to send. Null has no meaning on this wire and is left out.
 * Raises `unsupported_parameter` for names that no JSON document should use as a member.
 */
export function selectAdditionalFields(request: NormalizedRequest): JsonObject {
  const fields: JsonObject = {}
  const given = request.additionalFields
  if (given === undefined) return fields
  for (const [key, value] of Object.entries(given)) {
    if (REFUSED.has(key)) throw refusedField()
    if (NEVER_SENT.has(key) || value === undefined || value === null) continue
    fields[key] = value
  }
  const options = fields.model_options
  if (isJsonObject(options)) fields.model_options = withoutNulls(options)
  // The request's temperature wins even when it is not sent as one: 0 is sent as `top_p`, a negative one not at all.
  if (request.sampling.temperature !== undefined) strip(fields, ['temperature'])
  if (isReasoningOff(request)) strip(fields, REASONING_MEMBERS)
  return fields
}

function withoutNulls(object: JsonObject): JsonObject {
  const kept: JsonObject = {}
  for (const [key, value] of Object.entries(object)) {
    if (REFUSED.has(key)) throw refusedField()
    if (value !== undefined && value !== null) kept[key] = value
  }
  return kept
}

function refusedField(): GatewayError {
  return new GatewayError('unsupported_parameter', {
    param: 'extra_body',
    message: 'The additional fields hold a name that is not allowed.'
  })
}

/** Removes members from the fields and from the `model_options` in them. */
function strip(fields: JsonObject, members: readonly string[]): void {
  for (const member of members) delete fields[member]
  const options = fields.model_options
  if (!isJsonObject(options)) return
  const kept = { ...options }
  for (const member of members) delete kept[member]
  if (Object.keys(kept).length === 0) delete fields.model_options
  else fields.model_options = kept
}

/** Merges the v1 body: a member of the request itself wins. */
export function mergeV1Fields(typed: JsonObject, fields: JsonObject): JsonObject {
  return Object.keys(fields).length === 0 ? typed : { ...fields, ...typed }
}

/**
 * Merges the v2 body. Options of the model move under `model_options`: there the request's own values win, then fields given
 * under `model_options`, then fields given at the top.
 */
export function mergeV2Fields(typed: JsonObject, fields: JsonObject): JsonObject {
  const { model_options: givenOptions, ...loose } = fields
  const typedOptions = isJsonObject(typed.model_options) ? typed.model_options : {}
  const options = mergeOptions(typedOptions, isJsonObject(givenOptions) ? givenOptions : {})
  const body: JsonObject = {}
  for (const [key, value] of Object.entries(loose)) {
    if (V2_MODEL_OPTIONS.includes(key)) options[key] ??= value
    else if (!V1_WORDS.has(key)) body[key] = value
  }
  Object.assign(body, translateV1Words(loose), typed)
  delete body.model_options
  if (Object.keys(options).length > 0 || isJsonObject(givenOptions)) body.model_options = options
  return body
}

/** Members that have another name on v2. */
const V1_WORDS: ReadonlySet<string> = new Set(['profanity_check', 'function_ranker'])

function translateV1Words(fields: JsonObject): JsonObject {
  const translated: JsonObject = {}
  const { profanity_check: profanityCheck, function_ranker: ranker } = fields
  if (typeof profanityCheck === 'boolean' && fields.disable_filter === undefined) {
    translated.disable_filter = !profanityCheck
  }
  if (isJsonObject(ranker) && fields.ranker_options === undefined) translated.ranker_options = ranker
  return translated
}

/** Merges deeply, except the format: a mix of two schemas would match neither. */
function mergeOptions(typed: JsonObject, given: JsonObject): JsonObject {
  const merged: JsonObject = { ...given, ...typed }
  for (const [key, value] of Object.entries(typed)) {
    const other = given[key]
    if (key !== 'response_format' && isJsonObject(value) && isJsonObject(other)) merged[key] = mergeDeep(value, other)
  }
  return merged
}

function mergeDeep(typed: JsonObject, given: JsonObject): JsonObject {
  const merged: JsonObject = { ...given, ...typed }
  for (const [key, value] of Object.entries(typed)) {
    const other = given[key]
    if (isJsonObject(value) && isJsonObject(other)) merged[key] = mergeDeep(value, other)
  }
  return merged
}

/** Reads the v2 `storage` member: `true` starts a thread, `false` leaves the member out. */
export function readStorage(value: JsonValue | undefined): JsonObject | undefined {
  if (value === true) return {}
  return isJsonObject(value) ? withoutNulls(value) : undefined
}
