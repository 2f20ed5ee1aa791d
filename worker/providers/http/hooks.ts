// What an executor of one provider kind adds to the generic calls: before a body goes out, and before events reach the client.

import type { NormalizedEvent } from '../../normalized/index.ts'
import type { CallContext, ChatCall } from '../types.ts'

/** Adds to events what the provider keeps elsewhere, such as the bytes of files that it generated. */
export interface EventCompleter {
  /** Whether any of these events is incomplete for this request. */
  isNeeded(events: readonly NormalizedEvent[], context: CallContext): boolean
  /** Resolves with the same events, completed. Rejects only when the request is aborted. */
  complete(events: readonly NormalizedEvent[], context: CallContext): Promise<NormalizedEvent[]>
}

export interface ExecutorHooks {
  /**
   * For a chat with attachments: resolves with the body that goes to the provider in place of `call.body`. Rejects with `GatewayError`
   * when it cannot be prepared; nothing of the chat was sent by then.
   */
  uploadAttachments?(call: ChatCall, context: CallContext): Promise<Uint8Array>
  eventCompleter?: EventCompleter
}
