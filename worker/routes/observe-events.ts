// Tells the observers of a request what the events of its stream say.

import type { RequestContext } from '../http/request-context.ts'
import type { NormalizedEvent } from '../normalized/index.ts'

/** Reports first token, usage and failure of a stream. */
export function observeEvents(context: RequestContext, events: readonly NormalizedEvent[]): void {
  for (const event of events) {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
      case 'tool-call-start':
        context.firstToken()
        break
      case 'usage':
        context.usage(event.usage)
        break
      case 'error':
        context.failed(event.error)
        break
    }
  }
}
