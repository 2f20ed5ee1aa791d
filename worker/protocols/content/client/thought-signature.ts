// The member `thoughtSignature` is this family's place for what a provider wants back untouched. Many clients replay parts whole but
// leave out the id of a call, so the id goes into the signature as well (content.md 3).

import { type JsonValue, type ProviderState, readProviderState, readToolCallId } from '../../../normalized/index.ts'

/** Begins a signature that carries state which no id of ours carries. */
const STATE_MARK = 'gateway-state:'

/** What coding agents send in place of a signature that they do not have. */
const NO_SIGNATURE = 'skip_thought_signature_validator'

/** Longer signatures are nobody's: ours stay far below, and those of providers are a few kilobytes. */
const SIGNATURE_CHARACTERS_MAX = 256 * 1024

export interface ReadSignature {
  /** The id of the call that we put into it. */
  callId?: string
  state?: ProviderState
}

/**
 * Writes the signature of a part, base64 as the SDKs demand: a provider's own signature as it is, else the id of a call that the
 * gateway issued, else whatever state the part has. Undefined when there is nothing to carry.
 */
export function writeThoughtSignature(part: {
  callId?: string
  state?: ProviderState | undefined
}): string | undefined {
  const { callId, state } = part
  const signature = state?.content_compatible?.thoughtSignature
  if (signature !== undefined) return signature
  if (callId !== undefined && readToolCallId(callId).isOwn) return toBase64(callId)
  return state === undefined ? undefined : toBase64(STATE_MARK + JSON.stringify(state))
}

/**
 * Reads the signature of a part. One that is not ours belongs to a provider of this family; anything that is no signature at all
 * says nothing, because a client may send what another service gave it.
 */
export function readThoughtSignature(signature: JsonValue | undefined): ReadSignature {
  if (typeof signature !== 'string' || signature === '' || signature === NO_SIGNATURE) return {}
  if (signature.length > SIGNATURE_CHARACTERS_MAX) return {}
  const text = Buffer.from(signature, 'base64').toString('utf8')
  if (readToolCallId(text).isOwn) return { callId: text }
  const state = text.startsWith(STATE_MARK) ? readState(text.slice(STATE_MARK.length)) : undefined
  return { state: state ?? { content_compatible: { thoughtSignature: signature } } }
}

/** State that was cut or altered on its way counts as a foreign signature. */
function readState(text: string): ProviderState | undefined {
  try {
    return readProviderState(JSON.parse(text))
  } catch {
    return undefined
  }
}

function toBase64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
