// The table of members of a client protocol (decisions.md 69): what each member of a body asks for, at any depth. Which of them reach a
// provider is not written here: it follows from a row and what the provider declares (`ProviderAcceptance`), so that a further kind of
// provider edits no table. Admission, notice, explanation and guide are views of the same rows.

import { compareCodePoints } from '../../../../shared/json.ts'
import { isJsonObject, type JsonObject, type JsonValue, type ProviderAcceptance } from '../../../normalized/index.ts'
import { joinPath } from './field.ts'
import { asksForNothing, type Parameter, type ParameterTable } from './parameters.ts'

/** What becomes of a member on a wire. */
export type MemberWord =
  /** In the client's own spelling. */
  | 'sent'
  /** In the provider's form, or applied by the gateway itself. */
  | 'translated'
  /** Left out, with a notice unless it asks for nothing. */
  | 'ignored'
  | 'refused'

/** Hears of what asks for something and is not carried by the normalized form. */
export interface MemberSink {
  /** @param reasonId for the log. */
  leaveOut(path: string, reasonId: string): void
  /** Leaving it out would lose content, change the results, break a demand or lose a state: an external provider refuses it. */
  refuse(path: string, reasonId: string): void
}

/** Hears of parts of a body besides its members. */
export interface PartSink extends MemberSink {
  /**
   * Something that belongs to an earlier turn and asks for nothing now: left out without a notice, refused only for a client that wants
   * exactness (decisions.md 71 and 75).
   */
  drop(path: string, reasonId: string): void
  /** Whether `drop` refuses; else nothing needs to be looked for. */
  readonly isExact: boolean
}

export interface MembersOptions {
  /** The name of a member in the table, in a protocol with several spellings. */
  fold?: (name: string) => string
  /** Members that the protocol does not have belong to the provider, where it has a place for them (completions.md 2). */
  hasAdditionalFields?: boolean
}

/** A place of the table: the row of the member, those of its own members, and that of the entries of a list. */
interface Node {
  row?: Parameter
  members?: Map<string, Node>
  entries?: Node
}

/** One visit of a body. */
interface Visit {
  sink: MemberSink
  /** Members that the protocol does not have are sent. */
  takesOthers: boolean
}

/** The members of one client protocol. */
export class Members {
  readonly rows: ParameterTable
  readonly #root: Node = {}
  readonly #fold: (name: string) => string
  readonly #hasAdditionalFields: boolean

  /**
   * @param rows by path, such as `reasoning.summary` and `tools[].name`. An object with rows for its own members has no others, unless its
   * row is `isOpen`.
   */
  constructor(rows: ParameterTable, { fold = name => name, hasAdditionalFields = false }: MembersOptions = {}) {
    this.rows = rows
    this.#fold = fold
    this.#hasAdditionalFields = hasAdditionalFields
    for (const [path, row] of Object.entries(rows)) openNode(this.#root, path).row = row
  }

  /** The row of a member; undefined for one without a row of its own. */
  find(path: string): Parameter | undefined {
    let node: Node | undefined = this.#root
    for (const step of path.match(STEP) ?? []) {
      node = step.startsWith('[') ? node.entries : this.#child(node, step)
      if (node === undefined) return undefined
    }
    return node.row
  }

  /** Whether a path is one of the protocol: a client may write any other name into an object with rows. */
  has(path: string): boolean {
    return this.#follow(path) !== undefined
  }

  /**
   * Visits the members of a body that ask for something and that the normalized form does not carry; those of one object in code-point
   * order, before the members inside of them. Members that a feature of the request stands for are left to admission.
   */
  visit(body: JsonObject, sink: MemberSink, acceptance?: ProviderAcceptance): void {
    const takesOthers = this.#hasAdditionalFields && acceptance?.features.additionalFields === 'sent'
    this.#visit(body, { node: this.#root, path: '' }, { sink, takesOthers })
  }

  #visit(source: JsonObject, { node, path }: { node: Node; path: string }, visit: Visit): void {
    let unsent: Array<{ name: string; refusal: string | undefined }> | undefined
    let inner: Array<{ name: string; node: Node }> | undefined
    for (const name of Object.keys(source)) {
      const value = source[name]
      if (value === null || value === undefined) continue
      const child = this.#child(node, name)
      if (child !== undefined && (child.members !== undefined || child.entries !== undefined)) {
        inner ??= []
        inner.push({ name, node: child })
        // The rows of its own members tell.
        if (child.members !== undefined && isJsonObject(value)) continue
      }
      if (!this.#isUnsent(value, child?.row, { isTop: path === '', isKnown: child !== undefined, node, visit }))
        continue
      unsent ??= []
      unsent.push({ name, refusal: child?.row?.refusal })
    }
    unsent?.sort((left, right) => compareCodePoints(left.name, right.name))
    for (const { name, refusal } of unsent ?? []) {
      const at = joinPath(path, name)
      if (refusal !== undefined) visit.sink.refuse(at, refusal)
      else visit.sink.leaveOut(at, 'member_not_expressed')
    }
    for (const one of inner ?? []) this.#visitInner(source[one.name], one.node, joinPath(path, one.name), visit)
  }

  #visitInner(value: JsonValue | undefined, node: Node, path: string, visit: Visit): void {
    const { entries } = node
    if (isJsonObject(value)) {
      // A single entry needs no list in some protocols.
      const ofOne = entries !== undefined && node.members === undefined ? entries : node
      if (ofOne.members !== undefined) this.#visit(value, { node: ofOne, path }, visit)
    } else if (Array.isArray(value) && entries !== undefined) {
      for (const [index, entry] of value.entries()) {
        if (isJsonObject(entry)) this.#visit(entry, { node: entries, path: `${path}[${index}]` }, visit)
      }
    }
  }

  #isUnsent(
    value: JsonValue,
    row: Parameter | undefined,
    { isTop, isKnown, node, visit }: { isTop: boolean; isKnown: boolean; node: Node; visit: Visit }
  ): boolean {
    const { takesOthers } = visit
    if (row === undefined) {
      return !isKnown && node.row?.isOpen !== true && !(isTop && takesOthers) && !asksForNothing(value, {})
    }
    if (row.isAdditionalField === true || row.feature === 'additionalFields') {
      return !takesOthers && !asksForNothing(value, row)
    }
    return row.class === 'accepted_ignored' && !asksForNothing(value, row)
  }

  #child({ members }: Node, name: string): Node | undefined {
    return members?.get(name) ?? members?.get(this.#fold(name))
  }

  /** The node of a path, or that of the last member with a row where the table does not look inside of it. */
  #follow(path: string): Node | undefined {
    let node: Node = this.#root
    for (const step of path.match(STEP) ?? []) {
      const isEntry = step.startsWith('[')
      const next = isEntry ? node.entries : this.#child(node, step)
      if (next === undefined) {
        const isClosed = !isEntry && node.members !== undefined && node.row?.isOpen !== true
        return isClosed ? undefined : node
      }
      node = next
    }
    return node
  }
}

/** A name, or the position in a list. */
const STEP = /\[\d*\]|[^.[\]]+/g

function openNode(root: Node, path: string): Node {
  let node = root
  for (const step of path.match(STEP) ?? []) {
    if (step.startsWith('[')) {
      node.entries ??= {}
      node = node.entries
      continue
    }
    node.members ??= new Map()
    const next: Node = node.members.get(step) ?? {}
    node.members.set(step, next)
    node = next
  }
  return node
}

/**
 * What becomes of a member on a provider's wire.
 * @param isOwnWire the provider speaks the client's protocol and gets the client's own body (decisions.md 72).
 */
export function findWord(
  row: Parameter,
  { acceptance, isOwnWire = false }: { acceptance: ProviderAcceptance; isOwnWire?: boolean }
): MemberWord {
  if (row.class === 'not_applicable') return 'ignored'
  if (isOwnWire) return 'sent'
  if (row.class === 'rejected') return 'refused'
  if (row.isAdditionalField === true) return acceptance.features.additionalFields === 'sent' ? 'sent' : 'ignored'
  if (row.class === 'accepted_ignored') {
    return row.refusal !== undefined && acceptance.refusesLoss === true ? 'refused' : 'ignored'
  }
  if (row.feature === undefined) return 'translated'
  const word = acceptance.features[row.feature]
  return word === 'sent' ? 'translated' : word
}
