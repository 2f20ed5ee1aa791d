// State that a provider wants back unchanged on the next turn, keyed by the provider kind that issued it. A client protocol carries
// it in its own opaque member; only the provider face of the same kind reads it.

import { isJsonObject } from './json.ts'

export interface NativeState {
  /** Id of a tool turn: v1 `functions_state_id`, v2 `tool_state_id` / `tools_state_id`. */
  toolStateId?: string
  /** Id of the stored conversation: v2 `storage.thread_id`. */
  threadId?: string
  messageId?: string
}

export interface ChatCompatibleState {
  /** JSON text of `reasoning_details`, encrypted entries included. */
  reasoningDetails?: string
  /** JSON text of `extra_content` on a message or a call, which carries the signatures of some providers. */
  extraContent?: string
}

export interface MessagesCompatibleState {
  /** Signature of a thinking block. */
  signature?: string
  /** Payload of a redacted thinking block. */
  redacted?: string
}

export interface ContentCompatibleState {
  thoughtSignature?: string
}

export interface ProviderState {
  native?: NativeState
  chat_compatible?: ChatCompatibleState
  messages_compatible?: MessagesCompatibleState
  content_compatible?: ContentCompatibleState
}

export type ProviderKind = keyof ProviderState

/** Every member that state may have, by kind: the whole list, because state comes back through clients. */
const STATE_MEMBERS: { readonly [Kind in ProviderKind]-?: ReadonlyArray<keyof Required<ProviderState>[Kind]> } = {
  native: ['toolStateId', 'threadId', 'messageId'],
  chat_compatible: ['reasoningDetails', 'extraContent'],
  messages_compatible: ['signature', 'redacted'],
  content_compatible: ['thoughtSignature']
}

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

/** The state in JSON that a client sent back: strings under known names only. Undefined when there is none. */
export function readProviderState(value: unknown): ProviderState | undefined {
  if (!isJsonObject(value)) return undefined
  const entries = Object.entries(STATE_MEMBERS).flatMap(([kind, names]) => {
    const members = pickStrings(value[kind], names)
    return members === undefined ? [] : [[kind, members] as const]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function pickStrings(source: unknown, names: readonly string[]): Record<string, string> | undefined {
  if (!isJsonObject(source)) return undefined
  const kept: Record<string, string> = {}
  for (const name of names) {
    const value = source[name]
    if (typeof value === 'string') kept[name] = value
  }
  return Object.keys(kept).length === 0 ? undefined : kept
}

/** Both states; a member that both have keeps the later value. */
export function mergeProviderState(earlier: ProviderState | undefined, later: ProviderState): ProviderState {
  if (earlier === undefined) return later
  const merged: ProviderState = { ...earlier, ...later }
  if (earlier.native !== undefined) merged.native = { ...earlier.native, ...later.native }
  if (earlier.chat_compatible !== undefined) {
    merged.chat_compatible = { ...earlier.chat_compatible, ...later.chat_compatible }
  }
  if (earlier.messages_compatible !== undefined) {
    merged.messages_compatible = { ...earlier.messages_compatible, ...later.messages_compatible }
  }
  if (earlier.content_compatible !== undefined) {
    merged.content_compatible = { ...earlier.content_compatible, ...later.content_compatible }
  }
  return merged
}
