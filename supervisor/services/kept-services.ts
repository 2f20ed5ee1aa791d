// The service processes of a gateway as one: the writer of the traffic log, the store of responses and the process of shared limits, each
// where the settings need it.
import { randomUUID } from 'node:crypto'
import type { SharedCounters } from '../../shared/limits/shared-counters.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import type { ServiceName } from '../../shared/services.ts'
import { writeLimitsSettings } from '../../shared/settings/limits-settings.ts'
import { writeStoreSettings } from '../../shared/settings/store-settings.ts'
import type { TransferredSettings } from '../../shared/settings/transfer.ts'
import { writeWriterSettings } from '../../shared/settings/writer-settings.ts'
import type { Settings } from '../../shared/settings.ts'
import { createServiceCounters, type ServiceCounters } from '../limits/service-counters.ts'
import type { ForkChild } from '../processes/child-process.ts'
import { createHeldRecords } from './held-records.ts'
import {
  createServiceKeeper,
  type ServiceEvent,
  type ServiceKeeper,
  type ServiceKeeperDependencies,
  type ServiceKeeperOptions
} from './service-keeper.ts'

export type KeptServicesEvent =
  /** All have started for the first time. Not sent where there are none. */
  | { readonly kind: 'started' }
  | Extract<ServiceEvent, { kind: 'start-failed' | 'exited' }>
  /** All have exited after `close`; at once where there are none. */
  | { readonly kind: 'closed' }

export interface KeptServices {
  /** Each has started once. */
  readonly areStarted: boolean
  /** Where hosts share their counters; undefined where the settings name no such place. */
  readonly counters: SharedCounters | undefined
  start(): void
  /** Asks the process of this owner for what changed in its metrics. */
  collectMetrics(owner: number, requestId: number): void
  /** The processes that can be asked. */
  readyOwners(): readonly number[]
  reopenLogs(): void
  giveUpStart(): void
  close(): void
  kill(): void
}

export interface KeptServicesDependencies
  extends Omit<ServiceKeeperDependencies, 'fork' | 'nextOwner' | 'onEvent' | 'onCounters' | 'onHeld'> {
  readonly forkService: Readonly<Record<ServiceName, ForkChild>>
  readonly onEvent: (event: KeptServicesEvent) => void
  /** What this process counts; undefined while metrics are off. */
  readonly registry: MetricRegistry | undefined
}

export interface KeptServicesOptions extends Omit<ServiceKeeperOptions, 'name' | 'configure'> {
  readonly settings: Settings
  /** Where each listens; none for one that is not needed. */
  readonly socketPaths: Readonly<Partial<Record<ServiceName, string>>>
  readonly isQuiet: boolean
}

const writeSettings: Readonly<Record<ServiceName, (settings: Settings) => TransferredSettings>> = {
  writer: writeWriterSettings,
  store: writeStoreSettings,
  limits: writeLimitsSettings
}

/** Creates the keepers; nothing is started yet. */
export function createKeptServices(
  { forkService, onEvent, registry, ...dependencies }: KeptServicesDependencies,
  { settings, socketPaths, isQuiet, ...options }: KeptServicesOptions
): KeptServices {
  const keepers = new Map<ServiceName, ServiceKeeper>()
  const waiting = new Set<ServiceName>()
  const open = new Set<ServiceName>()
  const held = createHeldRecords({ log: dependencies.log, registry })
  let lastOwner = 0
  const gatewayId = randomUUID()
  /** The process that is asked about counters: Redis has all kinds of them, the store of responses budgets alone. */
  const place = (['limits', 'store'] as const).find(name => socketPaths[name] !== undefined)
  const counters: ServiceCounters | undefined =
    place &&
    createServiceCounters({
      isReady: () => keepers.get(place)?.isReady === true,
      send: exchange => keepers.get(place)?.exchangeCounters(exchange)
    })

  for (const name of ['writer', 'store', 'limits'] as const) {
    const socketPath = socketPaths[name]
    if (socketPath === undefined) continue
    waiting.add(name)
    open.add(name)
    const keeper = createServiceKeeper(
      {
        ...dependencies,
        fork: forkService[name],
        nextOwner() {
          lastOwner -= 1
          return lastOwner
        },
        onEvent: event => receive(name, event),
        onCounters: reply => counters?.receive(reply),
        onHeld: ({ sink, count }) => held.note(sink, count)
      },
      {
        ...options,
        name,
        configure: {
          settings: writeSettings[name](settings),
          socketPath,
          gatewayId,
          isQuiet,
          hasMetrics: settings.metricsEnabled
        }
      }
    )
    keepers.set(name, keeper)
  }

  function receive(name: ServiceName, event: ServiceEvent): void {
    switch (event.kind) {
      case 'started':
        waiting.delete(name)
        if (waiting.size === 0) onEvent(event)
        break
      case 'closed':
        open.delete(name)
        if (name === place) counters?.close()
        if (open.size === 0) onEvent(event)
        break
      case 'exited':
        if (name === place) counters?.forgetProcess()
        if (name === 'writer') held.lose()
        onEvent(event)
        break
      case 'start-failed':
        onEvent(event)
        break
    }
  }

  const each = (call: (keeper: ServiceKeeper) => void) => {
    for (const keeper of keepers.values()) call(keeper)
  }

  return {
    get areStarted() {
      return waiting.size === 0
    },
    counters,
    start: () => each(keeper => keeper.start()),
    collectMetrics: (owner, requestId) =>
      each(keeper => {
        if (keeper.owner === owner) keeper.collectMetrics(requestId)
      }),
    readyOwners: () => [...keepers.values()].filter(({ isReady }) => isReady).map(({ owner }) => owner),
    reopenLogs: () => each(keeper => keeper.reopenLog()),
    giveUpStart: () => each(keeper => keeper.giveUpStart()),
    close() {
      if (keepers.size === 0) onEvent({ kind: 'closed' })
      counters?.giveBack()
      each(keeper => keeper.close())
    },
    kill: () => each(keeper => keeper.kill())
  }
}
