// The client's fields that a route leaves out (decisions.md 69 to 71). All of them come together here, whichever part of the translation
// finds them: the client's own table of members, the features that the provider or the alias lacks, and the writer of the provider's body.

import { compareCodePoints } from '../../shared/json.ts'
import { unsupportedSemantic } from '../normalized/index.ts'

/** One shared list: nearly all requests are sent whole. */
const NOTHING: readonly string[] = Object.freeze([])

/** Gathers the fields, or refuses the first of them for a client or an alias that wants exactness. */
export class LeftOut {
  readonly #isRefused: boolean
  #paths: Set<string> | undefined

  /** @param isRefused every field that would be left out is refused (decisions.md 71). */
  constructor(isRefused: boolean) {
    this.#isRefused = isRefused
  }

  /** Whether a field is refused where it would be left out. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /**
   * Notes a field that is left out; '' for one that the client's protocol has no name for. Raises `unsupported_semantic` where such fields
   * are refused.
   */
  add(path: string, reasonId?: string): void {
    if (this.#isRefused) throw unsupportedSemantic(path, reasonId)
    if (path === '') return
    this.#paths ??= new Set()
    this.#paths.add(path)
  }

  /** All fields, each once, in code-point order. */
  list(): readonly string[] {
    return this.#paths === undefined ? NOTHING : [...this.#paths].sort(compareCodePoints)
  }
}
