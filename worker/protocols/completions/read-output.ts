// The form the answer must have: plain text, or JSON of a schema (completions.md 7).

import { GatewayError, type OutputFormat } from '../../normalized/index.ts'
import {
  keepDefined,
  readObject,
  readOptionalBoolean,
  readOptionalObject,
  readOptionalString,
  readString
} from '../shared/field.ts'
import type { CompletionsRequest } from './schema.ts'

/**
 * Reads `response_format`, also in the flat form of the sister protocol; undefined when there is none. The schema is taken as it
 * is. Raises `unsupported_response_format` for every type but `text` and `json_schema`, and `invalid_request` for a wrong member.
 */
export function readOutputFormat(body: CompletionsRequest): OutputFormat | undefined {
  const format = readOptionalObject(body, 'response_format')
  if (format === undefined) return undefined
  const type = readString(format, 'type', 'response_format')
  switch (type) {
    case 'text':
      return { type: 'text' }
    case 'json_schema': {
      const isFlat = format.json_schema === undefined && ('schema' in format || 'name' in format)
      const path = isFlat ? 'response_format' : 'response_format.json_schema'
      const described = isFlat ? format : (readOptionalObject(format, 'json_schema', 'response_format') ?? {})
      const details = keepDefined({
        name: readOptionalString(described, 'name', path),
        description: readOptionalString(described, 'description', path),
        strict: readOptionalBoolean(described, 'strict', path)
      })
      return { type: 'json-schema', schema: readObject(described, 'schema', path), ...details }
    }
    default:
      throw new GatewayError('unsupported_response_format', {
        param: 'response_format.type',
        message: `The response format '${type}' is not supported: use text or json_schema.`
      })
  }
}
