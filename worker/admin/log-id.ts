// The id of a traffic record in a path (operations.md 9.3).
import { GatewayError } from '../normalized/index.ts'

const UUID = /^(?:urn:uuid:)?(\{?)([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})(\}?)$/i

/** Returns the UUID in lower case with its hyphens; it may be a URN, stand in braces or lack hyphens. Raises `invalid_log_id`. */
export function readLogId(text: string): string {
  const match = UUID.exec(text)
  if (match === null || (match[1] === '{') !== (match[7] === '}')) throw new GatewayError('invalid_log_id')
  return match.slice(2, 7).join('-').toLowerCase()
}
