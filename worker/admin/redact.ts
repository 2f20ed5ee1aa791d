// Reads which fields a redaction empties, and writes its response (operations.md 9.6).
import type { RedactResult } from '../../shared/traffic/messages.ts'
import { PAYLOAD_FIELDS, type PayloadField } from '../../shared/traffic/query.ts'
import { GatewayError, isJsonObject } from '../normalized/index.ts'
import { readOptionalObject } from './body.ts'

/** Names of unknown fields that an error repeats, and characters of each. */
const NAMED_MAX = 20
const NAME_CHARACTERS_MAX = 100

/**
 * The fields in alphabetical order; all of them for an absent body. Raises `invalid_json` and
 * `invalid_request`.
 */
export function readRedactedFields(body: Buffer): PayloadField[] {
  const fields = readOptionalObject(body)?.fields ?? [...PAYLOAD_FIELDS]
  if (!Array.isArray(fields) || !fields.every(field => typeof field === 'string')) {
    throw invalid('Expected fields to be a list of payload field names')
  }
  const names = [...new Set<string>(fields)].sort()
  const unknown = names.filter(name => !isPayloadField(name))
  if (unknown.length > 0) {
    const shown = unknown.slice(0, NAMED_MAX).map(name => name.slice(0, NAME_CHARACTERS_MAX))
    throw invalid(`Unsupported redaction fields: ${shown.join(', ')}`)
  }
  if (names.length === 0) throw invalid('At least one redaction field is required')
  return names.filter(isPayloadField)
}

/** The body of the response. */
export function showRedaction(
  id: string,
  fields: readonly PayloadField[],
  { summary, emptied, mirrors }: RedactResult
): object {
  const metadata = isJsonObject(summary.metadata) ? summary.metadata : {}
  return {
    id,
    redacted_fields: fields,
    result: {
      id,
      request_headers_redacted: emptied.request_headers,
      request_body_redacted: emptied.request_body,
      response_body_redacted: emptied.response_body,
      metadata: { manual_redaction: metadata.manual_redaction },
      ...(Object.keys(mirrors).length > 0 && { mirrors })
    }
  }
}

function isPayloadField(name: string): name is PayloadField {
  return (PAYLOAD_FIELDS as readonly string[]).includes(name)
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', { message })
}
