// Repeats a chat without optional members that its provider refuses, and remembers what helped: the alias goes without them for an hour
// (decisions.md 79).

import { type Bytes, joinBytes } from '../../../shared/bytes.ts'
import type { Logger } from '../../../shared/logging.ts'
import type { FieldName } from '../../normalized/index.ts'
import { findComplaints, type OptionalMember } from '../../protocols/shared/members/member-complaints.ts'
import { listMemberPaths } from '../../protocols/shared/members/member-paths.ts'
import { type MemberChange, withoutMembers } from '../../protocols/shared/members/optional-members.ts'
import type { CallContext, ChatCall } from '../types.ts'
import type { CallFailure } from './call-failure.ts'
import { logIds } from './failure-report.ts'
import type { BodyFallback } from './hooks.ts'

const REFUSAL_STATUSES: readonly (number | null)[] = [400, 422]

const REMEMBERED_MS = 3_600_000
/** A profile has fewer aliases. What is remembered of others is learned again. */
const ALIASES_MAX = 1000

export interface RefusedMembersOptions {
  log: Logger
  /** Milliseconds since the epoch. */
  now: () => number
}

/** What the provider of one profile refuses, by alias: in one worker, and lost with it. */
export class RefusedMembers {
  readonly #options: RefusedMembersOptions
  /** The time until which each member is left out. */
  readonly #byAlias = new Map<string, Map<OptionalMember, number>>()
  readonly #warned = new Set<string>()

  constructor(options: RefusedMembersOptions) {
    this.#options = options
  }

  /** The fallback of one chat. */
  open(call: ChatCall, context: CallContext): BodyFallback {
    return new RefusedMembersFallback(this, call, context)
  }

  /** The members that a chat of the alias goes without; undefined for none. */
  find(alias: string): ReadonlySet<OptionalMember> | undefined {
    const known = this.#byAlias.get(alias)
    if (known === undefined) return undefined
    const now = this.#options.now()
    for (const [member, until] of known) if (until <= now) known.delete(member)
    if (known.size > 0) return new Set(known.keys())
    this.#byAlias.delete(alias)
    return undefined
  }

  /** The provider has accepted a chat of the alias without these members. */
  remember({ plan }: ChatCall, context: CallContext, changes: readonly MemberChange[]): void {
    const { publicModel } = plan
    const known = this.#byAlias.get(publicModel) ?? new Map<OptionalMember, number>()
    const until = this.#options.now() + REMEMBERED_MS
    for (const { member } of changes) known.set(member, until)
    this.#byAlias.delete(publicModel)
    this.#byAlias.set(publicModel, known)
    for (const oldest of this.#byAlias.keys()) {
      if (this.#byAlias.size <= ALIASES_MAX) break
      this.#byAlias.delete(oldest)
    }
    for (const option of new Set(changes.map(({ place }) => nameOption(place))))
      this.#warn(publicModel, option, context)
  }

  #warn(alias: string, option: string, context: CallContext): void {
    const key = `${alias}\n${option}`
    if (this.#warned.has(key) || this.#warned.size >= ALIASES_MAX) return
    this.#warned.add(key)
    this.#options.log.warn(
      { event: 'upstream_option_refused', ...logIds(context), alias, option },
      'The provider refuses an option; this worker leaves it out for an hour'
    )
  }
}

class RefusedMembersFallback implements BodyFallback {
  readonly #refused: RefusedMembers
  readonly #call: ChatCall
  readonly #context: CallContext
  /** What the repeated call goes without. */
  #changes: MemberChange[] | undefined

  constructor(refused: RefusedMembers, call: ChatCall, context: CallContext) {
    this.#refused = refused
    this.#call = call
    this.#context = context
  }

  prepare(body: Bytes): Bytes {
    const known = this.#refused.find(this.#call.plan.publicModel)
    const changed = known === undefined ? undefined : this.#change(body, known)
    if (changed === undefined) return body
    this.#note(changed.changes)
    return changed.bytes
  }

  revise(body: Bytes, { status, responseBody }: CallFailure): Bytes | undefined {
    if (!REFUSAL_STATUSES.includes(status) || responseBody === undefined) return undefined
    const complaints = findComplaints(responseBody)
    const changed = complaints.size === 0 ? undefined : this.#change(body, complaints)
    this.#changes = changed?.changes
    return changed?.bytes
  }

  confirm(): void {
    const changes = this.#changes
    this.#changes = undefined
    if (changes === undefined) return
    this.#note(changes)
    this.#refused.remember(this.#call, this.#context, changes)
  }

  /** A client that wants exactness gets the provider's refusal in place of a chat without the member. */
  #change(body: Bytes, members: ReadonlySet<OptionalMember>): ReturnType<typeof withoutMembers> {
    const { plan, refusesUnsupported } = this.#call
    const changed = withoutMembers(joinBytes(body), members, plan.providerKind === 'chat_compatible')
    const isLess = changed?.changes.some(({ name }) => name === undefined) === true
    return isLess && refusesUnsupported === true ? undefined : changed
  }

  #note(changes: readonly MemberChange[]): void {
    const paths = changes.flatMap(change => (change.name === undefined ? nameFields(change, this.#call) : []))
    if (paths.length > 0) this.#context.onLeftOut?.(paths)
  }
}

/** The path of a member for the log, without the numbers of items. */
function nameOption(place: MemberChange['place']): string {
  return place
    .map(step => (typeof step === 'number' ? '[]' : `.${step}`))
    .join('')
    .slice(1)
}

const fieldOfMember: Partial<Record<string, FieldName>> = {
  metadata: 'metadata',
  reasoning_effort: 'reasoning',
  effort: 'reasoning',
  output_config: 'reasoning',
  max_tokens: 'maxOutputTokens',
  temperature: 'temperature',
  top_p: 'topP',
  parallel_tool_calls: 'parallelToolCalls'
}

/** The client's own fields for a member that was left out. The gateway itself asks for the usage of streams. */
function nameFields({ member, place }: MemberChange, { isSameWire, request }: ChatCall): string[] {
  if (isSameWire === true || request === undefined) return [writePath(place)]
  if (member === 'strict') return listMemberPaths(request, ['strict'])
  if (member === 'stream_options') return request.wantsStreamUsage ? [member] : []
  const field = fieldOfMember[String(place.at(-1))]
  return field === undefined ? [writePath(place)] : [request.fieldPaths[field] ?? ''].filter(path => path !== '')
}

function writePath(place: MemberChange['place']): string {
  return place
    .map(step => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1)
}
