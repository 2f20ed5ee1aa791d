// The member `thoughtSignature` carries provider state that a client must send back unchanged. Many clients replay parts completely
// except the id of a call, so the signature contains the id too (content.md 3).

import { findCarriedState, type JsonValue, type ProviderState, readToolCallId } from '../../../normalized/index.ts'
import {
  isStateSignature,
  readStateSignature,
  SIGNATURE_CHARACTERS_MAX,
  writeStateSignature
} from '../../shared/state-signature.ts'

/** The text that coding agents send when they have no signature; the service documents it for calls that it did not make itself. */
export const NO_SIGNATURE = 'skip_thought_signature_validator'

/** The words that the service documents for this, as they are and in base64, as its SDKs write them (decisions.md 109). */
const NO_SIGNATURES: ReadonlySet<string> = new Set(
  [NO_SIGNATURE, 'context_engineering_is_the_way_to_go'].flatMap(word => [
    word,
    toBase64(word),
    toBase64(word).replaceAll('=', '')
  ])
)

export interface ReadSignature {
  /** The id of the call, when the gateway put it into the signature. */
  callId?: string
  state?: ProviderState
  /** The thought that the client was not shown. */
  hiddenText?: string
}

/**
 * Writes the signature of a part in base64, as the SDKs require: the provider's signature unchanged, else the part's state, with the id
 * of a call that the gateway issued, else that id alone. Undefined when the part has none of them.
 * @param part.hiddenText a thought that the client is not shown: some providers sign its text and want both back, others want the text
 * itself (decisions.md 81).
 */
export function writeThoughtSignature(part: {
  callId?: string
  state?: ProviderState | undefined
  hiddenText?: string
}): string | undefined {
  const { callId, state, hiddenText = '' } = part
  const signature = state?.content_compatible?.thoughtSignature
  if (signature !== undefined) return signature
  const ownId = callId !== undefined && readToolCallId(callId).isOwn ? callId : undefined
  const carried = findCarriedState(state)
  if (carried !== undefined) {
    const { messages_compatible: signed, chat_compatible: named } = carried
    const isTextWanted = signed?.signature !== undefined || named?.reasoningName !== undefined
    return writeStateSignature(carried, {
      ...(ownId === undefined ? {} : { callId: ownId }),
      ...(isTextWanted && hiddenText !== '' ? { hiddenText } : {})
    })
  }
  return ownId === undefined ? undefined : toBase64(ownId)
}

/**
 * Reads the signature of a part. A signature that the gateway did not write belongs to a provider of this protocol. A value that is
 * no signature is ignored, because a client may send values of another service.
 */
export function readThoughtSignature(signature: JsonValue | undefined): ReadSignature {
  if (typeof signature !== 'string' || signature === '' || NO_SIGNATURES.has(signature)) return {}
  if (signature.length > SIGNATURE_CHARACTERS_MAX) return {}
  const text = Buffer.from(signature, 'base64').toString('utf8')
  if (readToolCallId(text).isOwn) return { callId: text }
  return readStateSignature(signature) ?? { state: { content_compatible: { thoughtSignature: signature } } }
}

/** Whether the gateway wrote this signature, which no provider knows. */
export function isOwnSignature(signature: JsonValue | undefined): boolean {
  if (typeof signature !== 'string') return false
  if (isStateSignature(signature)) return true
  return signature.length <= CALL_SIGNATURE_CHARACTERS_MAX && readThoughtSignature(signature).callId !== undefined
}

/** Longer than the base64 of every id. */
const CALL_SIGNATURE_CHARACTERS_MAX = 256

function toBase64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
