// A host in virtual time: the supervisor's service of limits, and workers with their own limiters, with messages that take their time.
import { pino } from 'pino'
import { handleMessage } from '../../shared/ipc/handlers.ts'
import { createMessage, type SupervisorMessage } from '../../shared/ipc/messages.ts'
import { readKeyLimits } from '../../shared/keys/key-limits.ts'
import type { KeySet } from '../../shared/keys/key-set.ts'
import { type KeyUsage, LIMIT_NAMES } from '../../shared/limits/leases.ts'
import type { SharedCounters } from '../../shared/limits/shared-counters.ts'
import { createLimitsService, type LimitsService } from '../../supervisor/limits/limits-service.ts'
import type { OutageMode } from '../../supervisor/limits/shared/outage.ts'
import { createLimitsChannel, type LimitsChannel, type LimitsMessage } from '../../worker/control/limits-channel.ts'
import { createLimiter, type Limiter } from '../../worker/limits/limiter.ts'
import type { LimitedKey, RequestLimits } from '../../worker/limits/request-limits.ts'
import { GatewayError } from '../../worker/normalized/index.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface HostOptions {
  readonly keys: KeySet
  readonly workers: number
  /** Milliseconds that the next message takes. */
  readonly latencyMs?: () => number
  readonly place?: SharedCounters
  readonly countsAll?: boolean
  readonly onOutage?: OutageMode
  /** The beginning of the test, in milliseconds since the epoch. */
  readonly epochMs?: number
}

export interface AdmittedRequest {
  /** The request ends: it has used these tokens and cost as much. */
  end(used?: { readonly tokens?: number; readonly costNanos?: number }): void
}

export type Admission =
  | { readonly kind: 'admitted'; readonly request: AdmittedRequest }
  | { readonly kind: 'refused'; readonly code: string; readonly retryAfterMs: number | null | undefined }

export interface LimitsHost {
  readonly service: LimitsService
  /** Lines of the log, as their events. */
  readonly events: readonly string[]
  /** Leases that the workers asked for. */
  readonly questions: number
  request(worker: number, key: string, tokens?: number): Promise<Admission>
  /** What keys use now, as the first worker learns it for the admin API. */
  usage(): Promise<readonly KeyUsage[] | undefined>
  /** The process of a worker dies, and another one takes its place. */
  kill(worker: number): void
  replaceKeys(keys: KeySet): void
}

interface WorkerProcess {
  readonly owner: number
  readonly channel: LimitsChannel
  readonly limiter: Limiter
  isDead: boolean
}

export function openLimitsHost(time: VirtualTime, options: HostOptions): LimitsHost {
  const { latencyMs = () => 0, place, countsAll = true, onOutage = 'local', epochMs = 0 } = options
  let { keys } = options
  let lastOwner = 0
  let questions = 0
  const events: string[] = []
  const log = pino({}, { write: line => void events.push(JSON.parse(line).event) })
  const clock = { nowMs: () => time.nowMs, epochMs: () => epochMs + time.nowMs }
  /** Messages of one direction keep their order. */
  const lastAtMs = new Map<string, number>()
  function deliver(way: string, run: () => void): void {
    const atMs = Math.max(lastAtMs.get(way) ?? 0, time.nowMs + latencyMs())
    lastAtMs.set(way, atMs)
    time.after(atMs - time.nowMs, run)
  }
  const service = createLimitsService(
    {
      log,
      place,
      clock,
      timers: time,
      send(owner, content) {
        const worker = workers.find(candidate => candidate.owner === owner)
        const message: SupervisorMessage = createMessage(content)
        deliver(`to ${owner}`, () => {
          if (worker !== undefined && !worker.isDead && isLimitsMessage(message)) worker.channel.receive(message)
        })
      }
    },
    { keys, workers: options.workers, countsAll, onOutage }
  )
  const workers = Array.from({ length: options.workers }, fork)

  function fork(): WorkerProcess {
    lastOwner += 1
    const owner = lastOwner
    const channel = createLimitsChannel({
      send(content) {
        if (content.kind === 'limits-lease') questions += 1
        deliver(`from ${owner}`, () => {
          if (!worker.isDead) handleMessage(service.handlers, createMessage(content), { owner })
        })
      }
    })
    const timers = { after: time.after, defer: time.defer }
    const limiter = createLimiter({
      source: channel.leases,
      monotonicMs: () => time.nowMs,
      nowMs: clock.epochMs,
      timers
    })
    const worker: WorkerProcess = { owner, channel, limiter, isDead: false }
    return worker
  }

  function findKey(name: string): LimitedKey {
    const key = keys.keys.find(candidate => candidate.name === name)
    const limits = key && readKeyLimits(key, keys)
    if (limits === undefined) throw new Error(`The key ${name} has no limits.`)
    const members = [limits.key, limits.group]
    const hasLimit = {
      requests_per_minute: members.some(({ requestsPerMinute }) => requestsPerMinute !== undefined),
      tokens_per_minute: members.some(({ tokensPerMinute }) => tokensPerMinute !== undefined),
      concurrent_requests: members.some(({ concurrentRequests }) => concurrentRequests !== undefined),
      budget: members.some(({ budget }) => budget !== undefined)
    }
    return { name, limits, limitNames: new Set(LIMIT_NAMES.filter(limit => hasLimit[limit])) }
  }

  function endOf(worker: WorkerProcess, limits: RequestLimits): AdmittedRequest {
    return {
      end({ tokens, costNanos = 0 } = {}) {
        if (worker.isDead) return
        const counts = { inputTokens: tokens, outputTokens: tokens === undefined ? undefined : 0, totalTokens: tokens }
        worker.limiter.settle(limits, { ...counts, isWhole: true, costNanos })
      }
    }
  }

  return {
    service,
    events,
    get questions() {
      return questions
    },
    async usage() {
      return await workers[0]?.channel.listUsage(new AbortController().signal)
    },
    async request(index, key, tokens = 0) {
      const worker = workers[index % workers.length]
      if (worker === undefined) throw new Error('The host has no workers.')
      const limits = worker.limiter.open(findKey(key))
      try {
        await worker.limiter.admit(limits, { input: tokens, output: 0 }, new AbortController().signal)
        return { kind: 'admitted', request: endOf(worker, limits) }
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        return { kind: 'refused', code: error.code, retryAfterMs: error.limit?.retryAfterMs }
      }
    },
    kill(index) {
      const worker = workers[index]
      if (worker === undefined) return
      worker.isDead = true
      service.releaseOwner(worker.owner)
      workers[index] = fork()
    },
    replaceKeys(next) {
      keys = next
      service.replaceKeys(next)
    }
  }
}

function isLimitsMessage(message: SupervisorMessage): message is LimitsMessage {
  return message.kind.startsWith('limits-') || message.kind === 'keys-usage-listed'
}
