// What authorizes the calls of one executor. A credential signs each request; a fixed header is the simplest signature. A token that is
// fetched and a key that never changes are both a `CredentialSource`.

import type { Bytes } from '../../../shared/bytes.ts'
import type { Secret } from '../../../shared/secrets/secret.ts'
import type { CallContext } from '../types.ts'

/** A request as it goes out, except for the headers that its signature adds. */
export interface UnsignedRequest {
  readonly method: 'GET' | 'POST'
  /** Scheme, host, path and query. */
  readonly url: string
  /** Names and values in turn. The HTTP client adds `host`, `connection` and `content-length`. */
  readonly headers: readonly string[]
  /** The final bytes: nothing changes them after the signature. */
  readonly body?: Bytes
}

/** What a signature adds to a request. */
export interface Signature {
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** Parameters to append to the query, in their encoded form, for a provider that takes its key there. They are never logged. */
  readonly query?: string
}

/**
 * Signs a request. A promise only where the signature has to be waited for; it may reject with `CallFailure`, which is a failure of the
 * attempt. Only signers reveal secrets.
 */
export type Sign = (request: UnsignedRequest) => Signature | Promise<Signature>

/** A credential for one attempt. Its identity tells which credential a refusal is about. */
export interface Credential {
  readonly sign: Sign
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

/** Signs with nothing: calls go out without authorization. */
export const signNothing: Sign = () => UNSIGNED

const UNSIGNED: Signature = { headers: [] }

/** Signs with one header, whose value is the secret behind `prefix`. */
export function signWithHeader(name: string, secret: Secret, prefix = ''): Sign {
  // Made once: the signature is the same for every request.
  const signature: Signature = { headers: [name, prefix + secret.reveal()] }
  return () => signature
}

/** Signs with one parameter of the query, for services that take their key there. No log line, span or record shows it. */
export function signWithQuery(name: string, secret: Secret): Sign {
  const query = `${encodeURIComponent(name)}=${encodeURIComponent(secret.reveal())}`
  return () => ({ headers: [], query })
}

/** A source of one credential that cannot be renewed. */
export function createFixedCredential(sign: Sign): CredentialSource {
  const credential: Credential = { sign, isFresh: false }
  return { find: () => credential, acquire: () => Promise.resolve(credential), reject: () => false }
}
