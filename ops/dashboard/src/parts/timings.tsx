// The times of a request as bars on one scale.
import type { Timing } from '../data/describe-record.ts'
import { formatDuration } from '../data/format.ts'

export function Timings({ timings }: { timings: readonly Timing[] }) {
  if (timings.length === 0) return <p class="hint">The record has no times.</p>
  const endMs = Math.max(1, ...timings.map(({ toMs }) => toMs))
  const percent = (ms: number) => `${(100 * Math.min(Math.max(ms, 0), endMs)) / endMs}%`
  return (
    <ul class="timings">
      {timings.map(({ label, fromMs, toMs, isMoment = false }) => (
        <li key={label}>
          <span>{label}</span>
          <span class="track" aria-hidden="true">
            <span
              class={isMoment ? 'moment' : 'bar-part'}
              style={{ left: percent(fromMs), width: isMoment ? undefined : percent(toMs - fromMs) }}
            />
          </span>
          <span class="number">{isMoment ? `at ${formatDuration(toMs)}` : formatDuration(toMs - fromMs)}</span>
        </li>
      ))}
    </ul>
  )
}
