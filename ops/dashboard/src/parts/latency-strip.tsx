// How long the records of a list took: percentiles, and a histogram whose bars restrict the list to the slower ones.
import type { DurationClass, Distribution as Durations } from '../../../../shared/traffic/distribution.ts'
import { WINDOW_RECORDS } from '../../../../shared/traffic/query.ts'
import type { Latencies } from '../data/api.ts'
import { formatCount, formatDuration } from '../data/format.ts'

export interface LatencyStripProps {
  /** Absent before the first answer. */
  readonly latencies: Latencies | undefined
  /** The address of the records that took this long or longer. */
  readonly linkTo: (fromMs: number) => string
}

/** Takes the same place with and without values, so that the rows below stay under the pointer. */
export function LatencyStrip({ latencies, linkTo }: LatencyStripProps) {
  const { records = 0, latency, first_content: first } = latencies ?? {}
  const scope = records < WINDOW_RECORDS ? '' : `, newest ${formatCount(records)}`
  return (
    <section class="card latencies" aria-label="Latencies">
      <Distribution title={`Latency${scope}`} durations={latency ?? undefined} linkTo={linkTo} />
      <Distribution title="First token of streams" durations={first ?? undefined} />
    </section>
  )
}

const PERCENTILES = [
  ['p50', 'p50_ms'],
  ['p95', 'p95_ms'],
  ['p99', 'p99_ms'],
  ['max', 'max_ms']
] as const

interface DistributionProps {
  readonly title: string
  readonly durations: Durations | undefined
  readonly linkTo?: LatencyStripProps['linkTo']
}

function Distribution({ title, durations, linkTo }: DistributionProps) {
  const classes = durations?.classes ?? []
  const top = Math.max(...classes.map(({ count }) => count))
  return (
    <div class="distribution">
      <h3 class="distribution-title">{title}</h3>
      <dl class="percentiles">
        {PERCENTILES.map(([name, member]) => (
          <div key={name} class="percentile">
            <dt class="percentile-name">{name}</dt>
            <dd class="percentile-value">{formatDuration(durations?.[member])}</dd>
          </div>
        ))}
      </dl>
      {/* The percentiles say it in words; the filter has a field for the same. */}
      <div class="classes" aria-hidden="true">
        {classes.map((one, index) => {
          const fromMs = lowerBound(one, classes[index - 1])
          const bar = { height: `${one.count === 0 ? 0 : Math.max(6, (100 * one.count) / top)}%` }
          const text = `${describeClass(one, fromMs)}: ${formatCount(one.count)}`
          return linkTo === undefined ? (
            <span key={index} class="class" title={text}>
              <span class="class-bar" style={bar} />
            </span>
          ) : (
            <a key={index} class="class" title={text} href={linkTo(fromMs)} tabIndex={-1}>
              <span class="class-bar" style={bar} />
            </a>
          )
        })}
      </div>
    </div>
  )
}

/** The first class that has a value begins where the one before would end. */
function lowerBound({ up_to_ms: end }: DurationClass, before: DurationClass | undefined): number {
  if (before !== undefined) return before.up_to_ms ?? 0
  if (end === null || end <= 1) return 0
  return String(end).startsWith('5') ? (end / 5) * 2 : end / 2
}

function describeClass({ up_to_ms: end }: DurationClass, fromMs: number): string {
  return end === null ? `above ${formatDuration(fromMs)}` : `${formatDuration(fromMs)} to ${formatDuration(end)}`
}
