// Most frames of a stream differ from the one before in their text alone. Once such a frame was read in full, the next ones are
// recognised by what stands around the text, and only the text is read: that costs less than half of what parsing alone does.

/** Text that no upstream sends, to prove where the text of a frame stands. */
const PROBE = '\u0001probe\u0001'
const PROBE_JSON = JSON.stringify(PROBE).slice(1, -1)

/** Streams whose frames differ in more than the text are not asked again and again. */
const ATTEMPTS_MAX = 4

export class RepeatedFrame {
  readonly #readPlainText: (payload: Record<string, unknown>) => string | undefined
  #before = ''
  #after = ''
  #name = ''
  #isKnown = false
  #attempts = 0

  /** @param readPlainText the text of a payload that holds nothing else of interest; undefined for any other payload. */
  constructor(readPlainText: (payload: Record<string, unknown>) => string | undefined) {
    this.#readPlainText = readPlainText
  }

  /** The text of a frame that is like the learned one; undefined when it has to be read in full. */
  match(data: string, name: string): string | undefined {
    if (!this.#isKnown || name !== this.#name) return undefined
    const start = this.#before.length
    const end = data.length - this.#after.length
    // Slices that are compared cost a fifth of `startsWith` and `endsWith`.
    if (end < start || data.slice(end) !== this.#after || data.slice(0, start) !== this.#before) return undefined
    const text = data.slice(start, end)
    if (text.includes('\\')) return readEscaped(text)
    // A quote would end the text early: then the frame is of another form.
    return text.includes('"') ? undefined : text
  }

  /** Learns from a frame that was read in full, if it holds text and nothing else. */
  learn(data: string, name: string, payload: Record<string, unknown>): void {
    if (this.#attempts >= ATTEMPTS_MAX) return
    const text = this.#readPlainText(payload)
    if (text === undefined || text === '') return
    this.#attempts++
    const start = data.indexOf(`"${text}"`) + 1
    if (start === 0) return
    const before = data.slice(0, start)
    const after = data.slice(start + text.length)
    if (this.#readProbe(before + PROBE_JSON + after) !== PROBE) return
    this.#before = before
    this.#after = after
    this.#name = name
    this.#isKnown = true
  }

  /**
   * The text may stand there as another member too, or between two of them, as a comma does: only if the frame reads back with the
   * probe in its place is it the place.
   */
  #readProbe(frame: string): string | undefined {
    try {
      return this.#readPlainText(JSON.parse(frame) as Record<string, unknown>)
    } catch {
      return undefined
    }
  }
}

/** Text with escapes; undefined when it is no text of JSON, as when the frame only looks alike. */
function readEscaped(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(`"${text}"`)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** True when `value` is an object with these members and no others. */
export function hasOnlyMembers(value: unknown, members: ReadonlySet<string>): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  for (const member in value) if (!members.has(member)) return false
  return true
}
