// The same figures as tables: by group, and by time for readers who do not see the charts, or who want a number.
import { useNavigation } from '../../address.ts'
import { keepRange, type Params, writeAddress } from '../../data/address.ts'
import type { SumsRow } from '../../data/api.ts'
import {
  addUp,
  DIMENSIONS,
  type Dimension,
  filterOfGroup,
  nameGroup,
  readErrorRate,
  readPart
} from '../../data/figures.ts'
import {
  formatClock,
  formatCount,
  formatDayOfUtc,
  formatDuration,
  formatPercent,
  formatShort
} from '../../data/format.ts'
import type { OverviewSums } from '../../data/load-overview.ts'
import { boundsOf, DEFAULT_RANGE } from '../../data/ranges.ts'
import { formatCost } from '../../data/spend.ts'
import { FiguresTable } from '../../parts/figures-table.tsx'
import { rateLevel } from './tiles.tsx'

const ROWS_MAX = 100
const COLUMNS = ['Requests', 'Share', 'Failed', 'Input', 'Output']
const LATENCIES = ['p50', 'p95', 'p99']

export function GroupTable({ sums: { totals }, dimension }: { sums: OverviewSums; dimension: Dimension }) {
  const { params } = useNavigation()
  const time = keepRange(params, DEFAULT_RANGE)
  const label = DIMENSIONS.find(({ name }) => name === dimension)?.label ?? ''
  const hasCost = totals.some(({ cost }) => typeof cost === 'number')
  const sorted = [...totals].sort((one, other) => other.requests - one.requests)
  const { requests } = addUp(totals)
  return (
    <FiguresTable
      label="Sums of the whole time"
      title={`By ${label.toLowerCase()}`}
      columns={[label, ...COLUMNS, ...(hasCost ? ['Cost'] : []), ...LATENCIES]}
      note={sorted.length > ROWS_MAX && `The first ${ROWS_MAX} of ${formatCount(sorted.length)}.`}
    >
      {sorted.slice(0, ROWS_MAX).map(row => {
        const name = nameGroup(row, dimension)
        const filter = filterOfGroup(row, dimension)
        return (
          <tr key={name}>
            <th scope="row">
              {filter === undefined ? name : <a href={writeAddress('records', { ...time, ...filter })}>{name}</a>}
            </th>
            <td>{formatCount(row.requests)}</td>
            <td>{formatPercent((100 * row.requests) / requests)}</td>
            <FailedCell row={row} filter={{ ...time, ...filter }} />
            <td>{formatShort(row.input_tokens)}</td>
            <td>{formatShort(row.output_tokens)}</td>
            {hasCost && <td>{formatCost(row)}</td>}
            <Latencies row={row} />
          </tr>
        )
      })}
    </FiguresTable>
  )
}

/** Closed at first: the charts show the same. */
export function PartTable({ sums: { dimension, timed, bucket, range } }: { sums: OverviewSums }) {
  if (dimension !== undefined) return null
  const rows = timed.filter(({ requests }) => requests > 0).toReversed()
  const hasCost = rows.some(({ cost }) => typeof cost === 'number')
  const name = (second: number) =>
    bucket === 86_400 ? formatDayOfUtc(second * 1000) : formatClock(second * 1000, range.toMs)
  return (
    <details class="card disclosure">
      <summary>The same by time, as a table</summary>
      <FiguresTable
        label="Sums by time"
        isBare
        columns={['From', 'Requests', 'Failed', 'Input', 'Output', ...(hasCost ? ['Cost'] : []), ...LATENCIES]}
      >
        {rows.map(row => {
          const second = readPart(row)
          const bounds = boundsOf({ fromMs: second * 1000, toMs: (second + bucket) * 1000 - 1 })
          return (
            <tr key={second}>
              <th scope="row">
                <a href={writeAddress('records', bounds)}>{name(second)}</a>
              </th>
              <td>{formatCount(row.requests)}</td>
              <FailedCell row={row} filter={bounds} />
              <td>{formatShort(row.input_tokens)}</td>
              <td>{formatShort(row.output_tokens)}</td>
              {hasCost && <td>{formatCost(row)}</td>}
              <Latencies row={row} />
            </tr>
          )
        })}
      </FiguresTable>
    </details>
  )
}

function FailedCell({ row, filter }: { row: SumsRow; filter: Params }) {
  const rate = readErrorRate(row)
  if (row.errors === 0) return <td class="faint">0</td>
  return (
    <td class={rateLevel(rate)}>
      <a href={writeAddress('records', { ...filter, has_error: 'true' })}>
        {formatCount(row.errors)} ({formatPercent(rate ?? undefined)})
      </a>
    </td>
  )
}

function Latencies({ row }: { row: SumsRow }) {
  return (
    <>
      {[row.latency_p50_ms, row.latency_p95_ms, row.latency_p99_ms].map((value, index) => (
        <td key={index}>{formatDuration(value)}</td>
      ))}
    </>
  )
}
