// Reads the output format: JSON of a schema, or text when the request names no format (messages.md 6).

import { GatewayError, type JsonObject, type OutputFormat } from '../../../normalized/index.ts'
import {
  keepDefined,
  readObject,
  readOptionalBoolean,
  readOptionalObject,
  readOptionalString,
  readString
} from '../../shared/members/field.ts'
import type { MessagesRequest } from './schema.ts'

/**
 * Reads `output_config.format`, or else `output_format`; undefined when both are absent. The schema is not checked or changed.
 * Raises `unsupported_response_format` for every type except `json_schema`, and `invalid_request` for a wrong member.
 */
export function readOutputFormat(
  body: Pick<MessagesRequest, 'output_config' | 'output_format'>
): OutputFormat | undefined {
  const config = readOptionalObject(body, 'output_config') ?? {}
  const preferred = readOptionalObject(config, 'format', 'output_config')
  if (preferred !== undefined) return readFormat(preferred, 'output_config.format')
  const format = readOptionalObject(body, 'output_format')
  return format === undefined ? undefined : readFormat(format, 'output_format')
}

function readFormat(format: JsonObject, path: string): OutputFormat {
  const type = readString(format, 'type', path)
  if (type !== 'json_schema') {
    throw new GatewayError('unsupported_response_format', {
      param: `${path}.type`,
      message: `'${path}.type' must be json_schema.`
    })
  }
  const details = keepDefined({
    name: readOptionalString(format, 'name', path),
    strict: readOptionalBoolean(format, 'strict', path)
  })
  return { type: 'json-schema', schema: readObject(format, 'schema', path), ...details }
}
