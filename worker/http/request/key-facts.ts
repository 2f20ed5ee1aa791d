// Whose key a request carries: the name of a key of the gateway, or the fingerprint of one that it does not know (decisions.md 96). Requests
// that need no key carry one too, so that the check of keys alone does not tell it.
import type { IncomingHttpHeaders } from 'node:http'
import { createKeyRing, type KeyRing } from '../../../shared/keys/key-ring.ts'
import { findAdminKey, findApiKey } from '../../../shared/secrets/api-key.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { KeyFacts } from '../../observation/observer.ts'
import type { QueryValues } from './families.ts'
import { type Fingerprint, findCallerKey } from './fingerprint.ts'

/** Reads the key of a head. `query` is empty where none was read. */
export type ReadKeyFacts = (head: { headers: IncomingHttpHeaders; query: QueryValues }) => KeyFacts

const NO_KEY: KeyFacts = {}

export function createKeyFacts({
  settings,
  keyRing,
  fingerprint
}: {
  settings: Pick<Settings, 'adminApiKey'>
  keyRing: Pick<KeyRing, 'find'>
  fingerprint: Fingerprint
}): ReadKeyFacts {
  const adminRing = createKeyRing({ apiKey: settings.adminApiKey, apiKeys: {} })
  return ({ headers, query }) => {
    // The one that is checked where a key is needed; without any, what else identifies the caller.
    const presented = findApiKey(headers, query, { isBearerTaken: false }) ?? findCallerKey(headers, query)
    if (presented === undefined) return NO_KEY
    const known = keyRing.find(presented)
    if (known !== undefined) return { name: known.name }
    // The admin's key is no key of a client, and no unknown one.
    const admin = findAdminKey(headers)
    if (admin === presented && adminRing.find(admin) !== undefined) return NO_KEY
    return { hash: fingerprint(typeof presented === 'string' ? presented : presented.toString('latin1')) }
  }
}
