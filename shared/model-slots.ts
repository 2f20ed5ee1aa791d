// Concurrency limits per model: a semaphore for each, and which process holds its slots
// (operations.md 3.7). The supervisor has one pool for the host; a gateway without a supervisor has
// its own.
import type { ProviderProfile } from './profile/profile.ts'
import { listDestinations } from './profile/profile-routes.ts'
import { createSemaphore, type Semaphore } from './semaphore.ts'
import type { Settings } from './settings.ts'

/** Waiters per model. A longer queue only turns a refusal into a later timeout. */
const WAITERS_PER_MODEL_MAX = 1024

export interface SlotLimits {
  /** By the configured name, and by its folded form. */
  readonly perModel: ReadonlyMap<string, number>
  /** By slot key: models whose limit is configured under a public name, that of an alias or one with a prefix. */
  readonly perAlias?: ReadonlyMap<string, number>
  /** For models that are not listed; undefined means no limit. */
  readonly otherwise: number | undefined
  /** Undefined waits without limit, 0 refuses at once. */
  readonly acquireTimeoutMs: number | undefined
}

/**
 * Operations of which the host runs few at a time; a further one is refused at once
 * (operations.md 2.3, 9.3 and 9.5).
 */
const HOST_LIMITS = { 'log-stream': 5, 'traffic-tail': 16, replay: 1 } as const
export type HostSlot = keyof typeof HOST_LIMITS

export const hostSlotLimits: SlotLimits = {
  perModel: new Map(Object.entries(HOST_LIMITS)),
  otherwise: 0,
  acquireTimeoutMs: 0
}

/** The key of a slot that is no model's: there, the name of a profile would come first. */
export function hostSlotKey(slot: HostSlot): string {
  return `\n${slot}`
}

export function isHostSlotKey(key: string): boolean {
  return key.startsWith(KEY_SEPARATOR)
}

export type SlotOutcome = 'granted' | 'refused'

/** A claim on a slot: the worker, and the worker's number for the request. */
export interface SlotTicket {
  readonly owner: number
  readonly requestId: number
}

/** How a model uses its slots. */
export interface SlotUsage {
  readonly key: string
  readonly limit: number
  readonly held: number
  readonly waiting: number
  /** Requests that got no slot: the queue was full, or the wait too long. */
  readonly refused: number
}

/** Keys whose refusals are counted one by one; more exist only where clients invent the names of models. */
const COUNTED_KEYS_MAX = 1000

export interface SlotPool {
  /** Asks for a slot; `answer` is called once, now or later, unless the ticket is released before. */
  acquire(ticket: SlotTicket, key: string, answer: (outcome: SlotOutcome) => void): void
  /** Gives the ticket's slot back, or takes the ticket out of the queue. An unknown ticket is ignored. */
  release(ticket: SlotTicket): void
  /** Releases all tickets of an owner that has exited. */
  releaseOwner(owner: number): void
  /** Slots in use and requests in the queue, over all models. */
  counts(): { held: number; waiting: number }
  /** The models of which a slot is held or wanted now, or was refused before. */
  usage(): SlotUsage[]
  /** Refuses all waiting tickets. */
  close(): void
}

export type SlotSettings = Pick<
  Settings,
  'modelMaxConnections' | 'modelMaxConnectionsDefault' | 'modelMaxConnectionsAcquireTimeout'
>

const MODELS_PREFIX = /^(?:models\/)+/
const VERSION_SUFFIX = /:(?:latest|\d+(?:\.\d+)*)$/

/**
 * The name under which the calls of a model are counted: the same for all spellings that an upstream may accept for it, with blanks
 * around it, in another case, with the prefix `models/` or with a version such as `:2.0.28`. Only the count uses it.
 */
export function foldModelName(model: string): string {
  return model.trim().toLowerCase().replace(MODELS_PREFIX, '').replace(VERSION_SUFFIX, '')
}

/** Stands between the parts of a slot key. A profile id never holds one. */
const KEY_SEPARATOR = '\n'

/**
 * The key under which the calls of a model are counted: each profile counts on its own, and all
 * aliases of a profile that lead to one model count together (bridge.md 8.3).
 */
export function createSlotKey(profileId: string, upstreamModel: string): string {
  return `${profileId}${KEY_SEPARATOR}${foldModelName(upstreamModel)}`
}

/** The model of a slot key, or the key itself where a provider made it, such as that of an assistant. */
export function modelOf(key: string): string {
  return key.slice(key.indexOf(KEY_SEPARATOR) + 1)
}

/**
 * Returns the limits in the settings, with durations in milliseconds. A limit is configured under the name of a model or of an alias; of
 * several that apply to one model of a profile the lowest counts.
 * @param profiles those whose aliases may be named.
 */
export function slotLimitsFrom(settings: SlotSettings, profiles: readonly ProviderProfile[]): SlotLimits {
  const seconds = settings.modelMaxConnectionsAcquireTimeout
  const perModel = foldLimits(settings.modelMaxConnections)
  return {
    perModel,
    perAlias: findAliasLimits(perModel, profiles),
    otherwise: settings.modelMaxConnectionsDefault,
    acquireTimeoutMs: seconds === undefined ? undefined : seconds * 1000
  }
}

/** The configured names stay beside their keys: the key of an assistant or a stored thread is no model name and is not folded. */
function foldLimits(perModel: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
  const limits = new Map(Object.entries(perModel))
  for (const [name, limit] of Object.entries(perModel)) {
    const key = foldModelName(name)
    limits.set(key, Math.min(limit, limits.get(key) ?? limit))
  }
  return limits
}

function findAliasLimits(
  perModel: SlotLimits['perModel'],
  profiles: readonly ProviderProfile[]
): ReadonlyMap<string, number> {
  const limits = new Map<string, number>()
  function limit(profileId: string, upstreamModel: string, slots: number | undefined): void {
    if (slots === undefined) return
    const key = createSlotKey(profileId, upstreamModel)
    limits.set(key, Math.min(slots, limits.get(key) ?? slots))
  }
  for (const profile of profiles) {
    const { profileId, models, publicPrefix } = profile
    for (const alias of models) {
      if (!alias.enabled) continue
      const slots = perModel.get(foldModelName(alias.publicAlias))
      for (const one of listDestinations(profile, alias)) limit(one.profileId, one.upstreamModel, slots)
    }
    if (publicPrefix === undefined) continue
    for (const [name, slots] of perModel) {
      const isOfPrefix = name.toLowerCase().startsWith(publicPrefix.toLowerCase())
      if (isOfPrefix) limit(profileId, name.slice(publicPrefix.length), slots)
    }
  }
  return limits
}

/** Returns how many concurrent calls the model of a slot key may have, or undefined for no limit. */
export function limitOf({ perModel, perAlias, otherwise }: SlotLimits, key: string): number | undefined {
  // Asked for every request, and most gateways have no limits.
  const ofModel = perModel.size === 0 ? undefined : perModel.get(modelOf(key))
  const ofAlias = perAlias?.get(key)
  if (ofModel === undefined || ofAlias === undefined) return ofModel ?? ofAlias ?? otherwise
  return Math.min(ofModel, ofAlias)
}

/** The state of one ticket: in the queue, or with a slot once `leaveQueue` is undefined. */
interface Claim {
  readonly key: string
  readonly semaphore: Semaphore
  leaveQueue: (() => void) | undefined
}

/** Creates an empty pool. A model takes memory only while one of its slots is held or wanted. */
export function createSlotPool(limits: SlotLimits): SlotPool {
  const semaphores = new Map<string, Semaphore>()
  const claimsByOwner = new Map<number, Map<number, Claim>>()
  const refusals = new Map<string, number>()

  function semaphoreOf(key: string, slotsMax: number): Semaphore {
    const known = semaphores.get(key)
    if (known !== undefined) return known
    const waitersMax = limits.acquireTimeoutMs === 0 ? 0 : WAITERS_PER_MODEL_MAX
    const created = createSemaphore({ slotsMax, waitersMax, waitMsMax: limits.acquireTimeoutMs })
    semaphores.set(key, created)
    return created
  }

  function remember(ticket: SlotTicket, claim: Claim): void {
    const claims = claimsByOwner.get(ticket.owner) ?? new Map<number, Claim>()
    claims.set(ticket.requestId, claim)
    claimsByOwner.set(ticket.owner, claims)
  }

  function forget(ticket: SlotTicket): void {
    const claims = claimsByOwner.get(ticket.owner)
    claims?.delete(ticket.requestId)
    if (claims?.size === 0) claimsByOwner.delete(ticket.owner)
  }

  function dropIfIdle(key: string): void {
    const semaphore = semaphores.get(key)
    if (semaphore?.held === 0 && semaphore.waiting === 0) semaphores.delete(key)
  }

  function refuse(key: string, answer: (outcome: SlotOutcome) => void): void {
    const count = refusals.get(key)
    if (count !== undefined || refusals.size < COUNTED_KEYS_MAX) refusals.set(key, (count ?? 0) + 1)
    answer('refused')
  }

  function release(ticket: SlotTicket): void {
    const claim = claimsByOwner.get(ticket.owner)?.get(ticket.requestId)
    if (claim === undefined) return
    forget(ticket)
    if (claim.leaveQueue === undefined) claim.semaphore.release()
    else claim.leaveQueue()
    dropIfIdle(claim.key)
  }

  function sum(count: (semaphore: Semaphore) => number): number {
    return [...semaphores.values()].reduce((total, semaphore) => total + count(semaphore), 0)
  }

  return {
    acquire(ticket, key, answer) {
      const limit = limitOf(limits, key)
      if (limit === undefined) {
        answer('granted')
        return
      }
      const semaphore = semaphoreOf(key, limit)
      const claim: Claim = { key, semaphore, leaveQueue: undefined }
      if (semaphore.tryAcquire()) {
        remember(ticket, claim)
        answer('granted')
        return
      }
      claim.leaveQueue = semaphore.wait(isGranted => {
        claim.leaveQueue = undefined
        if (!isGranted) {
          forget(ticket)
          dropIfIdle(key)
        }
        if (isGranted) answer('granted')
        else refuse(key, answer)
      })
      if (claim.leaveQueue === undefined) refuse(key, answer)
      else remember(ticket, claim)
    },
    release,
    releaseOwner(owner) {
      for (const requestId of [...(claimsByOwner.get(owner)?.keys() ?? [])]) release({ owner, requestId })
    },
    counts: () => ({ held: sum(semaphore => semaphore.held), waiting: sum(semaphore => semaphore.waiting) }),
    usage: () =>
      [...new Set([...semaphores.keys(), ...refusals.keys()])].map(key => ({
        key,
        limit: limitOf(limits, key) ?? 0,
        held: semaphores.get(key)?.held ?? 0,
        waiting: semaphores.get(key)?.waiting ?? 0,
        refused: refusals.get(key) ?? 0
      })),
    close() {
      for (const semaphore of [...semaphores.values()]) semaphore.refuseWaiters()
    }
  }
}
