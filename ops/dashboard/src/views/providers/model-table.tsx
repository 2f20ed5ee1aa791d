// The models of all providers: those that are listed, and those that were used.
import { useNavigation } from '../../address.ts'
import { keepRange, writeAddress } from '../../data/address.ts'
import { formatCount, formatDuration, formatPercent, formatShort } from '../../data/format.ts'
import { type ProviderFacts, type ProviderState, type ServedModel, shareOf } from '../../data/providers.ts'
import { DEFAULT_RANGE } from '../../data/ranges.ts'
import { formatCost } from '../../data/spend.ts'
import { FiguresTable } from '../../parts/figures-table.tsx'
import { rateLevel } from '../overview/tiles.tsx'

const COLUMNS = ['Model', 'Provider', 'State', 'Requests', 'Failed', 'Refused', 'Tokens', 'Cost', 'p50', 'p95']
const ROWS_MAX = 200

export function ModelTable({ facts }: { facts: readonly ProviderFacts[] }) {
  const { params } = useNavigation()
  const time = keepRange(params, DEFAULT_RANGE)
  const rows = facts
    .flatMap(({ provider, state, models }) => models.map(model => ({ ...model, state, profile: provider.profile_id })))
    .sort((one, other) => (other.sums?.requests ?? 0) - (one.sums?.requests ?? 0))
  if (rows.length === 0) return null
  const isListed = rows.some(({ model }) => model !== undefined)
  return (
    <FiguresTable
      label="Models"
      title="Models"
      columns={isListed ? COLUMNS : COLUMNS.filter(name => name !== 'State')}
      texts={['Provider', 'State']}
      note={rows.length > ROWS_MAX && `The first ${ROWS_MAX} of ${formatCount(rows.length)}.`}
    >
      {rows.slice(0, ROWS_MAX).map(({ name, filter: ofModel, profile, state, model, sums, failed }) => {
        const filter = { ...time, ...ofModel, profile_id: profile }
        const rate = shareOf(failed.ofProvider, sums)
        return (
          <tr key={`${profile} ${name}`}>
            <th scope="row">{sums === undefined ? name : <a href={writeAddress('records', filter)}>{name}</a>}</th>
            <td>{profile}</td>
            {isListed && (
              <td>
                <ModelState model={model} state={state} />
              </td>
            )}
            <td>{formatCount(sums?.requests ?? 0)}</td>
            <td class={rateLevel(rate)}>{formatPercent(rate ?? undefined)}</td>
            <td>{formatPercent(shareOf(failed.others, sums) ?? undefined)}</td>
            <td>{formatShort(sums === undefined ? undefined : sums.input_tokens + sums.output_tokens)}</td>
            <td>{sums === undefined ? '–' : formatCost(sums)}</td>
            <td>{formatDuration(sums?.latency_p50_ms)}</td>
            <td>{formatDuration(sums?.latency_p95_ms)}</td>
          </tr>
        )
      })}
    </FiguresTable>
  )
}

function ModelState({ model, state }: Pick<ServedModel, 'model'> & { state: ProviderState }) {
  if (state === 'failing') return <span class="alarming">failing</span>
  if (model === undefined) return <span class="faint">used</span>
  const words = [
    model.available ? 'available' : 'not available',
    ...(model.deprecated ? ['deprecated'] : []),
    ...(model.stale ? ['stale'] : [])
  ]
  return <span class={model.available && !model.stale ? '' : 'nearly'}>{words.join(', ')}</span>
}
