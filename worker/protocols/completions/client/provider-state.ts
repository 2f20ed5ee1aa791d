// State that a provider on the same wire issued, in the members that such providers have for it: the client sends them back.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ProviderState,
  tryParseJson
} from '../../../normalized/index.ts'

/** What a provider wants back with a message: the entries of `reasoning_details`; undefined when there are none. */
export function writeDetails(states: ReadonlyArray<ProviderState | undefined>): JsonValue[] | undefined {
  const details: JsonValue[] = []
  for (const state of states) {
    const list = parse(state?.chat_compatible?.reasoningDetails)
    if (Array.isArray(list)) for (const entry of list) details.push(entry)
  }
  return details.length === 0 ? undefined : details
}

/** What a provider wants back with a call; undefined when there is nothing. */
export function writeExtraContent(state: ProviderState | undefined): JsonObject | undefined {
  const extra = parse(state?.chat_compatible?.extraContent)
  return isJsonObject(extra) ? extra : undefined
}

/** Reads a member that a client sent back; a value of another form is ignored. */
export function readState(
  member: 'reasoningDetails' | 'extraContent',
  value: JsonValue | undefined
): ProviderState | undefined {
  const isState = member === 'reasoningDetails' ? Array.isArray(value) : isJsonObject(value)
  return isState ? { chat_compatible: { [member]: JSON.stringify(value) } } : undefined
}

/** The JSON of a state; undefined when a client altered it. */
function parse(text: string | undefined): JsonValue | undefined {
  return text === undefined ? undefined : tryParseJson(text)
}
