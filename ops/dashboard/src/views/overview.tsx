// Requests, errors, tokens and latency over time, of everything or by model, protocol and key.
import { useCallback, useContext, useMemo, useState } from 'preact/hooks'
import type { SumsRow } from '../../../../shared/traffic/query.ts'
import type { Api } from '../data/api.ts'
import {
  addUp,
  boundsOf,
  type Dimension,
  describeGroups,
  describeWhole,
  type Figures,
  nameGroup,
  type Range
} from '../data/figures.ts'
import { formatCount, formatDuration, formatPercent, formatShort } from '../data/format.ts'
import { addCosts, formatCost, formatCosts } from '../data/spend.ts'
import { useLoaded } from '../loaded.ts'
import { Chart } from '../parts/chart.tsx'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { LAST_DAYS, RangeChoice, readRange } from '../parts/range-choice.tsx'
import { ThemeContext } from '../theme.ts'

const DIMENSIONS: ReadonlyArray<{ readonly label: string; readonly name: Dimension | '' }> = [
  { label: 'Everything', name: '' },
  { label: 'Model', name: 'model' },
  { label: 'Protocol', name: 'protocol' },
  { label: 'Key', name: 'api_key_name' },
  { label: 'Key hash', name: 'api_key_hash' }
]

interface Question {
  /** Index of the range. */
  readonly option: number
  readonly dimension: Dimension | undefined
}

interface Sums {
  readonly range: Range
  readonly dimension: Dimension | undefined
  /** Of the whole range, one row for each group, or one in all. */
  readonly totals: readonly SumsRow[]
  readonly hourly: readonly SumsRow[]
}

export function Overview() {
  const [question, setQuestion] = useState<Question>({ option: 0, dimension: undefined })
  const ask = useCallback((api: Api, signal: AbortSignal) => loadSums(api, question, signal), [question])
  const { reload, ...loaded } = useLoaded(ask)
  function choose(name: Dimension | ''): void {
    setQuestion({ ...question, dimension: name === '' ? undefined : name })
  }
  return (
    <section class="view" aria-labelledby="overview-title">
      <div class="tools">
        <h2 id="overview-title">Overview</h2>
        <RangeChoice
          options={LAST_DAYS}
          value={question.option}
          onChange={option => setQuestion({ ...question, option })}
        />
        <label class="inline">
          <span>By</span>
          <select
            value={question.dimension ?? ''}
            onChange={event => choose(event.currentTarget.value as Dimension | '')}
          >
            {DIMENSIONS.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={reload}>
          Refresh
        </button>
      </div>
      <LoadedView loaded={loaded}>{sums => <SumsView sums={sums} />}</LoadedView>
    </section>
  )
}

async function loadSums(api: Api, { option, dimension }: Question, signal: AbortSignal): Promise<Sums> {
  const range = readRange(LAST_DAYS, option)
  const bounds = boundsOf(range)
  const groups = dimension === undefined ? [] : [dimension]
  const [totals, hourly] = await Promise.all([
    api.sums({ ...bounds, by: groups }, signal),
    api.sums({ ...bounds, by: ['hour', ...groups] }, signal)
  ])
  return { range, dimension, totals, hourly }
}

function SumsView({ sums: { range, dimension, totals, hourly } }: { sums: Sums }) {
  const figures: Figures = useMemo(
    () => (dimension === undefined ? describeWhole(hourly, range) : describeGroups(hourly, range, dimension)),
    [range, dimension, hourly]
  )
  const { requests, errors, inputTokens, outputTokens } = useMemo(() => addUp(totals), [totals])
  const costs = addCosts(totals)
  const theme = useContext(ThemeContext)
  if (requests === 0) return <p class="card empty">No requests in this time.</p>
  const errorRate = (100 * errors) / requests
  const whole = dimension === undefined ? totals[0] : undefined
  const shared = { hours: figures.hours, theme }
  return (
    <>
      <dl class="tiles">
        <Tile name="Requests" value={formatCount(requests)} />
        <Tile name="Errors" value={`${formatCount(errors)} (${formatPercent(errorRate)})`} />
        <Tile name="Input tokens" value={formatShort(inputTokens)} />
        <Tile name="Output tokens" value={formatShort(outputTokens)} />
        {costs.size > 0 && <Tile name="Cost" value={formatCosts(costs)} />}
        {whole !== undefined && (
          <Tile
            name="Latency p50 / p95 / p99"
            value={[whole.latency_p50_ms, whole.latency_p95_ms, whole.latency_p99_ms].map(formatDuration).join(' / ')}
          />
        )}
      </dl>
      <div class="charts">
        <Chart
          {...shared}
          title="Requests per hour"
          summary={`${formatCount(requests)} in all`}
          series={figures.requests}
          format={formatShort}
        />
        <Chart
          {...shared}
          title="Error rate"
          summary={`${formatPercent(errorRate)} in all`}
          series={figures.errorRate}
          format={formatPercent}
        />
        <Chart
          {...shared}
          title={dimension === undefined ? 'Tokens per hour' : 'Tokens per hour, input and output'}
          summary={`${formatCount(inputTokens)} input and ${formatCount(outputTokens)} output tokens in all`}
          series={figures.tokens}
          format={formatShort}
        />
        <Chart
          {...shared}
          title={dimension === undefined ? 'Latency' : 'Latency, 95th percentile'}
          summary="The table below has the percentiles of the whole time"
          series={figures.latency}
          format={formatDuration}
        />
      </div>
      <TotalsTable rows={totals} dimension={dimension} />
    </>
  )
}

function Tile({ name, value }: { name: string; value: string }) {
  return (
    <div class="card tile">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

const COLUMNS = ['Requests', 'Errors', 'Error rate', 'Input tokens', 'Output tokens']
const LATENCIES = ['p50', 'p95', 'p99']
const ROWS_MAX = 100

function TotalsTable({ rows, dimension }: { rows: readonly SumsRow[]; dimension: Dimension | undefined }) {
  const label = DIMENSIONS.find(({ name }) => name === (dimension ?? ''))?.label
  const hasCost = rows.some(({ cost }) => typeof cost === 'number')
  const sorted = [...rows].sort((one, other) => other.requests - one.requests)
  return (
    <FiguresTable
      label="Sums of the whole time"
      columns={[label ?? '', ...COLUMNS, ...(hasCost ? ['Cost'] : []), ...LATENCIES]}
      note={
        sorted.length > ROWS_MAX && (
          <p class="hint">
            The first {ROWS_MAX} of {formatCount(sorted.length)}.
          </p>
        )
      }
    >
      {sorted.slice(0, ROWS_MAX).map(row => {
        const name = dimension === undefined ? 'All requests' : nameGroup(row, dimension)
        return (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{formatCount(row.requests)}</td>
            <td>{formatCount(row.errors)}</td>
            <td>{formatPercent(row.requests === 0 ? undefined : (100 * row.errors) / row.requests)}</td>
            <td>{formatCount(row.input_tokens)}</td>
            <td>{formatCount(row.output_tokens)}</td>
            {hasCost && <td>{formatCost(row)}</td>}
            <td>{formatDuration(row.latency_p50_ms)}</td>
            <td>{formatDuration(row.latency_p95_ms)}</td>
            <td>{formatDuration(row.latency_p99_ms)}</td>
          </tr>
        )
      })}
    </FiguresTable>
  )
}
