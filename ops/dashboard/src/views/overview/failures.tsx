// Why requests failed: each code with its course, since when, and whom it affects.
import { useNavigation } from '../../address.ts'
import { keepRange, type Params, writeAddress } from '../../data/address.ts'
import { type Affected, describeFailures, goesOn } from '../../data/failures.ts'
import { isMadeUp } from '../../data/figures.ts'
import { formatClock, formatCount, formatPercent } from '../../data/format.ts'
import type { OverviewSums } from '../../data/load-overview.ts'
import { DEFAULT_RANGE, listParts } from '../../data/ranges.ts'
import { FiguresTable } from '../../parts/figures-table.tsx'
import { Spark } from '../../parts/spark.tsx'

const ROWS_MAX = 12
const NAMES_MAX = 2

export function Failures({
  sums: { range, whole, failureBucket, failuresByTime, failuresByWhom }
}: {
  sums: OverviewSums
}) {
  const { params } = useNavigation()
  const parts = listParts(range, failureBucket)
  const groups = describeFailures(failuresByTime, failuresByWhom, parts)
  if (groups.length === 0) return null
  const time = keepRange(params, DEFAULT_RANGE)
  const now = Date.now()
  return (
    <FiguresTable
      label="Failures by code"
      title="Why requests failed"
      columns={['Code', 'Requests', 'Share', 'Course', 'First', 'Last', 'Keys', 'Models']}
      texts={['Code', 'Course', 'Keys', 'Models']}
      note={groups.length > ROWS_MAX && `${ROWS_MAX} of ${formatCount(groups.length)} codes.`}
    >
      {groups.slice(0, ROWS_MAX).map(group => {
        const { code, requests, first, last, values, keys, models } = group
        const to = (filters: Params) => writeAddress('records', { ...time, error_code: code, ...filters })
        return (
          <tr key={code}>
            <th scope="row">
              <a href={to({})}>{code}</a>
            </th>
            <td>{formatCount(requests)}</td>
            <td>{formatPercent(whole === undefined ? undefined : (100 * requests) / whole.requests)}</td>
            <td>
              <Spark values={values} />
            </td>
            <td>{formatClock(first * 1000, now)}</td>
            <td>{goesOn(group) ? <b>going on</b> : formatClock(last * 1000, now)}</td>
            <td class="names">
              <Names affected={keys} linkTo={name => to({ key: name })} />
            </td>
            <td class="names">
              <Names affected={models} linkTo={name => (isMadeUp('model', name) ? to({}) : to({ model: name }))} />
            </td>
          </tr>
        )
      })}
    </FiguresTable>
  )
}

function Names({ affected, linkTo }: { affected: readonly Affected[]; linkTo: (name: string) => string }) {
  if (affected.length === 0) return <>–</>
  return (
    <>
      {affected.slice(0, NAMES_MAX).map(({ name, requests }) => (
        <span key={name} class="affected" title={name}>
          <a class="affected-name" href={linkTo(name)}>
            {name}
          </a>{' '}
          <span class="faint">{formatCount(requests)}</span>
        </span>
      ))}
      {affected.length > NAMES_MAX && <span class="affected">and {affected.length - NAMES_MAX} more</span>}
    </>
  )
}
