// Provider state in the opaque signature that a client protocol has for reasoning: a client must send it back unchanged. Where a protocol
// has such a member for reasoning only, a piece of reasoning without text carries the state of another part, and says which.

import {
  type ContentPart,
  isJsonObject,
  mergeProviderState,
  type ProviderState,
  readProviderState
} from '../../normalized/index.ts'

/** Begins a signature of the gateway. */
const STATE_MARK = 'gateway-state:'

/** Longer signatures are ignored: those of providers have some kilobytes. */
export const SIGNATURE_CHARACTERS_MAX = 256 * 1024

const STATE_OWNERS = ['next-call', 'previous-call', 'previous-text'] as const

/** The part that state belongs to, where that is not the part with the signature. It stands directly behind or before it. */
export type StateOwner = (typeof STATE_OWNERS)[number]

export interface SignedState {
  state: ProviderState
  owner?: StateOwner
  /** The id of the call that the signature stands on, where a client may drop the id itself. */
  callId?: string
  /** The reasoning that the state was issued for, where the client is not shown it and its provider wants it back. */
  hiddenText?: string
  /** How many calls of its turn stand before the reasoning, in a protocol that has reasoning and calls in two lists. */
  callsBefore?: number
}

/** The state as a signature in base64, as the SDKs require. */
export function writeStateSignature(state: ProviderState, about: Omit<SignedState, 'state'> = {}): string {
  const { owner, callId, hiddenText, callsBefore } = about
  const signed = { ...state, owner, callId, hiddenText, callsBefore }
  return Buffer.from(STATE_MARK + JSON.stringify(signed), 'utf8').toString('base64')
}

/** Whether the gateway wrote this signature, which no provider knows; also for one that was altered behind its beginning. */
export function isStateSignature(signature: string): boolean {
  return signature.startsWith(MARK_IN_BASE64)
}

/** What a signature carries; undefined for one that the gateway did not write, or that was altered. */
export function readStateSignature(signature: unknown): SignedState | undefined {
  if (typeof signature !== 'string' || signature.length > SIGNATURE_CHARACTERS_MAX) return undefined
  if (!isStateSignature(signature)) return undefined
  const text = Buffer.from(signature, 'base64').toString('utf8')
  if (!text.startsWith(STATE_MARK)) return undefined
  try {
    return readSigned(JSON.parse(text.slice(STATE_MARK.length)))
  } catch {
    return undefined
  }
}

/** As much of the mark as whole groups of base64 hold: a signature of another service is not decoded. */
const MARK_IN_BASE64 = Buffer.from(STATE_MARK.slice(0, Math.floor(STATE_MARK.length / 3) * 3)).toString('base64')

function readSigned(value: unknown): SignedState | undefined {
  const state = readProviderState(value)
  if (state === undefined || !isJsonObject(value)) return undefined
  const signed: SignedState = { state }
  const owner = STATE_OWNERS.find(known => known === value.owner)
  if (owner !== undefined) signed.owner = owner
  if (typeof value.callId === 'string') signed.callId = value.callId
  if (typeof value.hiddenText === 'string') signed.hiddenText = value.hiddenText
  if (Number.isSafeInteger(value.callsBefore)) signed.callsBefore = value.callsBefore as number
  return signed
}

/** Gives state to the last of the parts when that is the part it belongs to; a client that left the part out loses the state. */
export function returnState(parts: ContentPart[], { state, owner }: SignedState): void {
  const last = parts.at(-1)
  const type = owner === 'previous-call' ? 'tool-call' : 'text'
  if (last?.type === type) parts[parts.length - 1] = { ...last, state: mergeProviderState(last.state, state) }
}
