// Passes records to the queue of every sink, and queries to the relational store.
import { withDeadline } from '../../shared/deadline.ts'
import type { Logger } from '../../shared/logging.ts'
import type {
  Answer,
  MirrorOutcome,
  Question,
  QuestionName,
  SinkHealth,
  TrafficQuestions
} from '../../shared/traffic/messages.ts'
import {
  type PageRequest,
  type StoreStatus,
  summarize,
  type TrafficPayload,
  type TrafficQueries,
  type TrafficSummary
} from '../../shared/traffic/query.ts'
import type { TrafficRecord } from '../../shared/traffic/record.ts'
import type { ReopeningSink } from './reopening-sink.ts'
import { QuestionFailedError, type TrafficService } from './server.ts'
import type { RedactableSink, RelationalStore } from './sink.ts'
import type { SinkQueue } from './sink-queue.ts'

export interface ServiceParts {
  readonly log: Logger
  readonly queues: readonly SinkQueue[]
  /** Undefined where no relational sink is configured. */
  readonly store: ReopeningSink<RelationalStore> | undefined
  /** Further sinks in which a redaction has to be repeated. */
  readonly mirrors: ReadonlyArray<ReopeningSink<RedactableSink>>
}

type Answers = { readonly [Name in QuestionName]: (question: Question<Name>) => Promise<Answer<Name>> }

/** Creates the service of open sinks; its owner closes the queues. */
export function createTrafficService({ log, queues, store, mirrors }: ServiceParts): TrafficService {
  const followers = new Set<(summaries: readonly TrafficSummary[]) => void>()

  async function useStore(): Promise<RelationalStore> {
    if (store === undefined) throw new QuestionFailedError('query_store_not_configured')
    return store.use()
  }

  const answers: Answers = {
    list: async page => (await useStore()).queries.list(page),
    estimate: async ({ filter }) => (await useStore()).queries.estimate(filter),
    latencies: async ({ filter }) => (await useStore()).queries.latencies(filter),
    'list-whole': async page => listWhole((await useStore()).queries, page),
    settle,
    find: async ({ id }) => (await (await useStore()).queries.find(id)) ?? null,
    'find-payload': async ({ id }) => (await (await useStore()).queries.findPayload(id)) ?? null,
    'count-expired': async cutoffs => (await useStore()).queries.countExpired(cutoffs),
    sums: async request => (await useStore()).queries.sums(request),
    purge: async request => (await useStore()).purge(request),
    redact,
    async audit(entry) {
      await (await useStore()).audit(entry)
      return null
    },
    health: async () => ({ sinks: queues.map(readHealth), store: await readStoreStatus() })
  }

  async function readStoreStatus(): Promise<StoreStatus | null> {
    if (store === undefined) return null
    // An unavailable store is a state, and a store that does not respond must not delay the states
    // of the others.
    const status = store.use().then(
      ({ queries }) => queries.readStatus({}),
      () => null
    )
    return withDeadline(status, STATUS_MS_MAX, null).catch(() => null)
  }

  async function settle(): Promise<null> {
    const queue = queues.find(({ name, isAvailable }) => name === store?.name && isAvailable)
    if (queue !== undefined) await withDeadline(queue.flush(), SETTLE_MS_MAX)
    return null
  }

  async function redact({ id, fields, redactedAt }: TrafficQuestions['redact']['question']): Promise<Answer<'redact'>> {
    const { queries, redact: redactRecord } = await useStore()
    const metadata = { manual_redaction: { fields: [...fields].sort(), redacted_at: redactedAt } }
    if (!(await redactRecord(id, fields, metadata))) return null
    const outcomes: Record<string, MirrorOutcome> = {}
    for (const mirror of mirrors) {
      try {
        const redacting = mirror.use().then(sink => sink.redact(id, fields, metadata))
        const isFound = await withDeadline(redacting, MIRROR_MS_MAX)
        if (isFound === undefined) throw new Error(`The mirror did not answer within ${MIRROR_MS_MAX} ms.`)
        outcomes[mirror.name] = isFound ? 'redacted' : 'not_stored'
      } catch (error) {
        log.warn({ event: 'traffic_redaction_failed', sink: mirror.name, err: error }, 'A mirror kept redacted content')
        outcomes[mirror.name] = 'failed'
      }
    }
    const [summary, payload] = await Promise.all([queries.find(id), queries.findPayload(id)])
    if (summary === undefined || payload === undefined) return null
    return {
      summary,
      emptied: {
        request_headers: payload.request_headers === null,
        request_body: payload.request_body === null,
        response_body: payload.response_body === null
      },
      mirrors: outcomes
    }
  }

  return {
    async store(records, bytes, source) {
      if (followers.size > 0) passOn(records)
      await Promise.all(queues.map(queue => queue.accept(records, bytes, source)))
    },
    async flush(source) {
      await Promise.all(queues.map(queue => queue.flush()))
      for (const queue of queues) queue.release(source)
    },
    release(source) {
      for (const queue of queues) queue.release(source)
    },
    answer: (name, question) => {
      // A name comes from another process: what every object inherits is no question.
      if (!Object.hasOwn(answers, name)) return Promise.reject(new QuestionFailedError('unknown_question'))
      // Each function of the table takes the question of its own name.
      return (answers[name] as (question: Question) => Promise<Answer>)(question)
    },
    follow(listener) {
      followers.add(listener)
      return () => followers.delete(listener)
    }
  }

  function passOn(records: readonly TrafficRecord[]): void {
    const summaries = records.map(summarize)
    for (const follower of followers) follower(summaries)
  }
}

/** Content of a page, in UTF-16 units: a page is one line to the worker. */
const PAGE_CHARACTERS_MAX = 4 * 1024 * 1024
const SETTLE_MS_MAX = 1_000
const STATUS_MS_MAX = 1_000
/**
 * Time limit of all redaction calls to one mirror: the store is already redacted, and the result
 * must arrive before the worker stops waiting.
 */
const MIRROR_MS_MAX = 10_000

/** The records of a page with their content, up to the size of one result. */
async function listWhole(queries: TrafficQueries, page: PageRequest): Promise<Answer<'list-whole'>> {
  const whole: Answer<'list-whole'> = []
  let characters = 0
  for (const summary of await queries.list(page)) {
    const payload = (await queries.findPayload(summary.id)) ?? NO_PAYLOAD
    whole.push({ ...summary, ...payload })
    characters += JSON.stringify(payload).length
    if (characters >= PAGE_CHARACTERS_MAX) break
  }
  return whole
}

const NO_PAYLOAD: TrafficPayload = { request_headers: null, request_body: null, response_body: null }

function readHealth(queue: SinkQueue): SinkHealth {
  const { written, dropped } = queue.counts
  return {
    name: queue.name,
    isAvailable: queue.isAvailable,
    queueDepth: queue.depth,
    spillBytes: queue.spillBytes,
    written,
    dropped
  }
}
