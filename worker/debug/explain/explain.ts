// Explains what becomes of every field of a body on its route. It does not read a list: it
// translates the body again without the field, then with another value, and compares the upstream
// bodies. Declarations of the faces only add the reasons.

import { isDeepStrictEqual } from 'node:util'
import {
  findFeatureUse,
  type GatewayError,
  type JsonObject,
  type JsonValue,
  requestFeatures
} from '../../normalized/index.ts'
import type { ExplainedFamily } from '../job.ts'
import { BoundedProbe, type BoundedProbeOptions } from './bounded-probe.ts'
import { type Found, findUnchanged, listDifferences } from './compare.ts'
import type { ExplainedField, Verdict } from './field.ts'
import { Edits, findAt, listInner, type Place, readPlace, type Step, writePlace } from './paths.ts'
import type { Accepted, Refused } from './probe.ts'
import { Refusals } from './refusals.ts'
import { findParameter } from './tables.ts'

export interface Explanation {
  /** The refusal with which the route itself would respond. */
  error?: GatewayError
  /**
   * The body without its refused fields; undefined where nothing can be taken out to make it
   * acceptable.
   */
  base?: Accepted
  /** In the order of the body. */
  fields: ExplainedField[]
  /**
   * False where the bounds ended the search: then some fields are explained only as a whole, or not
   * at all.
   */
  isComplete: boolean
  /** The time was over before all members were looked at. */
  isLate: boolean
}

const OTHER_FORM = 'Sent in another form.'
const NO_EFFECT = 'Has no effect on this route.'

export interface ExplainOptions extends BoundedProbeOptions {
  family: ExplainedFamily
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
  readonly #family: ExplainedFamily
  readonly #probe: BoundedProbe
  readonly #refusals: Refusals
  /** The refused fields, and every field without effect. */
  #ignored = new Edits()
  #isCut = false
  #isSameWire = false

  constructor(body: JsonObject, { family, ...options }: ExplainOptions) {
    this.#body = body
    this.#family = family
    this.#probe = new BoundedProbe(body, options)
    this.#refusals = new Refusals(body, { family, probe: this.#probe })
  }

  async run(): Promise<Explanation> {
    const first = await this.#probe.look(new Edits())
    const base = first.isAccepted ? first : await this.#refusals.takeOut(first)
    const error = first.isAccepted ? {} : { error: first.error }
    this.#isSameWire = base?.isSameWire === true
    const roots = listInner(this.#body).map(({ step, value }): Node => ({ place: [step], value, inner: [] }))
    if (base !== undefined) await this.#judgeAll(roots, base)
    else for (const node of roots) this.#markRefused(node)
    const added = this.#refusals.fields.filter(({ path }) => findAt(this.#body, readPlace(path)) === undefined)
    return {
      ...error,
      ...(base === undefined ? {} : { base }),
      fields: [...roots.flatMap(flatten), ...added],
      isLate: this.#probe.isLate,
      isComplete: base !== undefined && this.#probe.left > 0 && !this.#isCut && !this.#refusals.isCut
    }
  }

  #markRefused(node: Node): void {
    const refusal = this.#refusals.find(node.place)
    if (refusal !== undefined) node.field = refusal
    else if (this.#refusals.hasInside(node.place)) node.inner = this.#createInner(node)
    for (const inner of node.inner) this.#markRefused(inner)
  }

  #createInner({ place, value }: Node): Node[] {
    return listInner(value).map(({ step, value: inner }) => ({ place: [...place, step], value: inner, inner: [] }))
  }

  /** Gives a node its inner nodes; false where it has none, or more than the bounds allow. */
  #open(node: Node): boolean {
    const inner = this.#createInner(node)
    if (inner.length > this.#probe.left) this.#isCut = true
    else node.inner = inner
    return node.inner.length > 0
  }

  /** The inner nodes of one that holds refused fields: of a very long list only those. */
  #openRefused(node: Node): void {
    const inner = this.#createInner(node)
    const isLong = inner.length > this.#probe.left
    if (isLong) this.#isCut = true
    node.inner = isLong
      ? inner.filter(({ place }) => this.#refusals.edits.has(place) || this.#refusals.edits.hasInside(place))
      : inner
  }

  /** Level by level, so that a bound leaves out details before it leaves out members. */
  async #judgeAll(roots: readonly Node[], base: Accepted): Promise<void> {
    this.#ignored = this.#refusals.edits
    const unknown = roots.filter(({ place, value }) => this.#isUnknown(place) && value !== null)
    let level = [...roots]
    while (level.length > 0) {
      const next: Node[] = []
      // The last of them alone may have another reason, so a single one is judged like every field.
      const together = unknown.length > 1 ? level.filter(node => this.#mayJoinGroup(node)) : []
      await this.#judgeGroup(together, base)
      for (const node of level) {
        if (node.field === undefined && node.inner.length === 0) await this.#judge(node, base)
        for (const inner of node.inner) next.push(inner)
      }
      level = next
    }
    for (const node of roots) join(node)
  }

  /**
   * No client protocol has a member of this name: what becomes of it has nothing to do with other
   * members.
   */
  #isUnknown([root]: Place): boolean {
    return typeof root === 'string' && findParameter(this.#family, [root]) === undefined
  }

  #mayJoinGroup({ place }: Node): boolean {
    const { edits } = this.#refusals
    return this.#isUnknown(place) && this.#refusals.find(place) === undefined && !edits.hasInside(place)
  }

  /**
   * Judges members that no protocol knows together, because there may be very many of them and most
   * have the same verdict: all are sent, or none has an effect. Halves the group where that does
   * not explain everything, down to single nodes, which are left to `#judge`.
   */
  async #judgeGroup(nodes: readonly Node[], base: Accepted): Promise<void> {
    if (nodes.length < 2 || this.#probe.left < GROUP_LOOKS_MAX || (await this.#judgeTogether(nodes, base))) return
    const middle = nodes.length >> 1
    await this.#judgeGroup(nodes.slice(0, middle), base)
    await this.#judgeGroup(nodes.slice(middle), base)
  }

  /**
   * False, and no node is judged, where probes of the whole group do not show the verdict of each
   * node.
   */
  async #judgeTogether(nodes: readonly Node[], base: Accepted): Promise<boolean> {
    const { edits } = this.#refusals
    const without = await this.#probe.look(edits.withAll(nodes.map(({ place }) => ({ place }))))
    if (!without.isAccepted || !isDeepStrictEqual(without.ownWork, base.ownWork)) return false
    const sent = matchSent(nodes, listDifferences(base.upstream, without.upstream))
    if (sent === undefined) return false
    const unsent = nodes.filter(node => !sent.has(node))
    // An object or a list without effect is reported by its parts.
    const leaves = unsent.filter(
      ({ place, value }) => typeof place.at(-1) === 'number' || listInner(value).length === 0
    )
    if (!(await this.#haveNoEffect(leaves, base))) return false
    for (const [node, place] of sent) {
      node.field = { ...this.#write(node, 'exact', 'Sent unchanged.'), upstream: writePlace(place) }
    }
    for (const node of leaves) node.field = this.#write(node, 'ignored', NO_EFFECT)
    for (const node of unsent) if (node.field === undefined) this.#open(node)
    return true
  }

  /**
   * True where no other value of the nodes has an effect, and all ignored fields can be left out
   * together.
   */
  async #haveNoEffect(leaves: readonly Node[], base: Accepted): Promise<boolean> {
    if (leaves.length === 0) return true
    const { edits } = this.#refusals
    const members = leaves.filter(({ place }) => typeof place.at(-1) !== 'number')
    for (let round = 0; round < OTHER_VALUES_MAX; round++) {
      const others = members.flatMap(({ place, value }) => {
        const other = listOtherValues(value)[round]
        return other === undefined ? [] : [{ place, value: other }]
      })
      if (others.length > 0 && !isSameWork(await this.#probe.look(edits.withAll(others)), base)) return false
    }
    const ignored = this.#ignored.withAll(leaves.map(({ place }) => ({ place })))
    if (!isSameWork(await this.#probe.look(ignored), base)) return false
    this.#ignored = ignored
    return true
  }

  /** Gives a node its verdict, or inner nodes that get theirs. */
  async #judge(node: Node, base: Accepted): Promise<void> {
    const { place, value } = node
    const refusal = this.#refusals.find(place)
    if (refusal !== undefined) {
      node.field = refusal
      return
    }
    if (this.#refusals.edits.hasInside(place)) {
      this.#openRefused(node)
      return
    }
    if (this.#probe.left <= 0) {
      node.field = this.#write(
        node,
        'translated',
        'A part of a member that has an effect; the bounds of this report end here.'
      )
      return
    }
    const without = await this.#probe.look(this.#refusals.edits.with(place))
    if (!without.isAccepted) await this.#judgeNeeded(node, base)
    else if (!isDeepStrictEqual(without.upstream, base.upstream)) {
      this.#judgeChange(node, base, listDifferences(base.upstream, without.upstream), OTHER_FORM)
    } else if (!isDeepStrictEqual(without.ownWork, base.ownWork)) {
      node.field = this.#write(node, 'translated', 'The gateway applies it itself.')
    } else await this.#judgeNoEffect(node, base, without, value)
  }

  /**
   * The rest of the request cannot be read or sent without the field: another value shows what
   * becomes of it.
   */
  async #judgeNeeded(node: Node, base: Accepted): Promise<void> {
    const { place, value } = node
    const [other] = listOtherValues(value)
    const changed = other === undefined ? undefined : await this.#probe.look(this.#refusals.edits.with(place, other))
    const whole = [{ place: [], value: base.upstream }]
    const seen = changed?.isAccepted === true ? listDifferences(base.upstream, changed.upstream) : []
    const isSeen = seen.length > 0
    const reason = isSeen ? OTHER_FORM : 'The rest of the request needs it.'
    this.#judgeChange(node, base, isSeen ? seen : whole, reason, changed === undefined || isSeen)
  }

  /**
   * @param isCertain false where any value of the upstream body may be meant: then only one of the
   * same name counts.
   */
  #judgeChange(node: Node, base: Accepted, places: readonly Found[], reason: string, isCertain = true): void {
    const { place, value } = node
    const found = findUnchanged(value, { places, whole: base.upstream }, place)
    if (found !== undefined && (isCertain || found.at(-1) === place.at(-1))) {
      node.field = { ...this.#write(node, 'exact', 'Sent unchanged.'), upstream: writePlace(found) }
      return
    }
    if (this.#open(node)) return
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
    if (this.#open(node)) return
    for (const other of listOtherValues(value)) {
      const changed = await this.#probe.look(this.#refusals.edits.with(node.place, other))
      if (isSameWork(changed, base)) continue
      node.field = this.#write(node, 'translated', 'Says what also holds without it; another value has an effect.')
      return
    }
    await this.#judgeIgnored(node, base, NO_EFFECT)
  }

  /**
   * Of two fields that say the same only one is without effect: all ignored fields can be left out
   * together.
   */
  async #judgeIgnored(node: Node, base: Accepted, reason: string): Promise<void> {
    const ignored = this.#ignored.with(node.place)
    if (isSameWork(await this.#probe.look(ignored), base)) {
      this.#ignored = ignored
      node.field = this.#write(node, 'ignored', reason)
    } else node.field = this.#write(node, 'translated', 'Another field of the request says the same.')
  }

  /** Why a field has no effect, where the client face or the provider face says so. */
  #findDeclaredReason({ place }: Node, base: Accepted, without: Accepted): string | undefined {
    const parameter = findParameter(this.#family, place)
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
    // The notes say how the gateway treats a member.
    const note = this.#isSameWire ? undefined : findParameter(this.#family, place)?.note
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

/**
 * How many probes a group needs at most: without it, with other values, and without all ignored
 * fields.
 */
const OTHER_VALUES_MAX = 3
const GROUP_LOOKS_MAX = 2 + OTHER_VALUES_MAX

/**
 * The upstream place of every node that is sent under its own name; undefined unless each
 * difference belongs to exactly one node, so that the other nodes make none.
 */
function matchSent(nodes: readonly Node[], differences: readonly Found[]): Map<Node, Place> | undefined {
  const byName = new Map<Step, Node>()
  for (const node of nodes) {
    const name = node.place.at(-1)
    if (name === undefined || byName.has(name)) return differences.length === 0 ? new Map() : undefined
    byName.set(name, node)
  }
  const sent = new Map<Node, Place>()
  for (const { place, value } of differences) {
    const node = byName.get(place.at(-1) ?? '')
    if (node === undefined || sent.has(node) || !isDeepStrictEqual(node.value, value)) return undefined
    sent.set(node, place)
  }
  return sent
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

/** Reports a field whose inner fields all have no effect as one field. */
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
