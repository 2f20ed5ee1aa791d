// The keys of clients and their groups: what they may use, and what they use now. The page never gets a secret.
import type { Api } from '../data/api.ts'
import { formatCount, formatDate, formatMinute } from '../data/format.ts'
import {
  type CountedLimit,
  type GatewayKey,
  type KeyGroup,
  type Keys as KeysAnswer,
  LIMIT_TITLES,
  listUsedLimits,
  readBudget,
  readMeter,
  STATE_TITLES
} from '../data/keys.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { MeterCell } from '../parts/meter.tsx'
import { Notice } from '../parts/notice.tsx'
import { usePolled } from '../polled.ts'

const REFRESH_MS = 2_000

const ask = (api: Api, signal: AbortSignal) => api.keys(signal)

export function Keys() {
  const loaded = usePolled(ask, REFRESH_MS)
  return (
    <section class="view" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <LoadedView loaded={loaded}>{keys => <KeysView keys={keys} />}</LoadedView>
    </section>
  )
}

function KeysView({ keys: { data, groups, currency, keys_revision: revision } }: { keys: KeysAnswer }) {
  if (data.length === 0) return <p class="card empty">The gateway has no keys: every client is admitted.</p>
  const limits = listUsedLimits(data)
  const titles = (names: typeof limits) => names.map(name => LIMIT_TITLES[name])
  const isSilent = data.some(({ limits, usage }) => usage === null && Object.keys(limits).length > 0)
  return (
    <>
      <p class="count">
        {revision === null ? (
          'There is no keys file; keys of the settings have no limits.'
        ) : (
          <>
            Revision <span class="revision">{revision}</span>
          </>
        )}
      </p>
      {isSilent && <Notice kind="info">What is used now is not known at the moment.</Notice>}
      <FiguresTable label="Keys" columns={['Key', 'State', 'Models', ...titles(limits), 'Last used']} hasTexts>
        {data.map(key => (
          <KeyRow key={key.name} gatewayKey={key} limits={limits} currency={currency} />
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

function KeyRow({ gatewayKey, ...row }: RowProps & { gatewayKey: GatewayKey }) {
  const { name, group, origin, state, metadata, expires_at: expiresAt, last_used_at: lastUsedAt } = gatewayKey
  const facts = Object.entries(metadata).map(([member, value]) => `${member}: ${value}`)
  return (
    <tr>
      <th scope="row">
        <a class="key-link" href={`#records?${new URLSearchParams({ key: name })}`} title="The requests of this key">
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
      <Models models={gatewayKey.models} />
      <Meters holder={gatewayKey} {...row} />
      <td>{formatMinute(lastUsedAt)}</td>
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
    <>
      <h3>Groups</h3>
      <FiguresTable
        label="Groups"
        columns={['Group', 'Keys', 'Models', ...limits.map(name => LIMIT_TITLES[name])]}
        hasTexts
      >
        {groups.map(group => (
          <tr key={group.name}>
            <th scope="row">{group.name}</th>
            <td>{formatCount(group.keys)}</td>
            <Models models={group.models} />
            <Meters holder={group} limits={limits} currency={currency} />
          </tr>
        ))}
      </FiguresTable>
    </>
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
