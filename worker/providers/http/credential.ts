// What authorizes the calls of one executor. A token that is fetched and a key that never changes are both a `CredentialSource`.

import type { Secret } from '../../../shared/secret.ts'
import type { CallContext } from '../types.ts'

/** The header that carries a credential. Only the code that builds the outgoing request reveals the secret. */
export interface CredentialHeader {
  name: string
  /** Stands before the secret in the header's value: `'Bearer '`, or nothing. */
  prefix: string
  secret: Secret
}

/** A credential for one attempt. Its identity tells which credential a refusal is about. */
export interface Credential {
  /** Absent where calls go out without authorization. */
  readonly header?: CredentialHeader
  /** It was fetched for this attempt: after a refusal another fetch would bring the same. */
  readonly isFresh: boolean
}

/** The request that needs a credential. */
export type CredentialCaller = Pick<CallContext, 'signal' | 'headers'>

export interface CredentialSource {
  /** The credential for an attempt that needs no waiting; undefined when `acquire` has to be awaited. */
  find(caller: CredentialCaller): Credential | undefined
  /**
   * Resolves with the credential for an attempt. Rejects with `CallFailure` when none can be had, and with the signal's `GatewayError`
   * when the caller is aborted.
   */
  acquire(caller: CredentialCaller): Promise<Credential>
  /** Reports that the provider refused this credential. Returns whether `acquire` can bring another one. */
  reject(credential: Credential): boolean
}

/** A source of one credential that cannot be renewed; without a header calls go out without authorization. */
export function createFixedCredential(header?: CredentialHeader): CredentialSource {
  const credential: Credential = header === undefined ? { isFresh: false } : { header, isFresh: false }
  return { find: () => credential, acquire: () => Promise.resolve(credential), reject: () => false }
}
