// The choice of a range of time. It is part of the address, so that it goes along to other views and to other readers.
import { useEffect, useState } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import { formatClock } from '../data/format.ts'
import { RANGES, type RangeName, readRange } from '../data/ranges.ts'

export interface RangeBarProps {
  /** What holds where the address names no range; an empty text: any time. */
  readonly fallback: RangeName | ''
  /** Choices before the ranges that end now. */
  readonly more?: ReadonlyArray<{ readonly name: RangeName | ''; readonly label: string }>
}

const NO_MORE: NonNullable<RangeBarProps['more']> = []

export function RangeBar({ fallback, more = NO_MORE }: RangeBarProps) {
  const { params, set } = useNavigation()
  const [isOpen, setOpen] = useState(false)
  const isOwn = params.range === undefined && params.from !== undefined
  const chosen = isOwn ? 'own' : (params.range ?? fallback)
  function choose(name: string): void {
    setOpen(name === 'own' && !isOpen)
    if (name === 'own') return
    set({ range: name === fallback ? undefined : name, from: undefined, to: undefined, cursor: undefined })
  }
  return (
    <div class="range-bar">
      <fieldset class="segments">
        <legend class="hidden-text">Range</legend>
        {[...more, ...RANGES].map(({ name, label }) => (
          <label key={name}>
            <input type="radio" name="range" checked={chosen === name} onChange={() => choose(name)} />
            <span>{label}</span>
          </label>
        ))}
        <button type="button" class="segment" aria-expanded={isOpen} aria-pressed={isOwn} onClick={() => choose('own')}>
          {isOwn ? describeOwn(params) : 'Own…'}
        </button>
      </fieldset>
      {isOpen && (
        <OwnRange
          onChoose={bounds => {
            setOpen(false)
            set({ range: undefined, cursor: undefined, ...bounds })
          }}
        />
      )}
    </div>
  )
}

function describeOwn(params: Readonly<Record<string, string>>): string {
  const now = Date.now()
  const range = readRange(params, now)
  if (range === undefined) return 'Own…'
  return `${formatClock(range.fromMs, now)} – ${params.to === undefined ? 'now' : formatClock(range.toMs, now)}`
}

function OwnRange({ onChoose }: { onChoose: (bounds: { from: string; to: string | undefined }) => void }) {
  const { params } = useNavigation()
  const [bounds, setBounds] = useState({ from: '', to: '' })
  useEffect(() => {
    const now = Date.now()
    const { fromMs, toMs } = readRange(params, now) ?? { fromMs: now - 3_600_000, toMs: now }
    setBounds({ from: writeLocal(fromMs), to: writeLocal(toMs) })
  }, [params])
  const from = new Date(bounds.from)
  const to = new Date(bounds.to)
  const isReady = !Number.isNaN(from.getTime()) && (bounds.to === '' || from < to)
  function submit(event: Event): void {
    event.preventDefault()
    if (!isReady) return
    onChoose({ from: from.toISOString(), to: bounds.to === '' ? undefined : to.toISOString() })
  }
  const field = (name: 'from' | 'to', label: string) => (
    <label class="field">
      <span>{label}</span>
      <input
        type="datetime-local"
        step="1"
        value={bounds[name]}
        onInput={event => setBounds({ ...bounds, [name]: event.currentTarget.value })}
      />
    </label>
  )
  return (
    <form class="card own-range" onSubmit={submit} aria-label="Own range">
      {field('from', 'From')}
      {field('to', 'To (empty: now)')}
      <button type="submit" class="primary" disabled={!isReady}>
        Apply
      </button>
    </form>
  )
}

/** A local time as such a field holds it. */
function writeLocal(ms: number): string {
  const date = new Date(ms)
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 'YYYY-MM-DDTHH:mm:ss'.length)
}
