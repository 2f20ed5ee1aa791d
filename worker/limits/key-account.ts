// The leases of one key in one worker, and the requests that wait for them (keys.md 3). A request takes what it needs from the lease that
// the worker holds; where that is short, the rest of it is given back and the supervisor is asked, with one question for all requests that
// wait. One question runs at a time.
import { addAmounts, NO_AMOUNTS } from '../../shared/limits/amounts.ts'
import type { LeaseAmounts, LeaseAnswer, LeaseSource, Meters } from '../../shared/limits/leases.ts'
import { covers, isNothing, isRefusedToo, subtractAmounts } from './amounts.ts'
import { createKeyMeters } from './key-meters.ts'

export interface Reservation {
  readonly amounts: LeaseAmounts
  /** When the supervisor granted it, by its own clock. */
  readonly grantedAtMs: number
}

export type Refused = Exclude<LeaseAnswer, { kind: 'granted' }>

/** A request that waits. */
export interface Waiter {
  readonly amounts: LeaseAmounts
  /** It has left: what is granted for it stays in the lease. */
  readonly isOver: boolean
  admit(reservation: Reservation): void
  refuse(answer: Refused): void
}

export interface KeyAccountOptions {
  readonly name: string
  readonly lease: LeaseSource['lease']
  readonly nowMs: () => number
  /** Gives back what of a lease was not used. */
  readonly giveBack: (reservation: Reservation) => void
  /** The lease that is held now may become old. */
  readonly onHeld: () => void
  readonly leaseAgeMaxMs: number
}

interface HeldLease {
  rest: LeaseAmounts
  readonly grantedAtMs: number
  readonly oldAtMs: number
}

export class KeyAccount {
  readonly #options: KeyAccountOptions
  readonly #meters = createKeyMeters()
  #lease: HeldLease | undefined
  /** Requests that were not asked for. */
  #waiters: Waiter[] = []
  /** Ends the question that runs. */
  #question: AbortController | undefined
  /** The requests of that question. */
  #asked: readonly Waiter[] = []
  #isRunning = false

  constructor(options: KeyAccountOptions) {
    this.#options = options
  }

  /** When the lease that is held becomes old; undefined where none is held. */
  get oldAtMs(): number | undefined {
    return this.#lease?.oldAtMs
  }

  /** What the request needs, from the lease that is held; undefined where that is short, or other requests wait. */
  take(amounts: LeaseAmounts): Reservation | undefined {
    return this.#isRunning || this.#waiters.length > 0 ? undefined : this.#takeFromLease(amounts)
  }

  /** Call `ask` at the end of the turn. */
  wait(waiter: Waiter): void {
    this.#waiters.push(waiter)
  }

  /** A request has left: where it was the last one of a question, the question ends. */
  leave(): void {
    if (this.#asked.length > 0 && this.#asked.every(({ isOver }) => isOver)) this.#question?.abort()
  }

  /** Asks for all requests that wait, unless a question runs already. */
  ask(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#run().finally(() => {
      this.#isRunning = false
    })
  }

  /** Gives back what is left of the lease. */
  giveBack(): void {
    const lease = this.#lease
    this.#lease = undefined
    if (lease !== undefined) this.#options.giveBack({ amounts: lease.rest, grantedAtMs: lease.grantedAtMs })
  }

  /** A request has used less than was reserved for it, or more where it is negative. */
  noteUnused(tokens: number): void {
    this.#meters.take({ requests: 0, tokens: -tokens })
  }

  readMeters(): Meters | undefined {
    return this.#meters.read(this.#options.nowMs())
  }

  async #run(): Promise<void> {
    /** Requests that were refused together, in the order in which they came. */
    const groups: Waiter[][] = []
    for (;;) {
      const group = (groups.shift() ?? this.#takeWaiters()).filter(waiter => !waiter.isOver && !this.#serve(waiter))
      if (group.length > 0) await this.#askFor(group, groups)
      else if (groups.length === 0 && this.#waiters.length === 0) return
    }
  }

  #takeWaiters(): Waiter[] {
    const waiters = this.#waiters
    this.#waiters = []
    return waiters
  }

  /** Where several requests are refused together, a part of them may fit: each half is asked for again. */
  async #askFor(group: Waiter[], groups: Waiter[][]): Promise<void> {
    const answer = await this.#askSupervisor(group)
    if (answer === undefined) return
    switch (answer.kind) {
      case 'granted':
        this.#hold(answer)
        this.#serveAll(group, groups)
        return
      case 'refused':
        this.#meters.note(answer.meters, NO_AMOUNTS, this.#options.nowMs())
        if (group.length > 1) splitGroup(group, groups)
        else for (const waiter of group) this.#refuseAlike(waiter, answer, groups)
        return
      case 'unavailable':
        for (const waiter of [...group, ...groups.flat(), ...this.#takeWaiters()]) waiter.refuse(answer)
        groups.length = 0
    }
  }

  /** Undefined where all requests have left. */
  async #askSupervisor(group: readonly Waiter[]): Promise<LeaseAnswer | undefined> {
    this.giveBack()
    const question = new AbortController()
    this.#question = question
    this.#asked = group
    try {
      const amounts = group.reduce((sum, waiter) => addAmounts(sum, waiter.amounts), NO_AMOUNTS)
      return await this.#options.lease(this.#options.name, amounts, question.signal)
    } catch (error) {
      if (question.signal.aborted) return undefined
      throw error
    } finally {
      this.#question = undefined
      this.#asked = []
    }
  }

  /** A request is refused, and those that want as much of what it lacks get the same answer. */
  #refuseAlike(refused: Waiter, answer: Extract<Refused, { kind: 'refused' }>, groups: Waiter[][]): void {
    const isAlike = ({ amounts }: Waiter) => isRefusedToo(answer.refusal.limit, refused.amounts, amounts)
    for (const waiter of [refused, ...groups.flat(), ...this.#waiters]) if (isAlike(waiter)) waiter.refuse(answer)
    for (const group of groups) group.splice(0, group.length, ...group.filter(waiter => !isAlike(waiter)))
    this.#waiters = this.#waiters.filter(waiter => !isAlike(waiter))
  }

  #hold({ amounts, grantedAtMs, meters }: Extract<LeaseAnswer, { kind: 'granted' }>): void {
    const nowMs = this.#options.nowMs()
    this.#meters.note(meters, amounts, nowMs)
    this.#lease = { rest: amounts, grantedAtMs, oldAtMs: nowMs + this.#options.leaseAgeMaxMs }
  }

  /**
   * Admits all requests of a question from its lease. The supervisor bounds a question by the whole limit, so that requests of one turn may
   * be more than that: the rest is asked for again.
   */
  #serveAll(group: Waiter[], groups: Waiter[][]): void {
    const rest = group.filter(waiter => !waiter.isOver && !this.#serve(waiter))
    if (this.#lease !== undefined) this.#options.onHeld()
    if (rest.length > 0 && rest.length < group.length) groups.unshift(rest)
    else if (rest.length > 1) splitGroup(rest, groups)
    else for (const waiter of rest) this.#admitAlone(waiter)
  }

  /** The lease is for this request alone, and has less than was asked for, because the limit was lowered after the question. */
  #admitAlone(waiter: Waiter): void {
    const lease = this.#lease
    this.#lease = undefined
    if (lease === undefined) return
    this.#meters.take(lease.rest)
    waiter.admit({ amounts: lease.rest, grantedAtMs: lease.grantedAtMs })
  }

  /** Admits a request from the lease that is held. */
  #serve(waiter: Waiter): boolean {
    const reservation = this.#takeFromLease(waiter.amounts)
    if (reservation !== undefined) waiter.admit(reservation)
    return reservation !== undefined
  }

  #takeFromLease(amounts: LeaseAmounts): Reservation | undefined {
    const lease = this.#lease
    if (lease === undefined || !covers(lease.rest, amounts)) return undefined
    if (lease.oldAtMs <= this.#options.nowMs()) return undefined
    lease.rest = subtractAmounts(lease.rest, amounts)
    this.#meters.take(amounts)
    if (isNothing(lease.rest)) this.#lease = undefined
    return { amounts, grantedAtMs: lease.grantedAtMs }
  }
}

/** Puts the two halves in front of the groups that wait. */
function splitGroup(group: readonly Waiter[], groups: Waiter[][]): void {
  const half = Math.ceil(group.length / 2)
  groups.unshift(group.slice(0, half), group.slice(half))
}
