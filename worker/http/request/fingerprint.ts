// One-way fingerprints of keys and addresses: equal values can be counted together, and none can be
// recovered (operations.md 3.1).
import { createHmac, createSecretKey } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { readBearer } from '../../../shared/secrets/api-key.ts'
import { rememberTexts } from '../../performance/remember-texts.ts'
import type { QueryValues } from './families.ts'

/** Computes the fingerprint of a value: `hmac-sha256:` and 16 hexadecimal digits. */
export type Fingerprint = (value: string) => string

/** `key` is the same in all workers. Unless it is configured it is random at each start, and fingerprints change with it. */
export function createFingerprint(key: Buffer): Fingerprint {
  // With the bytes of the key each call would make a key object of its own, which costs ten times as much as the digest.
  const secret = createSecretKey(key)
  return rememberTexts(value => `hmac-sha256:${createHmac('sha256', secret).update(value).digest('hex').slice(0, 16)}`)
}

/** What identifies a caller: the bearer token or the whole authorization, else a key from a header or the query. */
export function findCallerKey(headers: IncomingHttpHeaders, query: QueryValues): string | undefined {
  const candidates = [
    readBearer(headers.authorization) ?? headers.authorization,
    headers['x-api-key'],
    headers['x-goog-api-key'],
    headers['api-key'],
    query['x-api-key'],
    query.key
  ]
  return candidates.find((value): value is string => typeof value === 'string' && value !== '')
}
