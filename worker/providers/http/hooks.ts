// What an executor of one provider kind adds to the generic calls: before a body goes out, and before events reach the client.

import type { Bytes } from '../../../shared/bytes.ts'
import type { NormalizedEvent } from '../../normalized/index.ts'
import type { CallContext, ChatCall } from '../types.ts'
import type { CallFailure } from './call-failure.ts'

/** Adds to events what the provider keeps elsewhere, such as the bytes of files that it generated. */
export interface EventCompleter {
  /** Whether any of these events is incomplete for this request. */
  isNeeded(events: readonly NormalizedEvent[], context: CallContext): boolean
  /**
   * Yields the same events in their order, each group as soon as it is complete. Throws when the request is aborted or what is added
   * exceeds its bound.
   */
  complete(events: readonly NormalizedEvent[], context: CallContext): AsyncIterable<readonly NormalizedEvent[]>
}

/** Replaces the body of a chat that a provider refuses because of an option that not every provider of the kind supports. */
export interface BodyFallback {
  /** The body to send: without the option once the provider is known to refuse it. */
  prepare(body: Bytes): Bytes
  /** The body to send in place of a refused one; undefined when the failure has another cause. */
  revise(body: Bytes, failure: CallFailure): Bytes | undefined
  /** The provider has accepted a revised body. Called once, before the client sees anything of the response. */
  confirm(): void
}

export interface ExecutorHooks {
  /**
   * For a chat with attachments: resolves with the body that goes to the provider in place of `call.body`. Rejects with `GatewayError`
   * when it cannot be prepared; nothing of the chat was sent by then.
   */
  uploadAttachments?(call: ChatCall, context: CallContext): Promise<Uint8Array>
  eventCompleter?: EventCompleter
  /** The fallback of one chat. */
  openFallback?(call: ChatCall, context: CallContext): BodyFallback
}
