// What requests cost: over time, and as a table by key, model, profile and day.
import { useCallback, useContext, useMemo } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import { keepRange, type Params, writeAddress } from '../data/address.ts'
import { type Api, SUM_ROWS_MAX, type SumsRow } from '../data/api.ts'
import { formatAmount, formatCount, formatPercent, formatShort } from '../data/format.ts'
import {
  alignRange,
  type Bucket,
  boundsOf,
  chooseBucket,
  listParts,
  type Range,
  readRange,
  titleOfPart
} from '../data/ranges.ts'
import {
  describeCourse,
  describeSpend,
  filterOfSpend,
  formatCosts,
  readCurrency,
  readSpendGroups,
  SPEND_GROUPS,
  type SpendGroup,
  type SpendRow,
  totalSpend
} from '../data/spend.ts'
import { useLoaded } from '../loaded.ts'
import { Chart } from '../parts/chart.tsx'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Notice } from '../parts/notice.tsx'
import { RangeBar } from '../parts/range-bar.tsx'
import { Refresh, readsRefresh } from '../parts/refresh.tsx'
import { ViewHead } from '../parts/view-head.tsx'
import { ThemeContext } from '../theme.ts'

/** Budgets have months of UTC. */
const MONTH = 'month'
const THIS_MONTH = [{ name: MONTH, label: 'Month' }] as const
const ROWS_MAX = 500
const REFRESH_MS = 60_000
/** Finer parts of a cost say nothing. */
const BUCKET_MIN: Bucket = 900
const DAY_MS = 86_400_000

interface Sums {
  readonly rows: readonly SumsRow[]
  readonly timed: readonly SumsRow[]
  readonly groups: readonly SpendGroup[]
  readonly range: Range
  readonly bucket: Bucket
}

async function loadSums(api: Api, question: string, signal: AbortSignal): Promise<Sums> {
  const { time, groups }: { time: Record<string, string>; groups: SpendGroup[] } = JSON.parse(question)
  const now = Date.now()
  const range = readRange(time, now) ?? { fromMs: now - DAY_MS, toMs: now }
  const chosen = range.toMs - range.fromMs > 3 * DAY_MS ? 86_400 : chooseBucket(range, now)
  const bucket = chosen < BUCKET_MIN ? BUCKET_MIN : chosen
  const bounds = { ...boundsOf(alignRange(range, bucket)), bucket }
  const [rows, timed] = await Promise.all([
    api.sums({ ...bounds, by: [...groups, 'currency'] }, signal),
    api.sums({ ...bounds, by: ['time', courseGroup(groups), 'currency'] }, signal)
  ])
  return { rows, timed, groups, range: alignRange(range, bucket), bucket }
}

/** What the chart compares: the first group that is no time. */
function courseGroup(groups: readonly SpendGroup[]): SpendGroup {
  return groups.find(group => group !== 'day') ?? 'api_key_name'
}

export function Spend() {
  const { params, set } = useNavigation()
  const groups = readSpendGroups(params.by)
  const question = JSON.stringify({ time: keepRange(params, MONTH), groups })
  const ask = useCallback((api: Api, signal: AbortSignal) => loadSums(api, question, signal), [question])
  const everyMs = readsRefresh(params) ? REFRESH_MS : undefined
  const { reload, atMs, isLoading, ...loaded } = useLoaded(ask, { everyMs, keeps: true })
  function toggle(name: SpendGroup): void {
    const chosen = SPEND_GROUPS.map(group => group.name).filter(one => groups.includes(one) !== (one === name))
    set({ by: chosen.join() === 'api_key_name' ? undefined : chosen.join() || 'none' })
  }
  return (
    <section class="view" aria-labelledby="spend-title">
      <ViewHead name="spend" title="Spend">
        <RangeBar fallback={MONTH} more={THIS_MONTH} />
        <fieldset class="choices">
          <legend>By</legend>
          {SPEND_GROUPS.map(({ name, label }) => (
            <label key={name} class="inline">
              <input type="checkbox" checked={groups.includes(name)} onChange={() => toggle(name)} />
              <span>{label}</span>
            </label>
          ))}
        </fieldset>
        <Refresh atMs={atMs} isLoading={isLoading} onRefresh={reload} />
      </ViewHead>
      <LoadedView loaded={loaded}>
        {sums => (
          <>
            <Course sums={sums} />
            <SpendTable {...sums} />
          </>
        )}
      </LoadedView>
    </section>
  )
}

function Course({ sums: { rows, timed, groups, range, bucket } }: { sums: Sums }) {
  const { params, go } = useNavigation()
  const theme = useContext(ThemeContext)
  const group = courseGroup(groups)
  const currency = readCurrency(rows)
  const parts = useMemo(() => listParts(range, bucket), [range, bucket])
  const series = useMemo(() => describeCourse(timed, parts, group), [timed, parts, group])
  const open = useCallback((bounds: Range) => go('records', boundsOf(bounds)), [go])
  if (currency === undefined || series.length === 0) return null
  const label = SPEND_GROUPS.find(({ name }) => name === group)?.label.toLowerCase()
  const whole = series.reduce((sum, one) => sum + (one.whole ?? 0), 0)
  return (
    <Chart
      title={`${currency} per ${titleOfPart(bucket)}, by ${label}`}
      summary={`${formatAmount(whole)} ${currency} in all`}
      parts={parts}
      bucket={bucket}
      series={series}
      kind="bars"
      format={formatAmount}
      formatAxis={formatShort}
      theme={theme}
      onPick={open}
      linkTo={({ label }) => {
        const filter = filterOfSpend(group, label)
        return filter && writeAddress('records', { ...keepRange(params, MONTH), ...filter })
      }}
    />
  )
}

function SpendTable({ rows, groups }: Pick<Sums, 'rows' | 'groups'>) {
  const spend = describeSpend(rows, groups)
  if (spend.length === 0) return <p class="card empty">No tokens were used in this time.</p>
  const labels = SPEND_GROUPS.filter(({ name }) => groups.includes(name)).map(({ label }) => label)
  const total = totalSpend(rows)
  const hasUnpriced = total.unpricedTokens > 0
  const columns = [
    'Cost',
    'Share',
    'Requests',
    'Input tokens',
    'Output tokens',
    ...(hasUnpriced ? ['Tokens without price'] : [])
  ]
  const isCut = rows.length >= SUM_ROWS_MAX
  return (
    <>
      {total.costs.size === 0 && (
        <Notice kind="info">
          No model that was used has a price. Set GATEWAY_PRICES_FILE, or prices in the profile.
        </Notice>
      )}
      <FiguresTable
        label="Spend"
        columns={[...(labels.length === 0 ? [''] : labels), ...columns]}
        names={Math.max(labels.length, 1)}
        note={
          isCut
            ? `The gateway gives ${formatCount(SUM_ROWS_MAX)} sums at most: choose a shorter range or fewer groups.`
            : spend.length > ROWS_MAX && `The first ${ROWS_MAX} of ${formatCount(spend.length)}; the total has all.`
        }
      >
        {labels.length > 0 &&
          spend
            .slice(0, ROWS_MAX)
            .map(row => (
              <Row
                key={row.names.join('\n')}
                row={row}
                names={row.names}
                groups={groups}
                hasUnpriced={hasUnpriced}
                share={shareOf(row, total)}
              />
            ))}
        <Row
          row={total}
          names={['Total', ...labels.slice(1).map(() => '')]}
          groups={[]}
          hasUnpriced={hasUnpriced}
          isTotal
        />
      </FiguresTable>
    </>
  )
}

interface RowProps {
  readonly row: SpendRow
  readonly names: readonly string[]
  readonly groups: readonly SpendGroup[]
  readonly hasUnpriced: boolean
  /** Of the whole cost, from 0 to 1. */
  readonly share?: number | undefined
  readonly isTotal?: boolean
}

function Row({ row, names, groups, hasUnpriced, share, isTotal = false }: RowProps) {
  const { params } = useNavigation()
  const time = keepRange(params, MONTH)
  const filters = groups.map((group, index) => filterOfSpend(group, names[index] ?? ''))
  const [first, ...others] = names.map((name, index) => {
    const filter = filters[index]
    return filter === undefined ? name : <a href={toRecords(time, filter)}>{name}</a>
  })
  const hasAll = filters.every(filter => filter !== undefined)
  return (
    <tr class={isTotal ? 'total' : ''}>
      <th scope="row">{first}</th>
      {others.map((name, index) => (
        <td key={index}>{name}</td>
      ))}
      <td>{formatCosts(row.costs)}</td>
      <td class="share-cell">
        {share !== undefined && (
          <>
            {formatPercent(100 * share)}
            <span class="track" aria-hidden="true">
              <span class="bar-part" style={{ width: `${100 * share}%` }} />
            </span>
          </>
        )}
      </td>
      <td>
        {hasAll ? (
          <a href={toRecords(time, Object.assign({}, ...filters))}>{formatCount(row.requests)}</a>
        ) : (
          formatCount(row.requests)
        )}
      </td>
      <td>{formatCount(row.inputTokens)}</td>
      <td>{formatCount(row.outputTokens)}</td>
      {hasUnpriced && <td>{formatCount(row.unpricedTokens)}</td>}
    </tr>
  )
}

/** A day is a range of its own. */
function toRecords(time: Params, filter: Params): string {
  return writeAddress('records', filter.from === undefined ? { ...time, ...filter } : filter)
}

/** Undefined where amounts have several currencies, or there is none. */
function shareOf({ costs }: SpendRow, total: SpendRow): number | undefined {
  const [currency] = total.costs.keys()
  if (currency === undefined || total.costs.size > 1) return undefined
  const whole = total.costs.get(currency) ?? 0
  return whole === 0 ? undefined : (costs.get(currency) ?? 0) / whole
}
