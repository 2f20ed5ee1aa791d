// Whose the stored things of a request are (memory.md 2): its key's, and under pass-through also its own provider credential's.

import { createHash } from 'node:crypto'
import type { Owner } from '../../shared/memory/store.ts'
import type { UpstreamAuthorization } from '../providers/types.ts'

/** What a request is authorized with. */
export interface Authorized {
  /** Undefined without authentication. */
  readonly apiKeyName: string | undefined
  readonly authorization: UpstreamAuthorization
}

/** The owner of what a request stores and reads. */
export function readOwner({ apiKeyName = '', authorization }: Authorized): Owner {
  const credential = readCredential(authorization)
  return credential === undefined
    ? { name: apiKeyName }
    : { name: apiKeyName, credential: createHash('sha256').update(credential).digest('hex') }
}

/** A text of a credential; two different ones never have the same. */
function readCredential(authorization: UpstreamAuthorization): string | undefined {
  switch (authorization.type) {
    case 'server':
      return undefined
    case 'access-token':
      return JSON.stringify(['token', authorization.accessToken.reveal()])
    case 'credentials':
      return JSON.stringify(['credentials', authorization.credentials.reveal(), authorization.scope])
    case 'user':
      return JSON.stringify(['user', authorization.user, authorization.password.reveal()])
  }
}
