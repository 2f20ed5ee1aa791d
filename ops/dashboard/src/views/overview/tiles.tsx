// The figures of the whole range, each with what it was in the same length of time before.
import type { ComponentChildren } from 'preact'
import { WINDOW_RECORDS } from '../../../../../shared/traffic/query.ts'
import { useNavigation } from '../../address.ts'
import { keepRange, writeAddress } from '../../data/address.ts'
import { addUp, readErrorRate } from '../../data/figures.ts'
import { formatCount, formatDuration, formatPercent, formatShort } from '../../data/format.ts'
import type { OverviewSums } from '../../data/load-overview.ts'
import { DEFAULT_RANGE } from '../../data/ranges.ts'
import { addCosts, formatCosts } from '../../data/spend.ts'

const MINUTE_MS = 60_000
/** A smaller change is none. */
const CHANGE_MIN = 0.02

export function Tiles({ sums: { range, whole, before, latencies } }: { sums: OverviewSums }) {
  const first = latencies?.first_content
  const { params } = useNavigation()
  const time = keepRange(params, DEFAULT_RANGE)
  const now = addUp(whole === undefined ? [] : [whole])
  const then = addUp(before === undefined ? [] : [before])
  const rate = readErrorRate(whole)
  const rateBefore = readErrorRate(before)
  const perMinute = now.requests / ((range.toMs - range.fromMs) / MINUTE_MS)
  const costs = addCosts(whole === undefined ? [] : [whole])
  return (
    <dl class="tiles">
      <Tile name="Requests" value={formatCount(now.requests)} href={writeAddress('records', time)}>
        {join(`${formatPerMinute(perMinute)} per min`, describeChange(now.requests, then.requests))}
      </Tile>
      <Tile
        name="Failed"
        value={formatPercent(rate ?? 0)}
        level={rateLevel(rate)}
        href={writeAddress('records', { ...time, has_error: 'true' })}
      >
        {join(`${formatCount(now.errors)} requests`, rateBefore !== null && `${formatPercent(rateBefore)} before`)}
      </Tile>
      <Tile name="Latency, median" value={formatDuration(whole?.latency_p50_ms)}>
        {join(`p95 ${formatDuration(whole?.latency_p95_ms)}`, `p99 ${formatDuration(whole?.latency_p99_ms)}`)}
      </Tile>
      {first && (
        <Tile name="First token, median" value={formatDuration(first.p50_ms)}>
          {join(
            `p95 ${formatDuration(first.p95_ms)}`,
            latencies.records < WINDOW_RECORDS
              ? `p99 ${formatDuration(first.p99_ms)}`
              : `of the newest ${formatShort(latencies.records)}`
          )}
        </Tile>
      )}
      <Tile name="Tokens" value={formatShort(now.inputTokens + now.outputTokens)}>
        {join(
          `${formatShort(now.inputTokens)} in`,
          `${formatShort(now.outputTokens)} out`,
          describeChange(now.inputTokens + now.outputTokens, then.inputTokens + then.outputTokens)
        )}
      </Tile>
      {costs.size > 0 && (
        <Tile name="Cost" value={formatCosts(costs)} href={writeAddress('spend', keepRange(params))}>
          {describeChange(whole?.cost ?? 0, before?.cost ?? 0)}
        </Tile>
      )}
    </dl>
  )
}

function join(...texts: ReadonlyArray<string | false | undefined>): string {
  return texts.filter(Boolean).join(' · ')
}

function formatPerMinute(perMinute: number): string {
  return perMinute < 10 ? perMinute.toFixed(1) : formatCount(perMinute)
}

interface TileProps {
  readonly name: string
  readonly value: string
  readonly level?: string
  readonly href?: string
  readonly children?: ComponentChildren
}

function Tile({ name, value, level = '', href, children }: TileProps) {
  return (
    <div class="card tile">
      <dt>{href === undefined ? name : <a href={href}>{name}</a>}</dt>
      <dd>
        <span class={`tile-value ${level}`}>{value}</span>
        <span class="hint">{children}</span>
      </dd>
    </div>
  )
}

/** How much more or less it was in the time before; undefined where that cannot be said. */
function describeChange(now: number, before: number): string | undefined {
  if (before === 0) return undefined
  const share = (now - before) / before
  if (Math.abs(share) < CHANGE_MIN) return 'as before'
  const size = share > 2 ? `${formatCount(share + 1)}-fold` : `${formatCount(Math.abs(100 * share))}%`
  return `${share > 0 ? '▲' : '▼'} ${size}`
}

const FEW = 1
const MANY = 5

export function rateLevel(rate: number | null): string {
  if (rate === null || rate < FEW) return ''
  return rate < MANY ? 'nearly' : 'alarming'
}
