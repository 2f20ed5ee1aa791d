// Tells the observers of a request what the events of its stream say.

import type { RequestContext } from '../http/request-context.ts'
import type { NormalizedEvent, NormalizedUsage } from '../normalized/index.ts'

/** What a stream that breaks off has counted. At its start a provider cannot know more than the input. */
function inputOf({ inputTokens, cacheReadTokens, cacheWriteTokens }: NormalizedUsage): NormalizedUsage {
  return {
    inputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    outputTokens: null,
    reasoningTokens: null,
    totalTokens: null
  }
}

/** Reports first token, usage and failure of a stream. */
export function observeEvents(context: RequestContext, events: readonly NormalizedEvent[]): void {
  for (const event of events) {
    switch (event.type) {
      case 'start':
        if (event.usage !== undefined) context.usage(inputOf(event.usage))
        break
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
