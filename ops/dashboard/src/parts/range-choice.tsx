// The choice of a range of time that ends now.
import type { Range } from '../data/figures.ts'
import { lastHours } from '../data/figures.ts'

export interface RangeOption {
  readonly label: string
  readonly read: (nowMs: number) => Range
}

export type RangeOptions = readonly [RangeOption, ...RangeOption[]]

export const LAST_DAYS: RangeOptions = [
  { label: 'Last 24 hours', read: nowMs => lastHours(24, nowMs) },
  { label: 'Last 7 days', read: nowMs => lastHours(7 * 24, nowMs) },
  { label: 'Last 30 days', read: nowMs => lastHours(30 * 24, nowMs) }
]

export interface RangeChoiceProps {
  readonly options: RangeOptions
  /** Index of the option. */
  readonly value: number
  readonly onChange: (value: number) => void
}

/** The range of the option with this index, as it is now. */
export function readRange(options: RangeOptions, index: number): Range {
  return (options[index] ?? options[0]).read(Date.now())
}

export function RangeChoice({ options, value, onChange }: RangeChoiceProps) {
  return (
    <label class="inline">
      <span>Range</span>
      <select value={String(value)} onChange={event => onChange(Number(event.currentTarget.value))}>
        {options.map(({ label }, index) => (
          <option key={label} value={String(index)}>
            {label}
          </option>
        ))}
      </select>
    </label>
  )
}
