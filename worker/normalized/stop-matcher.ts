// Finds the first stop string in a text that arrives in pieces. One automaton over all stop strings (Aho-Corasick) keeps its state
// between the pieces, so that each character is looked at once, however many and however long the stop strings are.

export interface StopMatch {
  stop: string
  /** Characters of the piece up to the end of the match. */
  end: number
}

const ROOT = 0
const CODE_UNITS = 0x10000

export class StopMatcher {
  readonly #automaton: Automaton
  /** Matches a character that begins a stop string. */
  readonly #beginning: RegExp
  #state = ROOT

  /** @param stops non-empty strings, at least one. The match that is complete first counts; of several the longest. */
  constructor(stops: readonly string[]) {
    this.#automaton = build(stops)
    this.#beginning = anyOf(stops.map(stop => stop.charCodeAt(0)))
  }

  /** Reads the next piece up to the end of the first match; undefined when the piece completes none. */
  read(piece: string): StopMatch | undefined {
    const { matches } = this.#automaton
    for (let index = 0; index < piece.length; index++) {
      // Most characters begin no stop string, and the regular expression passes them ten times as fast.
      if (this.#state === ROOT) index = this.#findBeginning(piece, index)
      if (index === piece.length) return undefined
      this.#step(piece.charCodeAt(index))
      const stop = matches[this.#state]
      if (stop !== undefined) return { stop, end: index + 1 }
    }
    return undefined
  }

  /** How many characters at the end of the text so far could be the beginning of a stop string. */
  get possibleLength(): number {
    return this.#automaton.depths[this.#state] ?? 0
  }

  /** Discards the text so far. */
  reset(): void {
    this.#state = ROOT
  }

  #step(code: number): void {
    const { next, fallbacks } = this.#automaton
    for (;;) {
      const target = next.get(this.#state * CODE_UNITS + code)
      if (target !== undefined) {
        this.#state = target
        return
      }
      if (this.#state === ROOT) return
      this.#state = fallbacks[this.#state] ?? ROOT
    }
  }

  /** The next character from `index` on that begins a stop string; the end of the piece when none does. */
  #findBeginning(piece: string, index: number): number {
    this.#beginning.lastIndex = index
    return this.#beginning.test(piece) ? this.#beginning.lastIndex - 1 : piece.length
  }
}

/** Matches any of these code units. */
function anyOf(codes: readonly number[]): RegExp {
  const escaped = codes.map(code => `\\u${code.toString(16).padStart(4, '0')}`)
  return new RegExp(`[${[...new Set(escaped)].join('')}]`, 'g')
}

interface Automaton {
  /** By state and code unit: the state after one more character. */
  next: Map<number, number>
  /** By state: the state of the longest shorter text that its text ends with. */
  fallbacks: number[]
  /** By state: the length of its text. */
  depths: number[]
  /** By state: the longest stop string that its text ends with. */
  matches: Array<string | undefined>
}

function build(stops: readonly string[]): Automaton {
  const automaton: Automaton = { next: new Map(), fallbacks: [ROOT], depths: [0], matches: [undefined] }
  const { next, fallbacks, depths, matches } = automaton
  /** The transitions in order of creation, as state, code unit and target in turn. */
  const created: number[] = []
  for (const stop of stops) {
    let state = ROOT
    for (let index = 0; index < stop.length; index++) {
      const code = stop.charCodeAt(index)
      const key = state * CODE_UNITS + code
      let target = next.get(key)
      if (target === undefined) {
        target = depths.push(index + 1) - 1
        fallbacks.push(ROOT)
        matches.push(undefined)
        next.set(key, target)
        created.push(state, code, target)
      }
      state = target
    }
    matches[state] = stop
  }
  for (const { source, code, target } of byDepth(created, depths)) {
    fallbacks[target] = source === ROOT ? ROOT : findFallback(automaton, fallbacks[source] ?? ROOT, code)
    matches[target] ??= matches[fallbacks[target] ?? ROOT]
  }
  return automaton
}

function findFallback({ next, fallbacks }: Automaton, from: number, code: number): number {
  for (let state = from; ; state = fallbacks[state] ?? ROOT) {
    const target = next.get(state * CODE_UNITS + code)
    if (target !== undefined) return target
    if (state === ROOT) return ROOT
  }
}

interface Transition {
  source: number
  code: number
  target: number
}

/** A fallback is shorter than its state, so the shorter states come first. */
function byDepth(created: readonly number[], depths: readonly number[]): Transition[] {
  const transitions: Transition[] = []
  for (let index = 0; index < created.length; index += 3) {
    transitions.push({ source: created[index] ?? 0, code: created[index + 1] ?? 0, target: created[index + 2] ?? 0 })
  }
  return transitions.sort((left, right) => (depths[left.target] ?? 0) - (depths[right.target] ?? 0))
}
