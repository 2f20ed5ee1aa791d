// Reads the JSON body of an admin request, which may be absent (operations.md 9.5 and 9.6).
import { GatewayError, isJsonObject, type JsonObject } from '../normalized/index.ts'

/** Undefined for an empty body. Raises `invalid_json` for anything but a JSON object. */
export function readOptionalObject(body: Buffer): JsonObject | undefined {
  if (body.length === 0) return undefined
  const value = parse(body.toString('utf8'))
  if (!isJsonObject(value)) throw new GatewayError('invalid_json', { message: 'Expected JSON object body' })
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
