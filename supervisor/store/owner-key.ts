// Whose a record is, as the databases keep it (memory.md 2).
import { createHmac } from 'node:crypto'
import type { Owner } from '../../shared/memory/store.ts'

/**
 * The key of an owner: a hash under the database's random secret. Names and hashes of credentials cannot be guessed from it without the
 * secret, and an owner without a credential differs from every owner with one.
 */
export function hashOwner(secret: Uint8Array, { name, credential }: Owner): Buffer {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['owner', name, credential ?? null]))
    .digest()
}
