// Settles each request of a limited key when it has ended, whichever way it ends (keys.md 2). The request's context calls `closed` exactly
// once.
import type { FindPrice, PricedRoute } from '../../shared/profile/price-finder.ts'
import type { NormalizedEvent, NormalizedUsage } from '../normalized/index.ts'
import type { LimitState } from './limit-state.ts'
import type { Limiter } from './limiter.ts'
import { readRequestLimits } from './request-limits.ts'

interface SettledRequest {
  readonly limitState?: LimitState | undefined
}

/** What the facts of a closed request have for its settlement. */
interface EndFacts {
  readonly isComplete: boolean
  readonly errorType: string | undefined
  readonly facts: PricedRoute & {
    readonly inputTokens?: number
    readonly outputTokens?: number
    readonly totalTokens?: number
    readonly costNanos?: number
  }
}

/**
 * Is a `RequestObserver`.
 * @param findPrice undefined where no model has a price.
 */
export function createSettlingObserver(limiter: Pick<Limiter, 'settle' | 'close'>, findPrice?: FindPrice) {
  return {
    name: 'limits',
    /** Only a key with a limit of tokens or a budget needs what was generated, for providers that count nothing. */
    follows: (request: SettledRequest) => readRequestLimits(request.limitState)?.needsEstimate === true,
    events(request: SettledRequest, events: readonly NormalizedEvent[]) {
      readRequestLimits(request.limitState)?.generated(events)
    },
    usage(request: SettledRequest, usage: NormalizedUsage) {
      readRequestLimits(request.limitState)?.reported(usage)
    },
    closed(request: SettledRequest, { isComplete, errorType, facts }: EndFacts) {
      const limits = readRequestLimits(request.limitState)
      if (limits === undefined) return
      limiter.settle(limits, {
        inputTokens: facts.inputTokens,
        outputTokens: facts.outputTokens,
        totalTokens: facts.totalTokens,
        isWhole: isComplete && errorType === undefined,
        costNanos: facts.costNanos ?? 0,
        price: limits.hasBudget ? findPrice?.(facts) : undefined
      })
    },
    async close() {
      limiter.close()
    }
  }
}
