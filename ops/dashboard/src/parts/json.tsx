// A value as indented JSON, always as text.
import { Scroller } from './scroller.tsx'

/** A longer text makes the page slow; exports have the whole. */
const CHARS_MAX = 200_000

export function Json({ label, value }: { label: string; value: unknown }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
  return (
    <>
      <Scroller class="json" label={label}>
        <pre>{text.slice(0, CHARS_MAX)}</pre>
      </Scroller>
      {text.length > CHARS_MAX && (
        <p class="hint">
          The first {CHARS_MAX.toLocaleString('en')} of {text.length.toLocaleString('en')} characters.
        </p>
      )}
    </>
  )
}
