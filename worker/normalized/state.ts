// State that a provider wants back unchanged on the next turn, keyed by the provider kind that issued it. A client protocol carries
// it in its own opaque member; only the provider face of the same kind reads it.

import { isJsonObject } from './json.ts'

export type NativeState = {
  /** Id of a tool turn: v1 `functions_state_id`, v2 `tool_state_id` / `tools_state_id`. */
  toolStateId?: string
  /** Id of the stored conversation: v2 `storage.thread_id`. */
  threadId?: string
  messageId?: string
}

export type ChatCompatibleState = {
  /** JSON text of `reasoning_details`, encrypted entries included. */
  reasoningDetails?: string
  /** JSON text of `extra_content` on a message or a call, which carries the signatures of some providers. */
  extraContent?: string
  /** Where the reasoning stood in the message: `reasoning_content`, `reasoning`, or `content` for a part of the content. */
  reasoningName?: string
}

export type MessagesCompatibleState = {
  /** Signature of a thinking block. */
  signature?: string
  /** Payload of a redacted thinking block. */
  redacted?: string
}

export type ContentCompatibleState = {
  thoughtSignature?: string
}

/** What a provider of the kind `chat_compatible` wants back on the wire of Responses. */
export type ResponsesState = {
  /** JSON text of a reasoning item, encrypted content included. */
  reasoningItem?: string
  /** The phase of a message. */
  phase?: string
}

/** What one kind wants back: texts by the name that its face gives them. */
export type KindState = Readonly<Record<string, string | undefined>>

/**
 * State by the provider kind that issued it. The kinds of the product say what they have; a further
 * kind needs no line here.
 */
export interface ProviderState {
  native?: NativeState
  chat_compatible?: ChatCompatibleState
  messages_compatible?: MessagesCompatibleState
  content_compatible?: ContentCompatibleState
  responses?: ResponsesState
  [kind: string]: KindState | undefined
}

/** Names of kinds and members. State comes back through clients, so `__proto__` must not be one. */
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** More kinds or members than any state has. */
const NAMES_MAX = 16

/** State of a tool turn of the native upstream, for client faces whose vendor members name that turn. */
export function createToolTurnState(toolStateId: string): ProviderState {
  return { native: { toolStateId } }
}

/**
 * The state that only an opaque member of the client protocol can carry: all but that of the native upstream, whose ids stand in the
 * ids of calls and responses. Undefined when there is none.
 */
export function findCarriedState(state: ProviderState | undefined): ProviderState | undefined {
  if (state === undefined) return undefined
  const { native: _inIds, ...carried } = state
  return Object.keys(carried).length === 0 ? undefined : carried
}

/**
 * The state in JSON that a client sent back: strings under names, and nothing else. Undefined when
 * there is none. Only the face of a kind reads what stands under its name.
 */
export function readProviderState(value: unknown): ProviderState | undefined {
  return pick(value, pickStrings)
}

function pickStrings(source: unknown): KindState | undefined {
  return pick(source, value => (typeof value === 'string' ? value : undefined))
}

/** The members that `read` makes something of; undefined when there is none. */
function pick<Value>(source: unknown, read: (value: unknown) => Value | undefined): Record<string, Value> | undefined {
  if (!isJsonObject(source)) return undefined
  const picked: Record<string, Value> = {}
  let count = 0
  for (const [name, member] of Object.entries(source)) {
    const value = NAME.test(name) ? read(member) : undefined
    if (value === undefined) continue
    picked[name] = value
    count += 1
    if (count === NAMES_MAX) break
  }
  return count === 0 ? undefined : picked
}

/** Both states; a member that both have keeps the later value. */
export function mergeProviderState(earlier: ProviderState | undefined, later: ProviderState): ProviderState {
  if (earlier === undefined) return later
  const merged: ProviderState = { ...earlier, ...later }
  for (const kind in later) {
    const before = earlier[kind]
    if (before !== undefined) merged[kind] = { ...before, ...later[kind] }
  }
  return merged
}
