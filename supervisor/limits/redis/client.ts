// The connection to Redis or Valkey: carries out exchanges, bounds each wait, and connects again after growing pauses (keys.md 3).
import { getCACertificates } from 'node:tls'
import { createClient, ErrorReply } from '@redis/client'
import { withDeadline } from '../../../shared/deadline.ts'
import type { RedisAddress } from '../../../shared/limits/redis-url.ts'
import {
  type CounterAnswer,
  type CounterQuestion,
  EXCHANGE_MS_MAX,
  type SharedCounters
} from '../../../shared/limits/shared-counters.ts'
import type { Logger } from '../../../shared/logging.ts'
import { type ExchangeOptions, type ExchangeReply, readReply, writeExchange } from './exchange-format.ts'
import { createOutageLog, ExchangeTimeoutError, explainError, UnexpectedReplyError } from './failures.ts'
import { EXCHANGE_SCRIPT, EXCHANGE_SCRIPT_SHA1 } from './scripts.ts'

const CONNECT_MS_MAX = 1_000
/** Pauses between attempts to connect: the first, and the longest. */
const PAUSE_MIN_MS = 100
const PAUSE_MAX_MS = 3_000
/** Finds a dead connection while nothing is asked. */
const HEARTBEAT_MS = 5_000
/** The longest wait for an answer to the last exchanges. */
const DRAIN_MS_MAX = 300

export interface RedisCountersDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
}

export interface RedisCountersOptions extends ExchangeOptions {
  readonly address: RedisAddress
}

export interface RedisCounters extends SharedCounters {
  /** As `exchange`, with the time of the server. */
  ask(exchangeId: string, questions: readonly CounterQuestion[]): Promise<ExchangeReply | undefined>
  /** Resolves when the first attempt to connect has ended, well or not. */
  readonly tried: Promise<void>
  /** Gives back the slots that this gateway holds, and disconnects. */
  close(): Promise<void>
}

type Client = ReturnType<typeof connectClient>

/** Connects at once; an exchange before there is a connection has no answer. */
export function createRedisCounters(
  { log, nowMs, random }: RedisCountersDependencies,
  { address, ...options }: RedisCountersOptions
): RedisCounters {
  const outages = createOutageLog({ log, nowMs })
  /** Slots that this gateway holds. */
  const held = new Set<string>()
  const running = new Set<Promise<unknown>>()
  const tried = Promise.withResolvers<void>()
  let client: Client | undefined
  let isReady = false
  let isClosing = false
  let failedAttempts = 0
  let pause: NodeJS.Timeout | undefined
  const heartbeat = setInterval(() => void ask('heartbeat', []), HEARTBEAT_MS).unref()

  async function connect(): Promise<void> {
    const opened = connectClient(address, error => lose(opened, error))
    client = opened
    try {
      await within(CONNECT_MS_MAX, opened.connect())
      // A replica, a user without rights, a server without scripts: found before anything is asked.
      await within(CONNECT_MS_MAX, run(opened, 'heartbeat', []))
      if (client !== opened) return
      isReady = true
      failedAttempts = 0
      outages.noteAnswer()
    } catch (error) {
      lose(opened, error)
    } finally {
      tried.resolve()
    }
  }

  /** Ends this connection, once, and plans the next one. */
  function lose(lost: Client, error: unknown): void {
    if (client !== lost) return
    client = undefined
    isReady = false
    lost.destroy()
    if (isClosing) return
    outages.note(explainError(error))
    const longestMs = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(failedAttempts, 10))
    failedAttempts += 1
    pause = setTimeout(() => void connect(), longestMs * (0.5 + random() / 2))
  }

  async function ask(exchangeId: string, questions: readonly CounterQuestion[]): Promise<ExchangeReply | undefined> {
    const asked = client
    if (asked === undefined || !isReady) return undefined
    for (const question of questions) {
      if (question.kind !== 'slots') continue
      if (question.hold > 0) held.add(question.counter)
      else held.delete(question.counter)
    }
    const reply = run(asked, exchangeId, questions)
    running.add(reply)
    try {
      const answered = await within(EXCHANGE_MS_MAX, reply)
      if (questions.length > 0) outages.noteAnswer()
      return answered
    } catch (error) {
      const failure = explainError(error)
      if (failure.isLost) lose(asked, error)
      else outages.note(failure)
      return undefined
    } finally {
      running.delete(reply)
    }
  }

  async function run(asked: Client, exchangeId: string, questions: readonly CounterQuestion[]): Promise<ExchangeReply> {
    const exchange = writeExchange(exchangeId, questions, options)
    const reply = await asked
      .evalSha(EXCHANGE_SCRIPT_SHA1, exchange)
      // The server does not know the script after a restart, and after its scripts were flushed.
      .catch((error: unknown) => {
        if (!isMissingScript(error)) throw error
        return asked.eval(EXCHANGE_SCRIPT, exchange)
      })
    const read = readReply(reply, questions)
    if (read === undefined) throw new UnexpectedReplyError()
    return read
  }

  async function exchange(
    exchangeId: string,
    questions: readonly CounterQuestion[]
  ): Promise<readonly CounterAnswer[] | undefined> {
    return (await ask(exchangeId, questions))?.answers
  }

  void connect()
  return {
    exchange,
    ask,
    tried: tried.promise,
    async close() {
      isClosing = true
      clearInterval(heartbeat)
      clearTimeout(pause)
      await withDeadline(Promise.allSettled(running), DRAIN_MS_MAX)
      await ask(
        'close',
        [...held].map(counter => ({ kind: 'slots', counter, limit: 0, hold: 0 }))
      )
      const last = client
      client = undefined
      last?.destroy()
    }
  }
}

function connectClient(
  { isTls, host, port, user, password, database }: RedisAddress,
  onError: (error: unknown) => void
) {
  // The authorities of Node, of NODE_EXTRA_CA_CERTS and of the system: an internal server often has a certificate of an internal one.
  const ca = isTls ? [...new Set([...getCACertificates('default'), ...getCACertificates('system')])] : []
  const common = { host, port, connectTimeout: CONNECT_MS_MAX, reconnectStrategy: false } as const
  const client = createClient({
    RESP: 2,
    socket: isTls ? { ...common, tls: true, ca } : common,
    database,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password })
  })
  // Without a listener an error would end the process.
  client.on('error', onError)
  return client
}

async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const expired = Symbol('expired')
  // Without this handler a rejection after the deadline would end the process.
  work.catch(() => undefined)
  const result = await withDeadline(work, ms, expired)
  if (result === expired) throw new ExchangeTimeoutError()
  return result as Result
}

function isMissingScript(error: unknown): boolean {
  return error instanceof ErrorReply && error.message.startsWith('NOSCRIPT')
}
