// State that a provider wants back, in the members that providers on the same wire have for it: `reasoning_details` of a message and
// `extra_content` of a call. State of a provider on another wire stands there as a signature of the gateway, so that only a provider of
// that kind gets it back.

import {
  findCarriedState,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ProviderState,
  type ReasoningPart,
  tryParseJson
} from '../../../normalized/index.ts'
import {
  readStateSignature,
  type SignedState,
  type StateOwner,
  writeStateSignature
} from '../../shared/state-signature.ts'

/** State of a piece of reasoning with its text, of a text, or of the whole message. */
export interface StateCarrier {
  reasoning?: string
  state: ProviderState | undefined
  owner?: StateOwner
  /** How many calls of the message stand before the reasoning. */
  callsBefore?: number
}

/** The entries of `reasoning_details` for a message; undefined when there are none. */
export function writeDetails(carriers: readonly StateCarrier[]): JsonValue[] | undefined {
  const details: JsonValue[] = []
  for (const carrier of carriers) addDetails(details, carrier)
  return details.length === 0 ? undefined : details
}

/** Adds the entries for one piece of state. */
export function addDetails(
  details: JsonValue[],
  { reasoning = '', state, owner, callsBefore = 0 }: StateCarrier
): void {
  if (state === undefined) return
  const list = parse(state.chat_compatible?.reasoningDetails)
  if (Array.isArray(list)) for (const entry of list) details.push(entry)
  const about = { ...(owner === undefined ? {} : { owner }), ...(callsBefore === 0 ? {} : { callsBefore }) }
  const signature = signForeign(state, about)
  if (signature === undefined) return
  // An SDK's helper joins the entries of a stream by their index.
  const { length: index } = details
  details.push(
    reasoning === ''
      ? { type: 'reasoning.encrypted', data: signature, index }
      : { type: 'reasoning.text', text: reasoning, signature, index }
  )
}

/** What a provider wants back with a call; undefined when there is nothing. */
export function writeExtraContent(state: ProviderState | undefined): JsonObject | undefined {
  const extra = parse(state?.chat_compatible?.extraContent)
  if (isJsonObject(extra)) return extra
  const signature = signForeign(state)
  // Clients that send only known members back know this one.
  return signature === undefined ? undefined : { google: { thought_signature: signature } }
}

/** The signature of the state of providers on other wires. */
function signForeign(
  state: ProviderState | undefined,
  about: Pick<SignedState, 'owner' | 'callsBefore'> = {}
): string | undefined {
  const carried = findCarriedState(state)
  if (carried === undefined) return undefined
  const { chat_compatible: _ofThisWire, ...foreign } = carried
  if (Object.keys(foreign).length === 0) return undefined
  return writeStateSignature(foreign, about)
}

export interface ReadDetails {
  /** State that a provider on this wire issued. */
  state?: ProviderState
  /** Reasoning with state of a provider on another wire, and how many calls stand before it. */
  reasoning: Array<{ part: ReasoningPart; callsBefore: number }>
  /** State of the text of the message. */
  ofText?: SignedState
}

/** Reads `reasoning_details` that a client sent back; a value of another form is ignored. */
export function readDetails(value: JsonValue | undefined): ReadDetails {
  const read: ReadDetails = { reasoning: [] }
  if (!Array.isArray(value)) return read
  const others: JsonValue[] = []
  for (const entry of value) {
    const signed = isJsonObject(entry) ? readStateSignature(entry.data ?? entry.signature) : undefined
    if (signed === undefined || !isJsonObject(entry)) others.push(entry)
    else if (signed.owner !== undefined) read.ofText = signed
    else {
      const text = typeof entry.text === 'string' ? entry.text : ''
      const part: ReasoningPart = { type: 'reasoning', text, state: signed.state }
      read.reasoning.push({ part, callsBefore: signed.callsBefore ?? 0 })
    }
  }
  if (others.length > 0 || value.length === 0) {
    read.state = { chat_compatible: { reasoningDetails: JSON.stringify(others) } }
  }
  return read
}

/** Reads the `extra_content` of a call that a client sent back; a value of another form is ignored. */
export function readExtraContent(value: JsonValue | undefined): ProviderState | undefined {
  if (!isJsonObject(value)) return undefined
  const signed = isJsonObject(value.google) ? readStateSignature(value.google.thought_signature) : undefined
  return signed?.state ?? { chat_compatible: { extraContent: JSON.stringify(value) } }
}

/** The JSON of a state; undefined when a client altered it. */
function parse(text: string | undefined): JsonValue | undefined {
  return text === undefined ? undefined : tryParseJson(text)
}
