// Remembers what was computed of texts that come again and again, such as names of models. Clients choose many of them, so the memory is
// bounded: it begins anew when it is full, and long texts are computed each time.
// Earns: a digest 1.7 us, a redacted and quoted text about 1 us for each use after the first.

const TEXTS_MAX = 1024
const CHARACTERS_MAX = 512

/** Returns `compute` with a memory. `compute` must give the same result for the same text. */
export function rememberTexts<Value>(compute: (text: string) => Value): (text: string) => Value {
  const known = new Map<string, Value>()
  return text => {
    const before = known.get(text)
    if (before !== undefined) return before
    const computed = compute(text)
    if (text.length > CHARACTERS_MAX) return computed
    if (known.size >= TEXTS_MAX) known.clear()
    known.set(text, computed)
    return computed
  }
}
