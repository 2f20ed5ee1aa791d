// The headers of a request that this worker sends to itself, to replay a traffic record (operations contract, section 9.5). A client can
// write the first one too, so what a record tells of a replay comes from the second, which holds a secret of this process.
import { randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const TOKEN = randomUUID()
const UUID_LENGTH = TOKEN.length

/** The headers that mark a request as the replay of the traffic record with this id. */
export function writeReplayHeaders(recordId: string): Record<string, string> {
  return { 'x-gateway-replay': 'true', 'x-gateway-replay-of': `${TOKEN}${recordId}` }
}

/** The id of the traffic record that is replayed; undefined for every request that this process has not marked itself. */
export function readReplayOf(headers: IncomingHttpHeaders): string | undefined {
  const header = headers['x-gateway-replay-of']
  if (typeof header !== 'string' || header.length !== 2 * UUID_LENGTH) return undefined
  const token = Buffer.from(header.slice(0, UUID_LENGTH), 'latin1')
  return timingSafeEqual(token, Buffer.from(TOKEN, 'latin1')) ? header.slice(UUID_LENGTH) : undefined
}
