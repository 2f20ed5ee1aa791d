// Takes out of a body what its route refuses, field by field, so that the rest can be explained.

import { isDeepStrictEqual } from 'node:util'
import type { GatewayError, JsonObject, JsonValue } from '../../normalized/index.ts'
import type { ExplainedFamily } from '../job.ts'
import type { BoundedProbe } from './bounded-probe.ts'
import type { ExplainedField } from './field.ts'
import { Edits, listInner, type Place, readPlace, writePlace } from './paths.ts'
import type { Accepted, Refused } from './probe.ts'
import { findParameter } from './tables.ts'

const REFUSALS_MAX = 100

/** A member that a family cannot do without, in its smallest form. */
const SMALLEST: Readonly<Record<ExplainedFamily, JsonObject>> = {
  openai: { messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  anthropic: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 16 },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  embeddings: { input: 'Hi' }
}

export interface RefusalsOptions {
  family: ExplainedFamily
  probe: BoundedProbe
}

export class Refusals {
  readonly #body: JsonObject
  readonly #options: RefusalsOptions
  readonly #fields = new Map<string, ExplainedField>()
  #edits = new Edits()
  #isCut = false

  constructor(body: JsonObject, options: RefusalsOptions) {
    this.#body = body
    this.#options = options
  }

  /** What was taken out of the body, or replaced by its smallest form. */
  get edits(): Edits {
    return this.#edits
  }

  /** Whether there are more refused fields than the bounds allow. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** In the order in which they were found. */
  get fields(): ExplainedField[] {
    return [...this.#fields.values()]
  }

  find(place: Place): ExplainedField | undefined {
    return this.#fields.get(writePlace(place))
  }

  hasInside(place: Place): boolean {
    const path = writePlace(place)
    return [...this.#fields.keys()].some(key => isInside(key, path))
  }

  /**
   * Takes out what the route refuses, one field after the other, until the rest is accepted.
   * Resolves with the look at the rest; with undefined where nothing that can be taken out makes
   * the body acceptable, or the bounds came first.
   */
  async takeOut(first: Refused): Promise<Accepted | undefined> {
    let refused = first
    for (let count = 0; count < REFUSALS_MAX && this.#options.probe.left > 0; count++) {
      const { error } = refused
      const outcome = (await this.#takeOutUnknown(error)) ?? (await this.#takeOutOne(error))
      if (outcome === undefined) {
        const named = this.#trace(error, this.#edits)
        this.#note(this.#edits.toOriginal(this.#body, readPlace(error.param ?? '')), error, named)
        return undefined
      }
      if (outcome.isAccepted) return outcome
      refused = outcome
    }
    this.#isCut = true
    const outcome = await this.#replaceMember(refused.error)
    return outcome?.isAccepted === true ? outcome : undefined
  }

  /**
   * Takes out all members that no protocol knows and that are refused like this one. Each is looked
   * at without the others, in a body that is small; one after the other would translate all of them
   * once for each. Undefined where there are no others.
   */
  async #takeOutUnknown(error: GatewayError): Promise<Accepted | Refused | undefined> {
    const all = this.#listUnknown()
    // A null member requests nothing and is not refused.
    const members = all.filter(({ value }) => value !== null)
    const { probe } = this.#options
    if (members.length < 2 || !members.some(({ name }) => name === error.param)) return undefined
    if (members.length + 2 > probe.left / 2) return undefined
    const without = await probe.look(this.#edits.withAll(members.map(({ place }) => ({ place }))))
    if (isSameRefusal(without, error)) return undefined
    const refused: Array<{ place: Place; error: GatewayError }> = []
    for (const member of members) {
      const others = all.filter(other => other !== member).map(({ place }) => ({ place }))
      const alone = await probe.look(this.#edits.withAll(others))
      if (alone.isAccepted || alone.error.param !== member.name) continue
      if (readReason(alone.error) === readReason(error)) refused.push({ place: member.place, error: alone.error })
    }
    if (refused.length < 2) return undefined
    this.#edits = this.#edits.withAll(refused.map(({ place }) => ({ place })))
    for (const { place, error: own } of refused) this.#note(place, own, place)
    return refused.length === members.length ? without : probe.look(this.#edits)
  }

  /** The members of the body that no client protocol has and that are not taken out yet. */
  #listUnknown(): Array<{ name: string; place: Place; value: JsonValue }> {
    return listInner(this.#body).flatMap(({ step, value }) => {
      const isUnknown = typeof step === 'string' && findParameter(this.#options.family, [step]) === undefined
      if (!isUnknown || this.#edits.has([step]) || this.#edits.hasInside([step])) return []
      // A name that a path cannot express is handled like any other refused field.
      const isPlain = isDeepStrictEqual(readPlace(step), [step])
      return isPlain ? [{ name: step, place: [step], value }] : []
    })
  }

  /** What the error of an edited body names, as a path of the client's body. */
  #trace({ param = '' }: GatewayError, edits: Edits): Place {
    const path = readPlace(param)
    const existing = edits.toOriginal(this.#body, path)
    return [...existing, ...path.slice(existing.length)]
  }

  /** Takes out as little as makes this refusal go away; undefined when nothing does. */
  async #takeOutOne(error: GatewayError): Promise<Accepted | Refused | undefined> {
    const smallest = SMALLEST[this.#options.family]
    const named = this.#edits.toOriginal(this.#body, readPlace(error.param ?? ''))
    for (const place of listEnclosing(named)) {
      // Without a member that it needs, the body is refused for another reason, which is not about
      // the client's value.
      if (place.length === 1 && smallest[String(place[0])] !== undefined) continue
      const outcome = await this.#tryWithout(place, error)
      if (outcome !== undefined) return outcome
    }
    const replaced = await this.#replaceMember(error)
    if (replaced !== undefined) return replaced
    // The error names no field of the body, such as all attachments together.
    const blamed = named.length > 0 ? undefined : await this.#findBlamed([], this.#body, error)
    if (blamed !== undefined) return this.#tryWithout(blamed, error)
    for (const [name, value] of Object.entries(smallest)) {
      const outcome = await this.#tryWithout([name], error, value)
      if (outcome !== undefined) return outcome
    }
    return undefined
  }

  /**
   * Puts its smallest form in place of the member at fault; undefined where the family can do
   * without it, or the error stays.
   */
  async #replaceMember(error: GatewayError): Promise<Accepted | Refused | undefined> {
    const [member = ''] = readPlace(error.param ?? '')
    const smallest = SMALLEST[this.#options.family][String(member)]
    return smallest === undefined ? undefined : this.#tryWithout([member], error, smallest)
  }

  /**
   * Takes a place out, or puts a value there; undefined, and nothing is changed, where the error
   * stays, or where another one is about the absence of the place.
   */
  async #tryWithout(place: Place, error: GatewayError, value?: JsonValue): Promise<Accepted | Refused | undefined> {
    if (this.#edits.has(place)) return undefined
    const edits = this.#edits.with(place, value)
    const outcome = await this.#options.probe.look(edits)
    const named = this.#trace(error, this.#edits)
    if (!outcome.isAccepted) {
      // The paths of the errors are equal also where another element has the index of the one that
      // was taken out.
      const after = this.#trace(outcome.error, edits)
      const isSame = readReason(outcome.error) === readReason(error) && isDeepStrictEqual(after, named)
      if (isSame || (value === undefined && isDeepStrictEqual(after, place))) return undefined
    }
    this.#edits = edits
    this.#note(place, error, named)
    return outcome
  }

  /** The smallest field without which the body is accepted. */
  async #findBlamed(holder: Place, value: JsonValue, error: GatewayError): Promise<Place | undefined> {
    for (const { step, value: inner } of listInner(value)) {
      const place = [...holder, step]
      if (this.#edits.has(place) || this.#options.probe.left <= 0) continue
      const without = await this.#options.probe.look(this.#edits.with(place))
      if (isSameRefusal(without, error)) continue
      // Another error may be about the missing field itself, so that only its inner fields can
      // tell.
      const blamed = (await this.#findBlamed(place, inner, error)) ?? (without.isAccepted ? place : undefined)
      if (blamed !== undefined) return blamed
    }
    return undefined
  }

  /**
   * The first refusal of a field, or of a part of it, counts: a later one may be about what was
   * taken out, not about the body.
   */
  #note(place: Place, { code, message, param = '' }: GatewayError, named: Place): void {
    const path = writePlace(place.length === 0 ? named : place)
    if (this.#fields.has(path)) return
    const name = writePlace(named)
    const own: ExplainedField = { path: name, verdict: 'refused', reason: message.replace(param, () => name), code }
    const first = this.fields.find(({ path: inner }) => isInside(inner, path)) ?? own
    const { param: fault = first.path } = first
    this.#fields.set(path, { ...first, path, ...(fault === '' || fault === path ? {} : { param: fault }) })
  }
}

function isSameRefusal(outcome: Accepted | Refused, { param, message }: GatewayError): boolean {
  return !outcome.isAccepted && outcome.error.param === param && outcome.error.message === message
}

/** What an error says apart from the field, which may stand at another place of an edited body. */
function readReason({ message, param = '' }: GatewayError): string {
  return param === '' ? message : message.replace(param, '')
}

function isInside(inner: string, path: string): boolean {
  return inner.startsWith(`${path}.`) || inner.startsWith(`${path}[`)
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
