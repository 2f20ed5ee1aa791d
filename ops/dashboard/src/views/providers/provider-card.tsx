// One provider: its state in a word, what the calls have seen, and its requests in a range of time.
import { useNavigation } from '../../address.ts'
import { keepRange, writeAddress } from '../../data/address.ts'
import { nameClass } from '../../data/attention.ts'
import { formatAgo, formatCount, formatDateTime, formatDuration, formatPercent, formatSpan } from '../../data/format.ts'
import { type ProviderFacts, type ProviderState, shareOf } from '../../data/providers.ts'
import { DEFAULT_RANGE } from '../../data/ranges.ts'
import { rateLevel } from '../overview/tiles.tsx'

const LEVELS: Readonly<Record<ProviderState, string>> = {
  failing: 'bad',
  degraded: 'warn',
  working: 'good',
  unused: 'none'
}
const FAILURES_SHOWN = 3
const DAY_MS = 86_400_000
const CERTIFICATE_DAYS_WARN = 14

export function ProviderCard({ facts, nowMs }: { facts: ProviderFacts; nowMs: number }) {
  const { params } = useNavigation()
  const { provider, sums, state, failed } = facts
  const { profile_id: id, inventory, certificates, last_failures: failures } = provider
  const filter = { ...keepRange(params, DEFAULT_RANGE), profile_id: id }
  const rate = shareOf(failed.ofProvider, sums)
  return (
    <li class={`card provider ${LEVELS[state]}`}>
      <div class="provider-head">
        <span class={`dot ${LEVELS[state]}`} />
        <h3>
          <a href={writeAddress('records', filter)}>{id}</a>
        </h3>
        <span class={`state-word ${LEVELS[state]}`}>{state}</span>
      </div>
      <dl class="provider-figures">
        <div>
          <dt>Requests</dt>
          <dd>{formatCount(sums?.requests ?? 0)}</dd>
        </div>
        <div>
          <dt>Failed</dt>
          <dd class={rateLevel(rate)}>
            {rate === null || rate === 0 ? (
              formatPercent(rate ?? undefined)
            ) : (
              <a href={writeAddress('records', { ...filter, has_error: 'true' })}>{formatPercent(rate)}</a>
            )}
          </dd>
        </div>
        <div>
          <dt>Median</dt>
          <dd>{formatDuration(sums?.latency_p50_ms)}</dd>
        </div>
        <div>
          <dt>p95</dt>
          <dd>{formatDuration(sums?.latency_p95_ms)}</dd>
        </div>
      </dl>
      <dl class="provider-facts">
        <div>
          <dt>Kind</dt>
          <dd>{provider.provider_kind}</dd>
        </div>
        <div>
          <dt>Last success</dt>
          <dd title={formatDateTime(provider.last_success_at)}>{formatAgo(provider.last_success_at, nowMs)}</dd>
        </div>
        {failed.others > 0 && (
          <div>
            <dt>Refused</dt>
            <dd title="By limits, or for what the client sent">
              <a href={writeAddress('records', { ...filter, has_error: 'true' })}>{formatCount(failed.others)}</a>
            </dd>
          </div>
        )}
        {provider.consecutive_failures > 0 && (
          <div>
            <dt>Failures since</dt>
            <dd class="alarming">{formatCount(provider.consecutive_failures)}</dd>
          </div>
        )}
        {failures.length > 0 && (
          <div>
            <dt>Last failures</dt>
            <dd>
              {failures.slice(0, FAILURES_SHOWN).map(failure => (
                <span key={failure.class} class="line" title={formatDateTime(failure.at)}>
                  {nameClass(failure.class)}, {formatAgo(failure.at, nowMs)}
                </span>
              ))}
            </dd>
          </div>
        )}
        {inventory !== null && (
          <div>
            <dt>Models</dt>
            <dd>
              <span class={inventory.state === 'fresh' ? '' : 'nearly'}>{inventory.state}</span>
              {inventory.discovered_at !== null && `, listed ${formatAgo(inventory.discovered_at, nowMs)}`}
            </dd>
          </div>
        )}
        <Certificate name="Certificate" end={certificates.provider_expires_at} nowMs={nowMs} />
        <Certificate name="Own certificate" end={certificates.client_expires_at} nowMs={nowMs} />
      </dl>
    </li>
  )
}

function Certificate({ name, end, nowMs }: { name: string; end: string | null; nowMs: number }) {
  if (end === null) return null
  const leftMs = Date.parse(end) - nowMs
  const level = leftMs < 0 ? 'alarming' : leftMs < CERTIFICATE_DAYS_WARN * DAY_MS ? 'nearly' : ''
  return (
    <div>
      <dt>{name}</dt>
      <dd title={formatDateTime(end)}>
        <span class={level}>{leftMs < 0 ? `ended ${formatSpan(-leftMs)} ago` : `ends in ${formatSpan(leftMs)}`}</span>
      </dd>
    </div>
  )
}
