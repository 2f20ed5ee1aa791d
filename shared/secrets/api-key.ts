// Where a client may put the key that it presents (operations.md 4.1 and 4.2). `keys/key-ring.ts` says whose key it is.
import type { IncomingHttpHeaders } from 'node:http'

/** A key as a client presented it: text in ASCII, else its bytes. */
export type PresentedKey = string | Buffer

/**
 * The one key that counts: the first non-empty of bearer, query `x-api-key`, query `key`, header `x-api-key`, header
 * `x-goog-api-key`, header `api-key` (Azure clients). A wrong one never falls through to the next. `isBearerTaken`: the bearer token
 * is upstream authorization.
 */
export function findApiKey(
  headers: IncomingHttpHeaders,
  query: Readonly<Record<string, string | string[] | undefined>>,
  { isBearerTaken }: { isBearerTaken: boolean }
): PresentedKey | undefined {
  const bearer = isBearerTaken ? undefined : readBearer(headers.authorization)
  if (bearer !== undefined) return readHeaderBytes(bearer)
  const queried = readQueryText(query['x-api-key']) ?? readQueryText(query.key)
  if (queried !== undefined) return queried
  const header =
    readHeaderText(headers['x-api-key']) ??
    readHeaderText(headers['x-goog-api-key']) ??
    readHeaderText(headers['api-key'])
  return header === undefined ? undefined : readHeaderBytes(header)
}

/** The token of a bearer authorization, trimmed; undefined for another scheme or an empty token. */
export function readBearer(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  // The spelling that all SDKs use needs no pattern.
  if (!authorization.startsWith('Bearer ') && !/^bearer\s/i.test(authorization)) return undefined
  const token = authorization.slice('bearer '.length).trim()
  return token === '' ? undefined : token
}

/**
 * The key of the header `x-admin-api-key`, else the bearer token: the query never carries an admin
 * key (operations.md 4.2).
 */
export function findAdminKey(headers: IncomingHttpHeaders): PresentedKey | undefined {
  const key = readHeaderText(headers['x-admin-api-key']) ?? readBearer(headers.authorization)
  return key === undefined ? undefined : readHeaderBytes(key)
}

/** Node reads header bytes as Latin-1 text; clients write a key outside ASCII as UTF-8. */
function readHeaderBytes(text: string): PresentedKey {
  return isAscii(text) ? text : Buffer.from(text, 'latin1')
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 0x7f) return false
  return true
}

function readHeaderText(value: string | string[] | undefined): string | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? undefined : text
}

function readQueryText(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value.find(item => item !== '') : value
  return text === '' ? undefined : text
}
