// A call to a provider as its maker describes it, and the call that takes the place of a refused one.
import type { Bytes } from '../../../shared/bytes.ts'
import type { UpstreamOperation } from '../types.ts'
import { CallFailure } from './call-failure.ts'
import type { BodyFallback } from './hooks.ts'

/** A call as its maker describes it: the client adds the user agent, the authorization and the headers of the request. */
export interface ProviderCall {
  operation: UpstreamOperation
  method: 'GET' | 'POST'
  /** Path and query on the provider's origin. */
  path: string
  /** Headers of the wire, names and values in turn. */
  headers: readonly string[]
  body?: Bytes
  /** The memory of the body, where only this call uses it: it is given back when the provider has accepted the call. */
  ownMemory?: Uint8Array | undefined
  /** Makes another body when the provider refuses this one. */
  fallback?: BodyFallback | undefined
  /** The body is that of the fallback: it is not replaced again. */
  isRevised?: true
}

/** The call to make in place of a refused one; undefined when the failure stays. */
export function reviseCall(call: ProviderCall, thrown: unknown): ProviderCall | undefined {
  const { body, fallback, isRevised } = call
  if (fallback === undefined || body === undefined || isRevised || !(thrown instanceof CallFailure)) return undefined
  const revised = fallback.revise(body, thrown)
  return revised === undefined ? undefined : { ...call, body: revised, ownMemory: undefined, isRevised: true }
}
