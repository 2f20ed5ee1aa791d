// What the store process measures: how much is stored (operations.md 7.5). Loaded only when metrics are on.
import type { StoreTotals } from '../../shared/memory/store.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'

/** The numbers are counted in the database, so they are not counted for each scrape. */
const REFRESH_INTERVAL_MS = 15_000

/** Sets the gauges now and from time to time. Returns the function that ends it. */
export function watchTotals(registry: MetricRegistry, totals: () => Promise<StoreTotals | undefined>): () => void {
  const gauges = {
    responses: registry.gauge('gateway_responses_store_responses').with({}),
    conversations: registry.gauge('gateway_responses_store_conversations').with({}),
    bytes: registry.gauge('gateway_responses_store_bytes').with({})
  }
  let isAsking = false

  async function refresh(): Promise<void> {
    if (isAsking) return
    isAsking = true
    const current = await totals()
    isAsking = false
    if (current === undefined) return
    gauges.responses.set(current.responses)
    gauges.conversations.set(current.conversations)
    gauges.bytes.set(current.bytes)
  }

  void refresh()
  const timer = setInterval(() => void refresh(), REFRESH_INTERVAL_MS).unref()
  return () => clearInterval(timer)
}
