// The series that the supervisor knows: its own memory, the workers, readiness and drain, the
// catalog, the concurrency limits of models, shared limits (operations.md 7.5). Loaded only when metrics are on.

import type { CatalogSnapshot } from '../../shared/catalog/catalog.ts'
import { readProcessMemory } from '../../shared/metrics/process-memory.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import type { SlotUsage } from '../../shared/model-slots.ts'
import { listRouted } from '../../shared/profile/profile-routes.ts'
import type { Settings } from '../../shared/settings.ts'
import type { LifecycleState } from '../lifecycle/lifecycle.ts'
import type { FleetCounts } from '../workers/fleet.ts'
import { createModelNaming } from './model-labels.ts'
import { type ProviderSources, watchProviders } from './provider-series.ts'

/** What the series are read from. */
export interface SupervisorSources extends ProviderSources {
  readonly settings: Pick<Settings, 'modelMaxConnections' | 'metricsMaxModels'>
  readonly lifecycle: () => LifecycleState
  readonly fleet: { counts(): FleetCounts; activeRequests(): number }
  readonly slots: { usage(): SlotUsage[] }
  /** `isOutage`: undefined where hosts share no limits. */
  readonly limits: { readonly isOutage: boolean | undefined }
  /** Undefined without TLS. */
  readonly certificate?: { expiresAtMs(): number } | undefined
}

/** Registers the probe that sets the series before each delta. */
export function watchSupervisor(registry: MetricRegistry, sources: SupervisorSources): void {
  registry.gauge('gateway_build_info').with({}).set(1)
  registry
    .gauge('gateway_process_start_time_seconds')
    .with({})
    .set(performance.timeOrigin / 1000)
  const rss = registry.gauge('gateway_memory_rss_bytes').with({})
  const heap = registry.gauge('gateway_heap_used_bytes').with({})
  const catalogAge = registry.gauge('gateway_catalog_age_seconds').with({})
  const outage = sources.limits.isOutage === undefined ? undefined : registry.gauge('gateway_limits_outage').with({})
  const { certificate } = sources
  const certificateEnd = certificate && registry.gauge('gateway_certificate_expiry_timestamp_seconds').with({})
  const readFleet = watchFleet(registry, sources)
  const readSlots = watchSlots(registry, sources)
  const readProviders = watchProviders(registry, sources)
  registry.onCollect(() => {
    const memory = readProcessMemory()
    if (memory !== undefined) {
      rss.set(memory.rss)
      heap.set(memory.heapUsed)
    }
    catalogAge.set(ageOf(sources.catalog.current(), sources.nowMs()))
    if (certificate !== undefined) certificateEnd?.set(certificate.expiresAtMs() / 1000)
    outage?.set(sources.limits.isOutage ? 1 : 0)
    readFleet()
    readSlots()
    readProviders()
  })
}

/** Seconds since the discovery; 0 before the first one, and for a catalog that needs none. */
function ageOf(catalog: CatalogSnapshot | undefined, nowMs: number): number {
  const discoveredAtMs = Date.parse(catalog?.discoveredAt ?? '')
  return Number.isNaN(discoveredAtMs) ? 0 : Math.max(0, (nowMs - discoveredAtMs) / 1000)
}

function watchFleet(registry: MetricRegistry, { fleet, lifecycle, profiles }: SupervisorSources): () => void {
  // Readiness needs a route.
  const hasRoutes = listRouted(profiles).length > 0
  const workers = registry.gauge('gateway_workers')
  const states = (['starting', 'ready', 'draining'] as const).map(
    state => [state, workers.with({ lifecycle: state })] as const
  )
  const restarts = registry.counter('gateway_worker_restarts_total').with({})
  const replacements = registry.counter('gateway_worker_replacements_total').with({})
  const ready = registry.gauge('gateway_ready').with({})
  const draining = registry.gauge('gateway_draining').with({})
  const drained = registry.gauge('gateway_drain_active_requests').with({})
  let countedRestarts = 0
  let countedReplacements = 0
  return () => {
    const counts = fleet.counts()
    for (const [state, gauge] of states) gauge.set(counts[state])
    restarts.add(counts.restarts - countedRestarts)
    countedRestarts = counts.restarts
    replacements.add(counts.replacements - countedReplacements)
    countedReplacements = counts.replacements
    const state = lifecycle()
    const isReady = state.phase === 'live' && state.isReady && hasRoutes && counts.ready > 0
    const isDraining = state.phase !== 'not-started' && state.phase !== 'starting' && state.phase !== 'live'
    ready.set(isReady ? 1 : 0)
    draining.set(isDraining ? 1 : 0)
    drained.set(isDraining ? fleet.activeRequests() : 0)
  }
}

interface ModelUsage {
  limit: number
  held: number
  waiting: number
  refused: number
}

function watchSlots(registry: MetricRegistry, { slots, settings, profiles, catalog }: SupervisorSources): () => void {
  const naming = createModelNaming({
    profiles,
    configured: settings.modelMaxConnections,
    namesMax: settings.metricsMaxModels
  })
  const limit = registry.gauge('gateway_model_concurrency_limit')
  const inUse = registry.gauge('gateway_model_concurrency_in_use')
  const waiting = registry.gauge('gateway_model_concurrency_waiting')
  const rejected = registry.counter('gateway_model_concurrency_rejected_total')
  /** Every label that was reported so far, with the refusals that were counted for it. */
  const reported = new Map<string, number>()

  return () => {
    const name = naming.namesFor(catalog.current())
    const byModel = new Map<string, ModelUsage>()
    for (const [model, configured] of name.limits) {
      byModel.set(model, { limit: configured, held: 0, waiting: 0, refused: 0 })
    }
    for (const usage of slots.usage()) {
      const model = name.ofKey(usage.key)
      const sum = byModel.get(model) ?? { limit: usage.limit, held: 0, waiting: 0, refused: 0 }
      sum.held += usage.held
      sum.waiting += usage.waiting
      sum.refused += usage.refused
      byModel.set(model, sum)
    }
    for (const model of new Set([...reported.keys(), ...byModel.keys()])) {
      const usage = byModel.get(model)
      if (usage !== undefined) limit.with({ model }).set(usage.limit)
      inUse.with({ model }).set(usage?.held ?? 0)
      waiting.with({ model }).set(usage?.waiting ?? 0)
      const counted = reported.get(model) ?? 0
      const refused = Math.max(counted, usage?.refused ?? 0)
      rejected.with({ model }).add(refused - counted)
      reported.set(model, refused)
    }
  }
}
