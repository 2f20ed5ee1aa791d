// Concurrency slots per model: a counting semaphore with a fair, bounded queue (operations contract, section 3.7).
// The supervisor holds one pool for the host; a gateway without a supervisor holds its own.
import type { Settings } from './settings.ts'

/** Waiters per model. A longer queue would only turn a refusal now into a timeout later. */
const WAITERS_PER_MODEL_MAX = 1024

export interface SlotLimits {
  readonly perModel: Readonly<Record<string, number>>
  /** For models that are not listed; undefined means no limit. */
  readonly otherwise: number | undefined
  /** Undefined waits without limit, 0 refuses at once. */
  readonly acquireTimeoutMs: number | undefined
}

export type SlotOutcome = 'granted' | 'refused'

/** Who asks: the worker, and its own number for this request. */
export interface SlotTicket {
  readonly owner: number
  readonly requestId: number
}

export interface SlotPool {
  /** Asks for a slot; `answer` is called once, now or later, unless the ticket is released before. */
  acquire(ticket: SlotTicket, key: string, answer: (outcome: SlotOutcome) => void): void
  /** Gives a slot back or leaves the queue, whichever the ticket is in. An unknown ticket is ignored. */
  release(ticket: SlotTicket): void
  /** Takes back everything that an owner holds or waits for: it died. */
  releaseOwner(owner: number): void
  /** Slots in use and requests in the queue, over all models. */
  counts(): { held: number; waiting: number }
  /** Refuses everybody who waits. */
  close(): void
}

export type SlotSettings = Pick<
  Settings,
  'modelMaxConnections' | 'modelMaxConnectionsDefault' | 'modelMaxConnectionsAcquireTimeout'
>

/** The limits that settings ask for; durations become milliseconds. */
export function slotLimitsFrom(settings: SlotSettings): SlotLimits {
  const seconds = settings.modelMaxConnectionsAcquireTimeout
  return {
    perModel: settings.modelMaxConnections,
    otherwise: settings.modelMaxConnectionsDefault,
    acquireTimeoutMs: seconds === undefined ? undefined : seconds * 1000
  }
}

/** How many calls a model may have at once, or undefined where nothing limits it. */
export function limitOf(limits: SlotLimits, key: string): number | undefined {
  return Object.hasOwn(limits.perModel, key) ? limits.perModel[key] : limits.otherwise
}

interface Waiter {
  readonly ticket: SlotTicket
  readonly answer: (outcome: SlotOutcome) => void
  timer: NodeJS.Timeout | undefined
}

interface ModelState {
  readonly key: string
  held: number
  readonly waiters: Waiter[]
}

/** Creates an empty pool. A model takes memory only while somebody holds or wants one of its slots. */
export function createSlotPool(limits: SlotLimits): SlotPool {
  const models = new Map<string, ModelState>()
  const ticketsByOwner = new Map<number, Map<number, ModelState>>()

  function remember(ticket: SlotTicket, model: ModelState): void {
    const own = ticketsByOwner.get(ticket.owner) ?? new Map<number, ModelState>()
    own.set(ticket.requestId, model)
    ticketsByOwner.set(ticket.owner, own)
  }

  function forget(ticket: SlotTicket): void {
    const own = ticketsByOwner.get(ticket.owner)
    own?.delete(ticket.requestId)
    if (own?.size === 0) ticketsByOwner.delete(ticket.owner)
  }

  function dropIfIdle(model: ModelState): void {
    if (model.held === 0 && model.waiters.length === 0) models.delete(model.key)
  }

  function refuse(model: ModelState, waiter: Waiter): void {
    leaveQueue(model, waiter)
    forget(waiter.ticket)
    dropIfIdle(model)
    waiter.answer('refused')
  }

  function startWaiting(model: ModelState, waiter: Waiter): void {
    model.waiters.push(waiter)
    remember(waiter.ticket, model)
    if (limits.acquireTimeoutMs === undefined) return
    waiter.timer = setTimeout(() => refuse(model, waiter), limits.acquireTimeoutMs)
    waiter.timer.unref()
  }

  function release(ticket: SlotTicket): void {
    const model = ticketsByOwner.get(ticket.owner)?.get(ticket.requestId)
    if (model === undefined) return
    forget(ticket)
    const waiter = model.waiters.find(one => isSameTicket(one.ticket, ticket))
    if (waiter !== undefined) leaveQueue(model, waiter)
    else passOn(model)
    dropIfIdle(model)
  }

  return {
    acquire(ticket, key, answer) {
      const limit = limitOf(limits, key)
      if (limit === undefined) {
        answer('granted')
        return
      }
      const model = models.get(key) ?? { key, held: 0, waiters: [] }
      models.set(key, model)
      if (model.held < limit) {
        model.held += 1
        remember(ticket, model)
        answer('granted')
      } else if (limits.acquireTimeoutMs === 0 || model.waiters.length >= WAITERS_PER_MODEL_MAX) {
        answer('refused')
      } else {
        startWaiting(model, { ticket, answer, timer: undefined })
      }
    },
    release,
    releaseOwner(owner) {
      for (const requestId of [...(ticketsByOwner.get(owner)?.keys() ?? [])]) release({ owner, requestId })
    },
    counts() {
      const all = [...models.values()]
      return {
        held: all.reduce((sum, model) => sum + model.held, 0),
        waiting: all.reduce((sum, model) => sum + model.waiters.length, 0)
      }
    },
    close() {
      for (const model of [...models.values()]) {
        for (const waiter of [...model.waiters]) refuse(model, waiter)
      }
    }
  }
}

/** A slot came free: the one who waited longest takes it over, so the count of held slots stays as it is. */
function passOn(model: ModelState): void {
  const next = model.waiters.shift()
  if (next === undefined) {
    model.held -= 1
    return
  }
  clearTimeout(next.timer)
  next.answer('granted')
}

function leaveQueue(model: ModelState, waiter: Waiter): void {
  clearTimeout(waiter.timer)
  const index = model.waiters.indexOf(waiter)
  if (index !== -1) model.waiters.splice(index, 1)
}

function isSameTicket(left: SlotTicket, right: SlotTicket): boolean {
  return left.owner === right.owner && left.requestId === right.requestId
}
