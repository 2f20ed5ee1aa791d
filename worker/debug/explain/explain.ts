// Explains what becomes of every field of a body on its route. No list says so: the body is translated again without the field, and with
// another value, and what would be sent upstream is compared. Declarations of the faces only add the reasons.

import { isDeepStrictEqual } from 'node:util'
import {
  findFeatureUse,
  type GatewayError,
  type JsonObject,
  type JsonValue,
  requestFeatures
} from '../../normalized/index.ts'
import type { ExplainedFamily } from '../job.ts'
import { type Found, findUnchanged, listDifferences } from './compare.ts'
import { Edits, findAt, listInner, type Place, readPlace, writePlace } from './paths.ts'
import type { Accepted, Probe, Refused } from './probe.ts'
import { findParameter } from './tables.ts'

export type Verdict = 'exact' | 'translated' | 'ignored' | 'refused'

export interface ExplainedField {
  path: string
  verdict: Verdict
  reason: string
  /** Where the value stands in the provider's body. */
  upstream?: string
  /** Of a refused field: the code of the error, and the field that it names. */
  code?: string
  param?: string
}

export interface Explanation {
  /** The refusal that the route itself would answer with. */
  error?: GatewayError
  /** The body without its refused fields; undefined where nothing can be taken out to make it acceptable. */
  base?: Accepted
  /** In the order of the body. */
  fields: ExplainedField[]
  /** False where the bounds ended the search: then some fields are explained only as a whole, or not at all. */
  isComplete: boolean
}

/** Every probe costs as much as a translation of the body. */
const PROBES_MAX = 3000
/** Enough for every member of a body itself. */
const PROBES_MIN = 64
const PROBED_BYTES_MAX = 96 * 1024 * 1024
const REFUSALS_MAX = 100
const OTHER_FORM = 'Sent in another form.'
const NO_EFFECT = 'Has no effect on this route.'
/** Between turns of the event loop. */
const TURN_BYTES = 512 * 1024

/** A member that a family cannot do without, in its smallest form. */
const SMALLEST: Readonly<Record<ExplainedFamily, JsonObject>> = {
  openai: { messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  anthropic: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 16 },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  embeddings: { input: 'Hi' }
}

export interface ExplainOptions {
  family: ExplainedFamily
  probe: Probe
  /** The length of the body. */
  bytes: number
  /** Lets other work of the event loop go on. */
  pause: () => Promise<void>
}

/** Explains a body. Raises only faults of the gateway. */
export async function explainBody(body: JsonObject, options: ExplainOptions): Promise<Explanation> {
  return new Explainer(body, options).run()
}

/** A field while it is explained: it gets a verdict, or its inner fields get theirs. */
interface Node {
  place: Place
  value: JsonValue
  field?: ExplainedField
  inner: Node[]
}

class Explainer {
  readonly #body: JsonObject
  readonly #options: ExplainOptions
  readonly #refusals = new Map<string, ExplainedField>()
  #edits = new Edits()
  /** The same, and every field without effect. */
  #ignored = new Edits()
  #probesLeft: number
  #bytesOfTurn = 0

  constructor(body: JsonObject, options: ExplainOptions) {
    this.#body = body
    this.#options = options
    const affordable = Math.ceil(PROBED_BYTES_MAX / Math.max(options.bytes, 1))
    this.#probesLeft = Math.max(PROBES_MIN, Math.min(PROBES_MAX, affordable))
  }

  async run(): Promise<Explanation> {
    const first = await this.#probe(this.#edits)
    const base = first.isAccepted ? first : await this.#takeOutRefused(first)
    const error = first.isAccepted ? {} : { error: first.error }
    const roots = listInner(this.#body).map(({ step, value }): Node => ({ place: [step], value, inner: [] }))
    if (base !== undefined) await this.#judgeAll(roots, base)
    else for (const node of roots) this.#markRefused(node)
    const added = [...this.#refusals.values()].filter(({ path }) => findAt(this.#body, readPlace(path)) === undefined)
    return {
      ...error,
      ...(base === undefined ? {} : { base }),
      fields: [...roots.flatMap(flatten), ...added],
      isComplete: base !== undefined && this.#probesLeft > 0
    }
  }

  async #probe(edits: Edits): Promise<Accepted | Refused> {
    this.#probesLeft--
    this.#bytesOfTurn += this.#options.bytes
    if (this.#bytesOfTurn > TURN_BYTES) {
      this.#bytesOfTurn = 0
      await this.#options.pause()
    }
    return this.#options.probe(edits.apply(this.#body))
  }

  /** Takes out what the route refuses, one field after the other, until the rest is accepted. */
  async #takeOutRefused(first: Refused): Promise<Accepted | undefined> {
    let refused = first
    while (this.#refusals.size < REFUSALS_MAX && this.#probesLeft > 0) {
      const { error } = refused
      const outcome = await this.#takeOut(error)
      if (outcome === undefined) {
        this.#note(this.#edits.toOriginal(this.#body, readPlace(error.param ?? '')), error)
        return undefined
      }
      if (outcome.isAccepted) return outcome
      refused = outcome
    }
    return undefined
  }

  /** Takes out as little as makes this refusal go away; undefined when nothing does. */
  async #takeOut(error: GatewayError): Promise<Accepted | Refused | undefined> {
    const [member] = readPlace(error.param ?? '')
    const smallest = SMALLEST[this.#options.family]
    const named = this.#edits.toOriginal(this.#body, readPlace(error.param ?? ''))
    for (const place of listEnclosing(named)) {
      const outcome = await this.#tryWithout(place, error)
      if (outcome !== undefined) return outcome
    }
    if (typeof member === 'string' && smallest[member] !== undefined) {
      const outcome = await this.#tryWithout([member], error, smallest[member])
      if (outcome !== undefined) return outcome
    }
    // The error names no field of the body, such as all attachments together.
    const blamed = named.length > 0 ? undefined : await this.#findBlamed([], this.#body, error)
    if (blamed !== undefined) return this.#tryWithout(blamed, error)
    for (const [name, value] of Object.entries(smallest)) {
      const outcome = await this.#tryWithout([name], error, value)
      if (outcome !== undefined) return outcome
    }
    return undefined
  }

  /** Takes a place out, or puts a value there; undefined, and nothing is changed, where the error stays. */
  async #tryWithout(place: Place, error: GatewayError, value?: JsonValue): Promise<Accepted | Refused | undefined> {
    if (this.#edits.has(place)) return undefined
    const edits = this.#edits.with(place, value)
    const outcome = await this.#probe(edits)
    if (isSameRefusal(outcome, error)) return undefined
    this.#edits = edits
    this.#note(place, error)
    return outcome
  }

  /** The smallest field without which the body is accepted. */
  async #findBlamed(holder: Place, value: JsonValue, error: GatewayError): Promise<Place | undefined> {
    for (const { step, value: inner } of listInner(value)) {
      const place = [...holder, step]
      if (this.#edits.has(place) || this.#probesLeft <= 0) continue
      const without = await this.#probe(this.#edits.with(place))
      if (isSameRefusal(without, error)) continue
      // Another error may be about the missing field itself, so that only its inner fields can tell.
      const blamed = (await this.#findBlamed(place, inner, error)) ?? (without.isAccepted ? place : undefined)
      if (blamed !== undefined) return blamed
    }
    return undefined
  }

  #note(place: Place, { code, message, param }: GatewayError): void {
    const path = place.length === 0 ? (param ?? '') : writePlace(place)
    const named = param === undefined || param === path ? {} : { param }
    this.#refusals.set(path, { path, verdict: 'refused', reason: message, code, ...named })
  }

  #markRefused(node: Node): void {
    const refusal = this.#refusals.get(writePlace(node.place))
    if (refusal !== undefined) node.field = refusal
    else node.inner = this.#createInner(node)
    for (const inner of node.inner) this.#markRefused(inner)
  }

  #createInner({ place, value }: Node): Node[] {
    return listInner(value).map(({ step, value: inner }) => ({ place: [...place, step], value: inner, inner: [] }))
  }

  /** Level by level, so that a bound leaves out details before it leaves out members. */
  async #judgeAll(roots: readonly Node[], base: Accepted): Promise<void> {
    this.#ignored = this.#edits
    let level = [...roots]
    while (level.length > 0) {
      const next: Node[] = []
      for (const node of level) {
        await this.#judge(node, base)
        next.push(...node.inner)
      }
      level = next
    }
    for (const node of roots) join(node)
  }

  /** Gives a node its verdict, or inner nodes that get theirs. */
  async #judge(node: Node, base: Accepted): Promise<void> {
    const { place, value } = node
    const refusal = this.#refusals.get(writePlace(place))
    if (refusal !== undefined) {
      node.field = refusal
      return
    }
    if (this.#edits.hasInside(place)) {
      node.inner = this.#createInner(node)
      return
    }
    if (this.#probesLeft <= 0) {
      node.field = this.#write(
        node,
        'translated',
        'A part of a member that has an effect; the bounds of this report end here.'
      )
      return
    }
    const without = await this.#probe(this.#edits.with(place))
    if (!without.isAccepted) await this.#judgeNeeded(node, base)
    else if (!isDeepStrictEqual(without.upstream, base.upstream)) {
      this.#judgeChange(node, base, listDifferences(base.upstream, without.upstream), OTHER_FORM)
    } else if (!isDeepStrictEqual(without.ownWork, base.ownWork)) {
      node.field = this.#write(node, 'translated', 'The gateway applies it itself.')
    } else await this.#judgeNoEffect(node, base, without, value)
  }

  /** The rest of the request cannot be read or sent without the field: another value shows what becomes of it. */
  async #judgeNeeded(node: Node, base: Accepted): Promise<void> {
    const { place, value } = node
    const [other] = listOtherValues(value)
    const changed = other === undefined ? undefined : await this.#probe(this.#edits.with(place, other))
    const whole = [{ place: [], value: base.upstream }]
    const places = changed?.isAccepted === true ? listDifferences(base.upstream, changed.upstream) : whole
    const isCertain = changed === undefined || changed.isAccepted
    const isSeen = changed?.isAccepted === true && places.length > 0
    this.#judgeChange(node, base, places, isSeen ? OTHER_FORM : 'The rest of the request needs it.', isCertain)
  }

  /** @param isCertain false where any value of the upstream body may be meant: then only one of the same name counts. */
  #judgeChange(node: Node, base: Accepted, places: readonly Found[], reason: string, isCertain = true): void {
    const { place, value } = node
    const found = findUnchanged(value, { places, whole: base.upstream }, place.at(-1))
    if (found !== undefined && (isCertain || found.at(-1) === place.at(-1))) {
      node.field = { ...this.#write(node, 'exact', 'Sent unchanged.'), upstream: writePlace(found) }
      return
    }
    node.inner = this.#createInner(node)
    if (node.inner.length > 0) return
    const isAlias = value === base.plan.publicModel && value !== base.plan.upstreamModel
    node.field = this.#write(
      node,
      'translated',
      isAlias ? `Selects the route, whose model is ${base.plan.upstreamModel}.` : reason
    )
  }

  async #judgeNoEffect(node: Node, base: Accepted, without: Accepted, value: JsonValue): Promise<void> {
    const declared = this.#findDeclaredReason(node, base, without)
    // A member may state a default; an element of a list that changes nothing is not used.
    if (declared !== undefined || typeof node.place.at(-1) === 'number') {
      await this.#judgeIgnored(node, base, declared ?? NO_EFFECT)
      return
    }
    node.inner = this.#createInner(node)
    if (node.inner.length > 0) return
    for (const other of listOtherValues(value)) {
      const changed = await this.#probe(this.#edits.with(node.place, other))
      if (isSameWork(changed, base)) continue
      node.field = this.#write(node, 'translated', 'Says what also holds without it; another value has an effect.')
      return
    }
    await this.#judgeIgnored(node, base, NO_EFFECT)
  }

  /** Of two fields that say the same only one is without effect: all ignored fields can be left out together. */
  async #judgeIgnored(node: Node, base: Accepted, reason: string): Promise<void> {
    const ignored = this.#ignored.with(node.place)
    if (isSameWork(await this.#probe(ignored), base)) {
      this.#ignored = ignored
      node.field = this.#write(node, 'ignored', reason)
    } else node.field = this.#write(node, 'translated', 'Another field of the request says the same.')
  }

  /** Why a field has no effect, where the client face or the provider face says so. */
  #findDeclaredReason({ place }: Node, base: Accepted, without: Accepted): string | undefined {
    const parameter = findParameter(this.#options.family, place)
    if (parameter?.class === 'accepted_ignored') return 'Accepted without effect.'
    if (parameter?.class === 'not_applicable') return 'Not used.'
    const { chat } = base
    if (chat === undefined || without.chat === undefined) return undefined
    for (const feature of requestFeatures) {
      if (chat.acceptance.features[feature] !== 'ignored') continue
      const path = findFeatureUse(chat.request, feature)
      if (path === undefined || findFeatureUse(without.chat.request, feature) === path) continue
      return `The provider kind ${base.plan.providerKind} has no place for it.`
    }
    return undefined
  }

  #write({ place }: Node, verdict: Verdict, reason: string): ExplainedField {
    const note = findParameter(this.#options.family, place)?.note
    return { path: writePlace(place), verdict, reason: note === undefined ? reason : `${reason} ${note}` }
  }
}

function isSameWork(outcome: Accepted | Refused, base: Accepted): boolean {
  return (
    outcome.isAccepted &&
    isDeepStrictEqual(outcome.upstream, base.upstream) &&
    isDeepStrictEqual(outcome.ownWork, base.ownWork)
  )
}

function isSameRefusal(outcome: Accepted | Refused, { param, message }: GatewayError): boolean {
  return !outcome.isAccepted && outcome.error.param === param && outcome.error.message === message
}

/** The place itself, then the elements of lists that hold it, then its member of the body. */
function listEnclosing(place: Place): Place[] {
  const places: Place[] = []
  for (let length = place.length; length > 0; length--) {
    if (length === place.length || length === 1 || typeof place[length - 1] === 'number') {
      places.push(place.slice(0, length))
    }
  }
  return places
}

/** Other values of the same type, the nearest first; none for null. */
function listOtherValues(value: JsonValue): JsonValue[] {
  switch (typeof value) {
    case 'boolean':
      return [!value]
    case 'number':
      return [value + 1, 1, 0]
    case 'string':
      return [`${value}x`]
    default:
      return []
  }
}

/** A field whose inner fields all have no effect is told as one. */
function join(node: Node): void {
  for (const inner of node.inner) join(inner)
  const [first, ...rest] = node.inner
  if (first?.field?.verdict !== 'ignored') return
  const { field } = first
  const isSame = rest.every(inner => inner.field?.verdict === 'ignored' && inner.field.reason === field.reason)
  if (!isSame || node.inner.some(({ inner }) => inner.length > 0)) return
  node.field = { ...field, path: writePlace(node.place) }
  node.inner = []
}

function flatten({ field, inner }: Node): ExplainedField[] {
  return field === undefined ? inner.flatMap(flatten) : [field]
}
