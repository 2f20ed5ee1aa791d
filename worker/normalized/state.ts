// The one place for what a provider wants back untouched on the next turn, keyed by the kind of provider that issued it.
// A client protocol carries it in whatever member it has for such things; no other code looks inside.

export type ProviderKind = 'native' | 'chat_compatible' | 'messages_compatible' | 'content_compatible'

export interface NativeState {
  /** The upstream's handle on a tool turn: v1 `functions_state_id`, v2 `tool_state_id` / `tools_state_id`. */
  toolStateId?: string
  /** The upstream's stored conversation: v2 `storage.thread_id`. */
  threadId?: string
  messageId?: string
}

export interface ChatCompatibleState {
  /** Opaque reasoning payload some providers ask to see again. */
  reasoningDetails?: string
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
