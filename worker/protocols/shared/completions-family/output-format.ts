// The output format that a client requests, for completions and Responses (completions.md 7, responses.md 2).

import { GatewayError, type JsonObject, type OutputFormat } from '../../../normalized/index.ts'
import {
  joinPath,
  keepDefined,
  readObject,
  readOptionalBoolean,
  readOptionalObject,
  readOptionalString,
  readString
} from '../members/field.ts'

/**
 * Reads the format object at `path`; its schema may be nested under `json_schema` or flat, and stays unchanged. A `json_object` may
 * have a flat schema too. Raises `unsupported_response_format` for other types, and `invalid_request` for a wrong member.
 * @param form decides the path in the error when the object has no schema.
 */
export function readOutputFormat(format: JsonObject, path: string, form: 'nested' | 'flat'): OutputFormat {
  const type = readString(format, 'type', path)
  switch (type) {
    case 'text':
      return { type: 'text' }
    case 'json_schema': {
      const isFlat =
        (format.json_schema ?? undefined) === undefined && (form === 'flat' || 'schema' in format || 'name' in format)
      const at = isFlat ? path : joinPath(path, 'json_schema')
      const described = isFlat ? format : (readOptionalObject(format, 'json_schema', path) ?? {})
      const details = keepDefined({
        name: readOptionalString(described, 'name', at),
        description: readOptionalString(described, 'description', at),
        strict: readOptionalBoolean(described, 'strict', at)
      })
      return { type: 'json-schema', schema: readObject(described, 'schema', at), ...details }
    }
    case 'json_object': {
      const schema = readOptionalObject(format, 'schema', path)
      return schema === undefined
        ? { type: 'json-object', path: joinPath(path, 'type') }
        : { type: 'json-schema', schema }
    }
    default:
      throw new GatewayError('unsupported_response_format', {
        param: joinPath(path, 'type'),
        message: `The response format '${type}' is not supported: use text or json_schema.`
      })
  }
}
