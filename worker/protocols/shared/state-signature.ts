// Provider state in the opaque signature that a client protocol has for reasoning: a client must send it back unchanged.

import { type ProviderState, readProviderState } from '../../normalized/index.ts'

/** Begins a signature of the gateway. */
const STATE_MARK = 'gateway-state:'

/** Longer signatures are ignored: those of providers have some kilobytes. */
export const SIGNATURE_CHARACTERS_MAX = 256 * 1024

/** The state as a signature in base64, as the SDKs require. */
export function writeStateSignature(state: ProviderState): string {
  return Buffer.from(STATE_MARK + JSON.stringify(state), 'utf8').toString('base64')
}

/** How every signature of the gateway begins; the last characters of the mark depend on what follows it. */
const ENCODED_MARK = Buffer.from(STATE_MARK, 'utf8')
  .toString('base64')
  .slice(0, Math.floor((STATE_MARK.length * 4) / 3))

/** Whether the gateway wrote this signature, which no provider knows; also for one that was altered behind its beginning. */
export function isStateSignature(signature: string): boolean {
  return signature.startsWith(ENCODED_MARK)
}

/** The state in a signature; undefined for one that the gateway did not write, or that was altered. */
export function readStateSignature(signature: string): ProviderState | undefined {
  if (signature.length > SIGNATURE_CHARACTERS_MAX) return undefined
  const text = Buffer.from(signature, 'base64').toString('utf8')
  if (!text.startsWith(STATE_MARK)) return undefined
  try {
    return readProviderState(JSON.parse(text.slice(STATE_MARK.length)))
  } catch {
    return undefined
  }
}
