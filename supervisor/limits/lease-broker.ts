// Answers the workers' questions for leases (keys.md 3). A question waits only while other workers may give back what it needs, or a shared
// place is asked; questions for the same limits are answered in their order.
import type { MessageSender, WorkerMessageHandlers } from '../../shared/ipc/handlers.ts'
import type { SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import type { KeySet } from '../../shared/keys/key-set.ts'
import type { Settlement } from '../../shared/limits/leases.ts'
import type { LimitTimers } from '../../shared/limits/timers.ts'
import type { CountedLimit } from './counted-limit.ts'
import type { Decision, LeaseRequest, Ledger } from './ledger.ts'

/**
 * Unused leases are back by then, however busy a worker is, and a shared place has answered twice: an exchange that already runs, and the
 * next one.
 */
const WAIT_MAX_MS = 750
/** Waiting questions for one key or group; a further one is answered at once. */
const WAITING_MAX = 1_000
/** Grants of one worker that a cancelled question may still name: what crossed on the way. */
const RECENT_GRANTS_MAX = 256

type LimitsMessageKind = 'limits-lease' | 'limits-lease-cancelled' | 'limits-settle' | 'keys-usage'

export interface LeaseBroker {
  /** For the messages about limits. */
  readonly handlers: WorkerMessageHandlers<LimitsMessageKind, MessageSender>
  /** Takes back what a worker process that has exited held. */
  releaseOwner(owner: number): void
  replaceKeys(keys: KeySet): void
  /** Answers the questions that can be answered now: a shared place has answered. */
  advance(): void
  close(): void
}

export interface LeaseBrokerDependencies {
  readonly send: (owner: number, message: SupervisorMessageContent) => void
  readonly ledger: Ledger
  readonly nowMs: () => number
  readonly timers: LimitTimers
}

interface Question extends LeaseRequest {
  readonly requestId: number
  readonly deadlineMs: number
}

/** The questions that depend on each other, the oldest first. */
interface Queue {
  questions: Question[]
  /** What they wait for. */
  blocked: ReadonlySet<CountedLimit>
  cancelTimer: (() => void) | undefined
}

export function createLeaseBroker({ send, ledger, nowMs, timers }: LeaseBrokerDependencies): LeaseBroker {
  const queues = new Map<string, Queue>()
  /** By owner, then by the id of the question. */
  const recent = new Map<number, Map<number, Settlement>>()
  /** Answers to questions for what keys use now that wait for a shared place, each with the way to cancel its deadline. */
  const usageAnswers = new Map<() => void, () => void>()
  let lastQuestionId = 0

  function ask(question: Question): void {
    const domain = ledger.domainOf(question.key)
    const queue = domain === undefined ? undefined : queues.get(domain)
    const isFull = queue !== undefined && queue.questions.length >= WAITING_MAX
    const blocked = queue?.blocked ?? new Set()
    const decision = ledger.decide(question, { blocked, mustAnswer: isFull, isExact: queue !== undefined })
    if (decision.kind !== 'waiting') answer(question, decision)
    else if (domain !== undefined) enqueue(domain, question, decision)
  }

  function enqueue(domain: string, question: Question, decision: Extract<Decision, { kind: 'waiting' }>): void {
    const queue = queues.get(domain) ?? { questions: [], blocked: new Set(), cancelTimer: undefined }
    const isFirst = queue.questions.length === 0
    queues.set(domain, queue)
    queue.questions.push(question)
    queue.blocked = new Set([...queue.blocked, ...decision.limits])
    if (isFirst) schedule(domain, queue, Math.min(decision.untilMs, question.deadlineMs))
  }

  /** Answers all questions of a queue that can be answered now. */
  function advance(domain: string, queue: Queue): void {
    queue.cancelTimer?.()
    const blocked = new Set<CountedLimit>()
    const waiting: Question[] = []
    let nextMs = Number.POSITIVE_INFINITY
    for (const question of queue.questions) {
      const mustAnswer = question.deadlineMs <= nowMs()
      const decision = ledger.decide(question, { blocked, mustAnswer, isExact: true })
      if (decision.kind === 'waiting') {
        waiting.push(question)
        for (const limit of decision.limits) blocked.add(limit)
        nextMs = Math.min(nextMs, decision.untilMs, question.deadlineMs)
      } else answer(question, decision)
    }
    queue.questions = waiting
    queue.blocked = blocked
    if (waiting.length === 0) queues.delete(domain)
    else schedule(domain, queue, nextMs)
  }

  function schedule(domain: string, queue: Queue, atMs: number): void {
    queue.cancelTimer = timers.after(Math.max(1, Math.ceil(atMs - nowMs())), () => advance(domain, queue))
  }

  function advanceAll(): void {
    for (const [domain, queue] of [...queues]) advance(domain, queue)
    if (usageAnswers.size === 0 || ledger.isReadingSpend()) return
    for (const list of [...usageAnswers.keys()]) answerUsage(list)
  }

  /** A host that has just started, or has admitted no request lately, has to ask the place what was spent. */
  function askUsage(owner: number, requestId: number): void {
    const list = () => send(owner, { kind: 'keys-usage-listed', requestId, usages: ledger.usage() })
    if (ledger.isReadingSpend())
      usageAnswers.set(
        list,
        timers.after(WAIT_MAX_MS, () => answerUsage(list))
      )
    else list()
  }

  function answerUsage(list: () => void): void {
    usageAnswers.get(list)?.()
    usageAnswers.delete(list)
    list()
  }

  function answer({ owner, requestId, key }: Question, decision: Exclude<Decision, { kind: 'waiting' }>): void {
    if (decision.kind === 'unavailable') {
      send(owner, { kind: 'limits-unavailable', requestId })
      return
    }
    if (decision.kind === 'refused') {
      send(owner, { kind: 'limits-refused', requestId, refusal: decision.refusal, meters: decision.meters })
      return
    }
    const { amounts, grantedAtMs, meters } = decision
    remember(owner, requestId, {
      key,
      grantedAtMs,
      unusedRequests: amounts.requests,
      unusedTokens: amounts.tokens,
      freedSlots: amounts.slots,
      costNanos: 0
    })
    send(owner, { kind: 'limits-granted', requestId, amounts, grantedAtMs, meters })
  }

  function remember(owner: number, requestId: number, wholeGrant: Settlement): void {
    const grants = recent.get(owner) ?? new Map<number, Settlement>()
    recent.set(owner, grants)
    grants.set(requestId, wholeGrant)
    const [oldest] = grants.keys()
    if (grants.size > RECENT_GRANTS_MAX && oldest !== undefined) grants.delete(oldest)
  }

  function settle(owner: number, settlements: readonly Settlement[]): void {
    for (const settlement of settlements) ledger.settle(owner, settlement)
    // A batch may hold many settlements of the keys of one group.
    for (const domain of new Set(settlements.map(({ key }) => ledger.domainOf(key)))) {
      const queue = domain === undefined ? undefined : queues.get(domain)
      if (domain !== undefined && queue !== undefined) advance(domain, queue)
    }
  }

  function dropQuestions(isDropped: (question: Question) => boolean): void {
    for (const [domain, queue] of [...queues]) {
      const left = queue.questions.filter(question => !isDropped(question))
      if (left.length === queue.questions.length) continue
      queue.questions = left
      advance(domain, queue)
    }
  }

  return {
    handlers: {
      'limits-lease'({ requestId, key, amounts }, { owner }) {
        ledger.forgetLease(owner, key)
        lastQuestionId += 1
        ask({ owner, requestId, key, amounts, questionId: lastQuestionId, deadlineMs: nowMs() + WAIT_MAX_MS })
      },
      'limits-lease-cancelled'({ requestId }, { owner }) {
        // A cancel may cross a grant, so it gives the lease back as well as the place in the queue.
        const granted = recent.get(owner)?.get(requestId)
        if (granted === undefined) {
          dropQuestions(question => question.owner === owner && question.requestId === requestId)
          return
        }
        recent.get(owner)?.delete(requestId)
        settle(owner, [granted])
      },
      'limits-settle': ({ settlements }, { owner }) => settle(owner, settlements),
      'keys-usage': ({ requestId }, { owner }) => askUsage(owner, requestId)
    },
    releaseOwner(owner) {
      recent.delete(owner)
      ledger.releaseOwner(owner)
      dropQuestions(question => question.owner === owner)
      advanceAll()
    },
    replaceKeys(keys) {
      const waiting = [...queues.values()].flatMap(({ questions }) => questions)
      for (const { cancelTimer } of queues.values()) cancelTimer?.()
      queues.clear()
      ledger.replaceKeys(keys)
      // A key may be in another group now, and so in another queue.
      for (const question of waiting) ask(question)
    },
    advance: advanceAll,
    close() {
      for (const { cancelTimer } of queues.values()) cancelTimer?.()
      queues.clear()
      for (const cancelTimer of usageAnswers.values()) cancelTimer()
      usageAnswers.clear()
    }
  }
}
