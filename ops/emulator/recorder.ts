// Records received requests and counts events, within fixed bounds.
import type { IncomingHttpHeaders } from 'node:http'

export interface RecordedRequest {
  /** Increases by one with every request; a reset does not restart it. */
  sequence: number
  receivedAtMs: number
  method: string
  /** Path without the query. */
  path: string
  query: string
  /** Names in lower case, as Node delivers them. */
  headers: IncomingHttpHeaders
  /** Parsed JSON, the fields of a form, or text; `undefined` for an empty body or after the bound removed it. */
  body: unknown
  bodyBytes: number
  /** Status of the response; `null` before its head is sent. */
  status: number | null
  /** The client disconnected before the response was complete. */
  aborted: boolean
  /** The response was sent completely. */
  finished: boolean
  /** Common name of the client certificate; `null` when the client presented none. */
  clientCertificate: string | null
  /** Details of an accepted request that are probably a mistake of the client, such as an unknown state id. */
  notes: string[]
}

export interface EmulatorStats {
  openConnections: number
  connections: number
  requests: number
  activeRequests: number
  activeChatRequests: number
  activeChatRequestsMax: number
  finished: number
  aborted: number
  oauthCalls: number
  tokenCalls: number
  unauthorized: number
  unknownStateIds: number
  recorded: number
  /** Requests by method and route, such as `GET /api/v1/models/{id}`. */
  byRoute: Record<string, number>
}

const REQUESTS_MAX = 2000
/** When all recorded bodies together are larger, the oldest are removed, so that memory stays bounded in a long run. */
const BODY_BYTES_MAX = 64 * 1024 * 1024

export interface Recorder {
  readonly requests: readonly RecordedRequest[]
  readonly stats: EmulatorStats
  add: (entry: Omit<RecordedRequest, 'sequence'>) => RecordedRequest
  setBody: (record: RecordedRequest, body: unknown, bytes: number) => void
  countRoute: (route: string) => void
  connectionOpened: () => void
  connectionClosed: () => void
  chatStarted: () => void
  chatEnded: () => void
  ended: (record: RecordedRequest, outcome: 'finished' | 'aborted' | 'broken') => void
  /** Resolves when the condition holds; it is evaluated after every change. Rejects after `timeoutMs`. */
  waitFor: (condition: () => boolean, timeoutMs: number) => Promise<void>
  reset: () => void
  close: () => void
}

/** Creates a recorder that keeps the newest 2000 requests. */
export function createRecorder(): Recorder {
  let requests: RecordedRequest[] = []
  let sequence = 0
  // Bodies up to this sequence number are removed and no longer counted in `bodyBytes`.
  let releasedSequence = 0
  let bodyBytes = 0
  const waiters = new Set<{ check: () => void; fail: () => void }>()
  const stats = createStats()

  const changed = () => {
    if (waiters.size > 0) for (const waiter of [...waiters]) waiter.check()
  }
  const release = (record: RecordedRequest) => {
    if (record.sequence <= releasedSequence) return
    releasedSequence = record.sequence
    bodyBytes -= record.bodyBytes
  }
  const releaseOldBodies = () => {
    for (const record of requests) {
      if (bodyBytes <= BODY_BYTES_MAX) return
      release(record)
      record.body = undefined
    }
  }

  return {
    get requests() {
      return requests
    },
    get stats() {
      stats.recorded = requests.length
      return stats
    },
    add(entry) {
      const record: RecordedRequest = { sequence: ++sequence, ...entry }
      requests.push(record)
      const oldest = requests.length > REQUESTS_MAX ? requests.shift() : undefined
      if (oldest !== undefined) release(oldest)
      stats.requests++
      stats.activeRequests++
      changed()
      return record
    },
    setBody(record, body, bytes) {
      record.bodyBytes = bytes
      if (record.sequence > releasedSequence) {
        record.body = body
        bodyBytes += bytes
        if (bodyBytes > BODY_BYTES_MAX) releaseOldBodies()
      }
      changed()
    },
    countRoute(route) {
      stats.byRoute[route] = (stats.byRoute[route] ?? 0) + 1
    },
    connectionOpened() {
      stats.connections++
      stats.openConnections++
      changed()
    },
    connectionClosed() {
      stats.openConnections--
      changed()
    },
    chatStarted() {
      stats.activeChatRequests++
      if (stats.activeChatRequests > stats.activeChatRequestsMax) stats.activeChatRequestsMax = stats.activeChatRequests
      changed()
    },
    chatEnded() {
      stats.activeChatRequests--
      changed()
    },
    ended(record, outcome) {
      stats.activeRequests--
      record.finished = outcome === 'finished'
      record.aborted = outcome === 'aborted'
      if (outcome === 'finished') stats.finished++
      if (outcome === 'aborted') stats.aborted++
      changed()
    },
    waitFor(condition, timeoutMs) {
      if (condition()) return Promise.resolve()
      return new Promise((resolve, reject) => {
        const settle = (finish: () => void) => {
          clearTimeout(timer)
          waiters.delete(waiter)
          finish()
        }
        const waiter = {
          check: () => {
            if (condition()) settle(resolve)
          },
          fail: () => settle(() => reject(new Error('the emulator was closed')))
        }
        const timer = setTimeout(() => {
          settle(() => reject(new Error(`the condition did not hold within ${timeoutMs} ms`)))
        }, timeoutMs)
        waiters.add(waiter)
      })
    },
    reset() {
      requests = []
      bodyBytes = 0
      releasedSequence = sequence
      const { openConnections, activeRequests, activeChatRequests } = stats
      Object.assign(stats, createStats(), { openConnections, activeRequests, activeChatRequests })
      stats.activeChatRequestsMax = activeChatRequests
      changed()
    },
    close() {
      for (const waiter of [...waiters]) waiter.fail()
    }
  }
}

function createStats(): EmulatorStats {
  return {
    openConnections: 0,
    connections: 0,
    requests: 0,
    activeRequests: 0,
    activeChatRequests: 0,
    activeChatRequestsMax: 0,
    finished: 0,
    aborted: 0,
    oauthCalls: 0,
    tokenCalls: 0,
    unauthorized: 0,
    unknownStateIds: 0,
    recorded: 0,
    byRoute: {}
  }
}
