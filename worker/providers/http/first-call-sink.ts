// Gives a client that refused several calls the first call of a response alone (decisions.md 38). A
// wire may lack the option, and a provider may not follow it, so the cut is made behind every
// reader, where the stop strings are applied too.

import { dropLaterCalls } from '../../normalized/index.ts'
import type { ResponseSink } from '../types.ts'

/** A sink that drops every call after the first. Bytes of the provider pass: it got the client's own option. */
export function keepFirstCall(sink: ResponseSink): ResponseSink {
  return {
    push(events, bytes) {
      if (bytes !== undefined) return sink.push(events, bytes)
      const kept = dropLaterCalls(events)
      return kept.length === 0 || sink.push(kept)
    },
    whenDrained: () => sink.whenDrained()
  }
}
