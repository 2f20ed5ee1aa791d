// Reads the errors of the Responses wire that arrive with status 200: a failed response, and the error event of a stream.

import { type GatewayError, isJsonObject, type JsonObject } from '../../../normalized/index.ts'
import { findExternalError, readExternalErrorEvent } from '../../shared/errors/external-error.ts'
import type { Payload } from '../../shared/external-payload.ts'

/** Codes of a failed response that stand for a fault of the request, besides those that begin so. */
const REQUEST_CODES: ReadonlySet<string> = new Set([
  'image_content_policy_violation',
  'image_file_not_found',
  'image_file_too_large',
  'image_parse_error',
  'image_too_large',
  'image_too_small',
  'unsupported_image_media_type',
  'empty_image_file',
  'failed_to_download_image',
  'context_length_exceeded',
  'bio_policy'
])
const INVALID = 'invalid_'

/** The error in the `error` of a response, and in an event `error`, whose members may stand at its top. */
export function readResponseError(payload: Payload): GatewayError {
  const inner: JsonObject = isJsonObject(payload.error) ? payload.error : withoutType(payload)
  const { code } = inner
  const isOfRequest = typeof code === 'string' && (code.startsWith(INVALID) || REQUEST_CODES.has(code))
  return readExternalErrorEvent({ error: isOfRequest ? { status: REQUEST_STATUS, ...inner } : inner })
}

/** Finds the provider's error in a body with status 200; undefined for an ordinary response. */
export function findResponseError(body: Payload): GatewayError | undefined {
  return isJsonObject(body.error) ? readResponseError(body) : findExternalError(body)
}

const REQUEST_STATUS = 400

/** The type of an event says only that it is one. */
function withoutType({ type: _event, ...rest }: Payload): JsonObject {
  return rest as JsonObject
}
