// What an operator sees first: what needs attention, then requests, failures, latency, tokens and cost of a range of time, of everything or by
// group. Every name, bar and range leads to the records that it counts.
import { useCallback, useContext, useMemo } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import { keepRange } from '../data/address.ts'
import type { Api } from '../data/api.ts'
import { DIMENSIONS, type Dimension, describeGroups, describeWhole, type Figures } from '../data/figures.ts'
import { loadOverview, type OverviewSums } from '../data/load-overview.ts'
import { chooseRefresh, DEFAULT_RANGE, endsNow, readRange } from '../data/ranges.ts'
import { useLoaded } from '../loaded.ts'
import { LoadedView } from '../parts/loaded-view.tsx'
import { RangeBar } from '../parts/range-bar.tsx'
import { Refresh, readsRefresh } from '../parts/refresh.tsx'
import { ViewHead } from '../parts/view-head.tsx'
import { ThemeContext } from '../theme.ts'
import { Attention } from './overview/attention.tsx'
import { Charts } from './overview/charts.tsx'
import { Failures } from './overview/failures.tsx'
import { GroupTable, PartTable } from './overview/tables.tsx'
import { Tiles } from './overview/tiles.tsx'

function readDimension(name: string | undefined): Dimension | undefined {
  return DIMENSIONS.find(one => one.name === name)?.name
}

export function Overview() {
  const { params, set } = useNavigation()
  const { range, from, to } = params
  const dimension = readDimension(params.by)
  const time = JSON.stringify({ range, from, to })
  const ask = useCallback(
    (api: Api, signal: AbortSignal) => {
      const now = Date.now()
      const chosen = readRange(JSON.parse(time), now) ?? readRange({ range: DEFAULT_RANGE }, now)
      return loadOverview(api, { range: chosen ?? { fromMs: now - 1, toMs: now }, nowMs: now, dimension }, signal)
    },
    [time, dimension]
  )
  const shown = readRange(keepRange(params, DEFAULT_RANGE), Date.now())
  const everyMs = readsRefresh(params) && endsNow(params) ? chooseRefresh(shown) : undefined
  const { reload, atMs, isLoading, ...loaded } = useLoaded(ask, { everyMs, keeps: true })
  return (
    <section class="view" aria-labelledby="overview-title">
      <ViewHead name="overview" title="Overview">
        <RangeBar fallback={DEFAULT_RANGE} />
        <label class="inline">
          <span>By</span>
          <select value={dimension ?? ''} onChange={event => set({ by: event.currentTarget.value })}>
            <option value="">Everything</option>
            {DIMENSIONS.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <Refresh atMs={atMs} isLoading={isLoading} onRefresh={reload} />
      </ViewHead>
      <Attention />
      <LoadedView loaded={loaded}>{sums => <SumsView sums={sums} />}</LoadedView>
    </section>
  )
}

function SumsView({ sums }: { sums: OverviewSums }) {
  const { dimension, totals, wasCut } = sums
  const figures: Figures = useMemo(
    () => (dimension === undefined ? describeWhole(sums) : describeGroups(sums, dimension)),
    [sums, dimension]
  )
  const theme = useContext(ThemeContext)
  if (totals.every(({ requests }) => requests === 0)) return <p class="card empty">No requests in this time.</p>
  return (
    <>
      <Tiles sums={sums} />
      <Charts sums={sums} figures={figures} theme={theme} />
      {wasCut && <p class="hint">The gateway gave not all sums: choose a shorter range, or another group.</p>}
      <Failures sums={sums} />
      {dimension !== undefined && <GroupTable sums={sums} dimension={dimension} />}
      <PartTable sums={sums} />
    </>
  )
}
