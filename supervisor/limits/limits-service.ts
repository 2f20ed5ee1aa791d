// The limits of keys as a service of the supervisor: the ledger, the broker that answers workers, and the place that hosts share.
import type { SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import type { KeySet } from '../../shared/keys/key-set.ts'
import type { KeyUsage } from '../../shared/limits/leases.ts'
import type { SharedCounters } from '../../shared/limits/shared-counters.ts'
import { type LimitTimers, systemTimers } from '../../shared/limits/timers.ts'
import type { Logger } from '../../shared/logging.ts'
import { hostLimits } from './host-limits.ts'
import { createLeaseBroker, type LeaseBroker } from './lease-broker.ts'
import { createLedger, type LedgerClock } from './ledger.ts'
import { createSharedLimits, type SharedLimitsOptions } from './shared/shared-limits.ts'

export interface LimitsService extends Pick<LeaseBroker, 'handlers' | 'releaseOwner' | 'replaceKeys'> {
  /** What keys use now. */
  usage(): KeyUsage[]
  /** Whether the place that hosts share cannot be reached; undefined where there is none. */
  readonly isOutage: boolean | undefined
  /** Sends what was spent to the place; nothing is counted after that. */
  close(): void
}

export interface LimitsServiceDependencies {
  readonly log: Logger
  readonly send: (owner: number, message: SupervisorMessageContent) => void
  /** Undefined where this host counts alone. */
  readonly place: SharedCounters | undefined
  readonly clock?: LedgerClock
  readonly timers?: LimitTimers
}

export interface LimitsServiceOptions extends SharedLimitsOptions {
  readonly keys: KeySet | undefined
  readonly workers: number
}

const systemClock: LedgerClock = { nowMs: () => performance.now(), epochMs: Date.now }

export function createLimitsService(
  { log, send, place, clock = systemClock, timers = systemTimers }: LimitsServiceDependencies,
  { keys, workers, ...options }: LimitsServiceOptions
): LimitsService {
  const { nowMs } = clock
  const onAnswered = () => broker.advance()
  const shared = place && createSharedLimits({ log, place, timers, nowMs, onAnswered }, options)
  const ledger = createLedger({ clock, factory: shared ?? hostLimits }, { keys, workers })
  const broker = createLeaseBroker({ send, ledger, nowMs, timers })
  return {
    get isOutage() {
      return shared?.isOut
    },
    usage: ledger.usage,
    handlers: broker.handlers,
    releaseOwner: broker.releaseOwner,
    replaceKeys: broker.replaceKeys,
    close() {
      broker.close()
      shared?.close()
    }
  }
}
