// How much of a limit is used: a bar, and the same in words.

import { UNKNOWN } from '../data/format.ts'
import type { Meter } from '../data/keys.ts'

const NEARLY_FULL = 0.8

export function MeterCell({ meter }: { meter: Meter | undefined }) {
  if (meter === undefined) return <td class="meter-cell">{UNKNOWN}</td>
  const { share, text, note } = meter
  const level = share === undefined || share < NEARLY_FULL ? '' : share < 1 ? 'nearly' : 'full'
  return (
    <td class="meter-cell">
      <span class="number">{text}</span>
      <span class={`track ${level}`} aria-hidden="true">
        <span class="bar-part" style={{ width: `${100 * Math.min(share ?? 0, 1)}%` }} />
      </span>
      {note !== undefined && (
        <span class="hint">
          {/* A date has hyphens, at which a line would break. */}
          {note.split(/(?<=,) /).map(part => [<span class="unbroken">{part}</span>, ' '])}
        </span>
      )}
    </td>
  )
}
