// Cuts a response after its first tool call, for a client that refused several calls
// (decisions.md 38).

import type { NormalizedEvent } from './event.ts'

/** The events without those of every call after the first; all other content stays. The same list when it holds no later call. */
export function dropLaterCalls(events: readonly NormalizedEvent[]): readonly NormalizedEvent[] {
  return events.some(isOfLaterCall) ? events.filter(event => !isOfLaterCall(event)) : events
}

function isOfLaterCall(event: NormalizedEvent): boolean {
  switch (event.type) {
    case 'tool-call-start':
    case 'tool-call-delta':
    case 'tool-call-end':
      return event.index > 0
    default:
      return false
  }
}
