// The client's fields that a route leaves out (decisions.md 69 to 71). All of them come together here, whichever part of the translation
// finds them: the client's own table of members, the features that the provider or the alias lacks, and the writer of the provider's body.

import { compareCodePoints } from '../../shared/json.ts'
import { unsupportedSemantic } from '../normalized/index.ts'

/** One shared list: nearly all requests are sent whole. */
const NOTHING: readonly string[] = Object.freeze([])

/** Gathers the fields, or refuses the first of them for a client or an alias that wants exactness. */
export class LeftOut {
  readonly #isRefused: boolean
  readonly #spell: (path: string) => string
  #paths: Set<string> | undefined

  /**
   * @param isRefused every field that would be left out is refused (decisions.md 71).
   * @param spell gives a field the client's own name, in a protocol that has several for one.
   */
  constructor(isRefused: boolean, spell: (path: string) => string = path => path) {
    this.#isRefused = isRefused
    this.#spell = spell
  }

  /** Whether a field is refused where it would be left out. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /**
   * Notes a field that is left out; '' for one that the client's protocol has no name for. Raises `unsupported_semantic` where such fields
   * are refused.
   * @param refusedPath the field that a refusal names, where it is more exact.
   */
  add(path: string, reasonId?: string, refusedPath = path): void {
    if (this.#isRefused) throw unsupportedSemantic(refusedPath, reasonId)
    if (path === '') return
    this.#paths ??= new Set()
    this.#paths.add(this.#spell(path))
  }

  /** All fields, each once, in code-point order. */
  list(): readonly string[] {
    return this.#paths === undefined ? NOTHING : [...this.#paths].sort(compareCodePoints)
  }
}
