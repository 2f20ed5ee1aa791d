// The gateway and its providers: whether it is ready, what is in force, how each provider is and which models it serves. No provider is called
// for it.
import { useCallback } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import { keepRange } from '../data/address.ts'
import type { Api, SumGroup } from '../data/api.ts'
import { describeProviders, type ProviderSources } from '../data/providers.ts'
import { alignRange, boundsOf, chooseBucket, DEFAULT_RANGE, endsNow, readRange } from '../data/ranges.ts'
import { useLoaded } from '../loaded.ts'
import { LoadedView } from '../parts/loaded-view.tsx'
import { RangeBar } from '../parts/range-bar.tsx'
import { Refresh, readsRefresh } from '../parts/refresh.tsx'
import { ViewHead } from '../parts/view-head.tsx'
import { useGatewayState } from '../state.ts'
import { GatewayCard } from './providers/gateway-card.tsx'
import { ModelTable } from './providers/model-table.tsx'
import { ProviderCard } from './providers/provider-card.tsx'

const REFRESH_MS = 10_000

/** Sums may be missing: what the calls have seen is there all the same. */
async function load(api: Api, time: string, signal: AbortSignal) {
  const nowMs = Date.now()
  const range = readRange(JSON.parse(time), nowMs) ?? { fromMs: nowMs - 3_600_000, toMs: nowMs }
  const bucket = chooseBucket(range, nowMs)
  const bounds = { ...boundsOf(alignRange(range, bucket)), bucket }
  const sum = (by: readonly SumGroup[]) => api.sums({ ...bounds, by }, signal).catch(() => [])
  const [providers, whole, byAlias, byModel, byCode] = await Promise.all([
    api.providers(signal),
    sum(['profile_id']),
    sum(['profile_id', 'alias']),
    sum(['profile_id', 'alias', 'model']),
    sum(['profile_id', 'alias', 'model', 'error_code'])
  ])
  return { nowMs, providers, whole, byAlias, byModel, byCode }
}

/** Once: unlike the other questions this one is recorded. */
const askModels = (api: Api, signal: AbortSignal) => api.models(signal).catch(() => [])

export function Providers() {
  const { params } = useNavigation()
  const state = useGatewayState()?.value
  const { range, from, to } = keepRange(params, DEFAULT_RANGE)
  const time = JSON.stringify({ range, from, to })
  const ask = useCallback((api: Api, signal: AbortSignal) => load(api, time, signal), [time])
  const { value: models = [] } = useLoaded(askModels, { keeps: true })
  const everyMs = readsRefresh(params) && endsNow(params) ? REFRESH_MS : undefined
  const { atMs, isLoading, reload, ...loaded } = useLoaded(ask, { everyMs, keeps: true })
  return (
    <section class="view" aria-labelledby="providers-title">
      <ViewHead name="providers" title="Providers">
        <RangeBar fallback={DEFAULT_RANGE} />
        <Refresh atMs={atMs} isLoading={isLoading} onRefresh={reload} />
      </ViewHead>
      <GatewayCard readiness={state?.readiness} health={state?.health} />
      <LoadedView loaded={loaded}>{sources => <ProvidersView sources={{ ...sources, models }} />}</LoadedView>
    </section>
  )
}

function ProvidersView({ sources }: { sources: ProviderSources }) {
  const facts = describeProviders(sources)
  return (
    <>
      <ul class="cards" aria-label="Providers">
        {facts.map(one => (
          <ProviderCard key={one.provider.profile_id} facts={one} nowMs={sources.nowMs} />
        ))}
      </ul>
      <ModelTable facts={facts} />
    </>
  )
}
