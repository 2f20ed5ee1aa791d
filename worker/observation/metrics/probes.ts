// The series about a worker process: event loop, memory, garbage collection, thread pool,
// connections, tokens (operations.md 7.5). Loaded only when metrics are on.

import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks'
import { readProcessMemory } from '../../../shared/metrics/process-memory.ts'
import type { MetricRegistry } from '../../../shared/metrics/registry.ts'

/** What parts of the worker call while they work. */
export interface ProcessListeners {
  onPoolWaited(ms: number): void
  onTokenFetched(hasFailed: boolean): void
  onConnectionChange(provider: string, change: 1 | -1): void
  onStaleConnection(provider: string): void
}

export interface ProcessProbes {
  readonly listeners: ProcessListeners
  /** Reads the number of tasks of the thread pool from now on. */
  watchPool(pool: { readonly poolTasks: number }): void
  /** Ends the measurements. */
  close(): void
}

/** How exactly the delay is measured; the timer of the measurement itself waits for so long. */
const LOOP_RESOLUTION_MS = 20
/**
 * Figures of the event loop cover the current and the previous window, so that a scrape at a common interval sees every block once at
 * least.
 */
const WINDOW_MS = 15_000

const NANOSECONDS = 1e9

/** Starts the measurements and registers the probe that sets the gauges before each delta. */
export function startProcessProbes(
  registry: MetricRegistry,
  nowMs: () => number = () => performance.now()
): ProcessProbes {
  const loop = startLoopProbe(registry, nowMs)
  const endGcProbe = startGcProbe(registry)
  const rss = registry.gauge('gateway_memory_rss_bytes').with({})
  const heap = registry.gauge('gateway_heap_used_bytes').with({})
  const poolTasks = registry.gauge('gateway_pool_tasks').with({})
  const poolWait = registry.histogram('gateway_pool_wait_seconds').with({})
  const connections = registry.gauge('gateway_upstream_connections')
  const staleConnections = registry.counter('gateway_upstream_stale_connections_total')
  const refreshes = registry.counter('gateway_upstream_token_refresh_total').with({})
  const failures = registry.counter('gateway_upstream_token_refresh_failures_total').with({})
  let pool: { readonly poolTasks: number } | undefined
  registry.onCollect(() => {
    const memory = readProcessMemory()
    if (memory !== undefined) {
      rss.set(memory.rss)
      heap.set(memory.heapUsed)
    }
    poolTasks.set(pool?.poolTasks ?? 0)
    loop.read()
  })
  return {
    listeners: {
      onPoolWaited: ms => poolWait.observe(ms / 1000),
      onTokenFetched(hasFailed) {
        refreshes.add(1)
        if (hasFailed) failures.add(1)
      },
      onConnectionChange: (provider, change) => connections.with({ provider }).add(change),
      onStaleConnection: provider => staleConnections.with({ provider }).add(1)
    },
    watchPool(watched) {
      pool = watched
    },
    close() {
      loop.close()
      endGcProbe()
    }
  }
}

interface LoopDelay {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

const NO_DELAY: LoopDelay = { p50: 0, p99: 0, max: 0 }

function startLoopProbe(registry: MetricRegistry, nowMs: () => number): { read(): void; close(): void } {
  const p50 = registry.gauge('gateway_event_loop_lag_p50_seconds').with({})
  const p99 = registry.gauge('gateway_event_loop_lag_p99_seconds').with({})
  const max = registry.gauge('gateway_event_loop_lag_max_seconds').with({})
  const utilization = registry.gauge('gateway_event_loop_utilization').with({})
  const histogram = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  histogram.enable()
  let windowStartedMs = nowMs()
  let previousDelay = NO_DELAY
  let windowUse = performance.eventLoopUtilization()
  let previousUse = windowUse

  /** The delay of the current window in seconds, without the interval of the measurement itself. */
  function readDelay(): LoopDelay {
    // Without a value the histogram reports its smallest possible one.
    if (histogram.count === 0) return NO_DELAY
    const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / NANOSECONDS - LOOP_RESOLUTION_MS / 1000)
    return {
      p50: seconds(histogram.percentile(50)),
      p99: seconds(histogram.percentile(99)),
      max: seconds(histogram.max)
    }
  }

  return {
    read() {
      const delay = readDelay()
      p50.set(Math.max(delay.p50, previousDelay.p50))
      p99.set(Math.max(delay.p99, previousDelay.p99))
      max.set(Math.max(delay.max, previousDelay.max))
      const use = performance.eventLoopUtilization()
      utilization.set(performance.eventLoopUtilization(use, previousUse).utilization)
      if (nowMs() - windowStartedMs < WINDOW_MS) return
      windowStartedMs = nowMs()
      previousDelay = delay
      histogram.reset()
      previousUse = windowUse
      windowUse = use
    },
    close: () => histogram.disable()
  }
}

function startGcProbe(registry: MetricRegistry): () => void {
  const pauses = registry.histogram('gateway_gc_pause_seconds').with({})
  const observer = new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) pauses.observe(duration / 1000)
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => observer.disconnect()
}
