// The keys of clients and their groups: what they may use, what they use now, and what they did in a range of time. The page never gets a
// secret.
import { useCallback } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import { keepRange, writeAddress } from '../data/address.ts'
import type { Api, SumsRow } from '../data/api.ts'
import { readErrorRate } from '../data/figures.ts'
import { formatAgo, formatCount, formatDate, formatDateTime, formatPercent, shortenRevision } from '../data/format.ts'
import {
  type CountedLimit,
  findKeys,
  type GatewayKey,
  type KeyGroup,
  type Keys as KeysAnswer,
  LIMIT_TITLES,
  listUsedLimits,
  readBudget,
  readMeter,
  STATE_TITLES
} from '../data/keys.ts'
import { alignRange, boundsOf, chooseBucket, DEFAULT_RANGE, readRange } from '../data/ranges.ts'
import { formatCost } from '../data/spend.ts'
import { useLoaded } from '../loaded.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { MeterCell } from '../parts/meter.tsx'
import { Notice } from '../parts/notice.tsx'
import { RangeBar } from '../parts/range-bar.tsx'
import { Refresh, readsRefresh } from '../parts/refresh.tsx'
import { ViewHead } from '../parts/view-head.tsx'
import { rateLevel } from './overview/tiles.tsx'

const REFRESH_MS = 2_000
const SUMS_REFRESH_MS = 15_000
/** A text to find a key by is for long lists. */
const FINDABLE_MIN = 12

const ask = (api: Api, signal: AbortSignal) => api.keys(signal)

async function loadSums(api: Api, time: string, signal: AbortSignal): Promise<readonly SumsRow[]> {
  const now = Date.now()
  const range = readRange(JSON.parse(time), now) ?? { fromMs: now - 3_600_000, toMs: now }
  const bucket = chooseBucket(range, now)
  return api.sums({ ...boundsOf(alignRange(range, bucket)), by: ['api_key_name'], bucket }, signal).catch(() => [])
}

export function Keys() {
  const { params } = useNavigation()
  const refreshes = readsRefresh(params)
  const loaded = useLoaded(ask, { everyMs: refreshes ? REFRESH_MS : undefined })
  const time = JSON.stringify(keepRange(params, DEFAULT_RANGE))
  const askSums = useCallback((api: Api, signal: AbortSignal) => loadSums(api, time, signal), [time])
  const sums = useLoaded(askSums, { everyMs: refreshes ? SUMS_REFRESH_MS : undefined, keeps: true })
  return (
    <section class="view" aria-labelledby="keys-title">
      <ViewHead name="keys" title="Keys" note={loaded.value && describeOrigin(loaded.value)}>
        <RangeBar fallback={DEFAULT_RANGE} />
        <Refresh atMs={loaded.atMs} isLoading={false} onRefresh={loaded.reload} />
      </ViewHead>
      <LoadedView loaded={loaded}>
        {keys => <KeysView keys={keys} sums={sums.value ?? []} nowMs={loaded.atMs ?? Date.now()} />}
      </LoadedView>
    </section>
  )
}

function describeOrigin({ data, keys_revision: revision }: KeysAnswer) {
  if (data.length === 0) return undefined
  if (revision === null) return 'There is no keys file; keys of the settings have no limits.'
  return (
    <>
      Revision{' '}
      <span class="revision" title={revision}>
        {shortenRevision(revision)}
      </span>
    </>
  )
}

interface KeysViewProps {
  readonly keys: KeysAnswer
  readonly sums: readonly SumsRow[]
  readonly nowMs: number
}

function KeysView({ keys: { data, groups, currency }, sums, nowMs }: KeysViewProps) {
  const { params, set } = useNavigation()
  if (data.length === 0) return <p class="card empty">The gateway has no keys: every client is admitted.</p>
  const limits = listUsedLimits(data)
  const titles = (names: typeof limits) => names.map(name => LIMIT_TITLES[name])
  const isSilent = data.some(({ limits, usage }) => usage === null && Object.keys(limits).length > 0)
  const found = findKeys(data, params.find ?? '')
  const sumsOf = new Map(sums.map(row => [row.api_key_name ?? '', row]))
  return (
    <>
      {(data.length >= FINDABLE_MIN || params.find !== undefined) && (
        <label class="inline">
          <span>Find</span>
          <input type="search" value={params.find ?? ''} onChange={event => set({ find: event.currentTarget.value })} />
        </label>
      )}
      {isSilent && <Notice kind="info">What is used now is not known at the moment.</Notice>}
      <FiguresTable
        label="Keys"
        columns={['Key', 'State', ...titles(limits), 'Requests', 'Failed', 'Cost', 'Last used', 'Models']}
        texts={['State', ...titles(limits), 'Models']}
        note={found.length < data.length && `${found.length} of ${data.length} keys.`}
      >
        {found.map(key => (
          <KeyRow
            key={key.name}
            gatewayKey={key}
            limits={limits}
            currency={currency}
            sums={sumsOf.get(key.name)}
            nowMs={nowMs}
          />
        ))}
      </FiguresTable>
      {groups.length > 0 && <Groups groups={groups} currency={currency} />}
    </>
  )
}

interface RowProps {
  readonly limits: ReadonlyArray<CountedLimit | 'budget'>
  readonly currency: string | null
}

function KeyRow({
  gatewayKey,
  sums,
  nowMs,
  ...row
}: RowProps & { gatewayKey: GatewayKey; sums: SumsRow | undefined; nowMs: number }) {
  const { params } = useNavigation()
  const { name, group, origin, state, metadata, expires_at: expiresAt, last_used_at: lastUsedAt } = gatewayKey
  const facts = Object.entries(metadata).map(([member, value]) => `${member}: ${value}`)
  const time = keepRange(params, DEFAULT_RANGE)
  const rate = readErrorRate(sums)
  return (
    <tr>
      <th scope="row">
        <a href={writeAddress('records', { key: name })} title="The requests of this key">
          {name}
        </a>
        {group !== null && <span class="hint">group {group}</span>}
        {origin === 'settings' && <span class="hint">of the settings</span>}
        {facts.map(fact => (
          <span key={fact} class="hint">
            {fact}
          </span>
        ))}
      </th>
      <td>
        <span class={`status ${STATE_LEVELS[state]}`}>{STATE_TITLES[state]}</span>
        {expiresAt !== null && <span class="hint">until {formatDate(expiresAt)}</span>}
      </td>
      <Meters holder={gatewayKey} {...row} />
      <td>
        {sums === undefined ? (
          <span class="faint">0</span>
        ) : (
          <a href={writeAddress('records', { ...time, key: name })}>{formatCount(sums.requests)}</a>
        )}
      </td>
      <td class={rateLevel(rate)}>
        {rate === null || sums?.errors === 0 ? (
          <span class="faint">{rate === null ? '–' : '0'}</span>
        ) : (
          <a href={writeAddress('records', { ...time, key: name, has_error: 'true' })}>
            {formatCount(sums?.errors)} ({formatPercent(rate)})
          </a>
        )}
      </td>
      <td>{sums === undefined ? '–' : formatCost(sums)}</td>
      <td title={formatDateTime(lastUsedAt)}>{formatAgo(lastUsedAt, nowMs)}</td>
      <Models models={gatewayKey.models} />
    </tr>
  )
}

const STATE_LEVELS = {
  active: 'good',
  limited: 'refused',
  over_budget: 'failed',
  expired: 'failed',
  disabled: 'none'
} as const

function Groups({ groups, currency }: { groups: readonly KeyGroup[]; currency: string | null }) {
  const limits = listUsedLimits(groups)
  return (
    <FiguresTable
      label="Groups"
      title="Groups"
      columns={['Group', 'Keys', ...limits.map(name => LIMIT_TITLES[name]), 'Models']}
      texts={[...limits.map(name => LIMIT_TITLES[name]), 'Models']}
    >
      {groups.map(group => (
        <tr key={group.name}>
          <th scope="row">{group.name}</th>
          <td>{formatCount(group.keys)}</td>
          <Meters holder={group} limits={limits} currency={currency} />
          <Models models={group.models} />
        </tr>
      ))}
    </FiguresTable>
  )
}

function Models({ models }: Pick<GatewayKey, 'models'>) {
  if (models === null) return <td>all</td>
  return (
    <td>
      {models.map(model => (
        <span key={model} class="pattern">
          {model}
        </span>
      ))}
    </td>
  )
}

function Meters({ holder, limits, currency }: RowProps & { holder: Parameters<typeof readBudget>[0] }) {
  return (
    <>
      {limits.map(name => (
        <MeterCell key={name} meter={name === 'budget' ? readBudget(holder, currency) : readMeter(holder, name)} />
      ))}
    </>
  )
}
