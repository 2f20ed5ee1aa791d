// What requests cost, as a plain table by key, model and day.
import { useCallback, useState } from 'preact/hooks'
import type { SumsRow } from '../../../../shared/traffic/query.ts'
import { type Api, SUM_ROWS_MAX } from '../data/api.ts'
import { boundsOf, monthOf } from '../data/figures.ts'
import { formatCount } from '../data/format.ts'
import { describeSpend, formatCosts, SPEND_GROUPS, type SpendGroup, type SpendRow, totalSpend } from '../data/spend.ts'
import { useLoaded } from '../loaded.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Notice } from '../parts/notice.tsx'
import { LAST_DAYS, RangeChoice, type RangeOption, type RangeOptions, readRange } from '../parts/range-choice.tsx'

/** Budgets have months of UTC. */
const THIS_MONTH: RangeOption = { label: 'This month (UTC)', read: monthOf }
const RANGES: RangeOptions = [THIS_MONTH, ...LAST_DAYS]
const ROWS_MAX = 500

interface Question {
  /** Index of the range. */
  readonly range: number
  readonly groups: readonly SpendGroup[]
}

interface Sums {
  readonly rows: readonly SumsRow[]
  readonly groups: readonly SpendGroup[]
}

async function loadSums(api: Api, { range, groups }: Question, signal: AbortSignal): Promise<Sums> {
  const bounds = boundsOf(readRange(RANGES, range))
  return { rows: await api.sums({ ...bounds, by: [...groups, 'currency'] }, signal), groups }
}

export function Spend() {
  const [question, setQuestion] = useState<Question>({ range: 0, groups: ['api_key_name'] })
  const ask = useCallback((api: Api, signal: AbortSignal) => loadSums(api, question, signal), [question])
  const { reload, ...loaded } = useLoaded(ask)
  function toggle(name: SpendGroup): void {
    const chosen = SPEND_GROUPS.map(group => group.name)
    setQuestion({ ...question, groups: chosen.filter(one => question.groups.includes(one) !== (one === name)) })
  }
  return (
    <section class="view" aria-labelledby="spend-title">
      <div class="tools">
        <h2 id="spend-title">Spend</h2>
        <RangeChoice options={RANGES} value={question.range} onChange={range => setQuestion({ ...question, range })} />
        <fieldset class="choices">
          <legend>By</legend>
          {SPEND_GROUPS.map(({ name, label }) => (
            <label key={name}>
              <input type="checkbox" checked={question.groups.includes(name)} onChange={() => toggle(name)} /> {label}
            </label>
          ))}
        </fieldset>
        <button type="button" onClick={reload}>
          Refresh
        </button>
      </div>
      <LoadedView loaded={loaded}>{sums => <SpendTable {...sums} />}</LoadedView>
    </section>
  )
}

function SpendTable({ rows, groups }: Sums) {
  const spend = describeSpend(rows, groups)
  if (spend.length === 0) return <p class="card empty">No tokens were used in this time.</p>
  const labels = SPEND_GROUPS.filter(({ name }) => groups.includes(name)).map(({ label }) => label)
  const total = totalSpend(rows)
  const hasUnpriced = total.unpricedTokens > 0
  const columns = [
    'Cost',
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
          (isCut || spend.length > ROWS_MAX) && (
            <p class="hint">
              {isCut
                ? `The gateway gives ${formatCount(SUM_ROWS_MAX)} sums at most: choose a shorter range or fewer groups.`
                : `The first ${ROWS_MAX} of ${formatCount(spend.length)}; the total has all.`}
            </p>
          )
        }
      >
        {labels.length > 0 &&
          spend
            .slice(0, ROWS_MAX)
            .map(row => <Row key={row.names.join('\n')} row={row} names={row.names} hasUnpriced={hasUnpriced} />)}
        <Row row={total} names={['Total', ...labels.slice(1).map(() => '')]} hasUnpriced={hasUnpriced} isTotal />
      </FiguresTable>
    </>
  )
}

interface RowProps {
  readonly row: SpendRow
  readonly names: readonly string[]
  readonly hasUnpriced: boolean
  readonly isTotal?: boolean
}

function Row({ row, names: [first, ...others], hasUnpriced, isTotal = false }: RowProps) {
  return (
    <tr class={isTotal ? 'total' : ''}>
      <th scope="row">{first}</th>
      {others.map((name, index) => (
        <td key={index}>{name}</td>
      ))}
      <td>{formatCosts(row.costs)}</td>
      <td>{formatCount(row.requests)}</td>
      <td>{formatCount(row.inputTokens)}</td>
      <td>{formatCount(row.outputTokens)}</td>
      {hasUnpriced && <td>{formatCount(row.unpricedTokens)}</td>}
    </tr>
  )
}
