// The admin API over stored traffic records (operations.md 9). Loaded only where
// `GATEWAY_ADMIN_API_ENABLED` is on; every route needs the admin key, and every action is audited.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { describeProviders } from '../../shared/documents/provider-documents.ts'
import type { Estimate, TrafficPayload, TrafficSummary } from '../../shared/traffic/query.ts'
import { writeRecordTime } from '../../shared/traffic/record.ts'
import { readVersion } from '../../shared/version.ts'
import { type Audited, createAudit, digestFilter } from '../admin/audit.ts'
import { writeCursor } from '../admin/cursor.ts'
import { type DispatchedResponse, dispatch } from '../admin/dispatch.ts'
import { sendCsv, sendNdjson } from '../admin/export.ts'
import { readLogId } from '../admin/log-id.ts'
import { readHealth, showSums } from '../admin/overview.ts'
import { purge } from '../admin/purge.ts'
import {
  EXPORT_LIMITS,
  LIST_LIMITS,
  type PageQuery,
  QUERY_NAMES,
  readFilterQuery,
  readPageQuery,
  readPurgeQuery,
  readSumsQuery,
  readTailLimit
} from '../admin/queries.ts'
import { createQueryStore } from '../admin/query-store.ts'
import { readRedactedFields, showRedaction } from '../admin/redact.ts'
import { createReplays, REPLAY_BYTES_MAX, readReplayBody, readReplayOptions, readReplayPath } from '../admin/replay.ts'
import { showRunning } from '../admin/running.ts'
import { showSummary } from '../admin/show.ts'
import { streamTail } from '../admin/tail.ts'
import { showTime } from '../admin/timestamps.ts'
import { shuttingDown } from '../http/drain-gate.ts'
import { GatewayError } from '../normalized/index.ts'
import { adminRoute, sendDocument } from './admin-route.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

const ROOT = '/_admin/logs'

/** The query parameters of each path; the others take none. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  '': QUERY_NAMES.page,
  '/tail': QUERY_NAMES.tail,
  '/export.ndjson': QUERY_NAMES.page,
  '/export.csv': QUERY_NAMES.page,
  '/sums': QUERY_NAMES.sums,
  '/latencies': QUERY_NAMES.latencies,
  '/retention/purge': QUERY_NAMES.purge
}

/** The parts of a worker that the admin API uses. */
export type AdminRuntime = Pick<
  WorkerRuntime,
  'settings' | 'profiles' | 'log' | 'fingerprint' | 'clock' | 'control' | 'drainGate' | 'writer' | 'memory' | 'keyRing'
>

/** Mounts every admin route; the literal paths win over those with an id. */
export function registerAdminRoutes(app: FastifyInstance, runtime: AdminRuntime): void {
  const { settings, profiles, clock, control, drainGate, writer, memory, keyRing } = runtime
  const store = createQueryStore(settings, writer)
  const audit = createAudit({ ...runtime, connection: writer, nowMs: clock.nowMs })
  const replays = createReplays(settings, keyRing)

  function mount(method: 'GET' | 'POST', path: string, handler: RouteOptions['handler']): void {
    app.route({ ...adminRoute(method, ROOT + path, PARAMETERS[path]), handler })
  }

  /** Mounts a route that responds with one JSON value. */
  function mountJson(method: 'GET' | 'POST', path: string, write: (request: FastifyRequest) => Promise<object>): void {
    mount(method, path, async (request, reply) => sendDocument(reply, await write(request)))
  }

  /** A record that was made a moment ago may still wait in the writer. */
  async function find(id: string): Promise<TrafficSummary> {
    const found = await store.ask('find', { id })
    if (found !== null) return found
    await store.ask('settle', {})
    const settled = await store.ask('find', { id })
    if (settled === null) throw new GatewayError('log_not_found')
    return settled
  }

  async function findPayload(id: string): Promise<TrafficPayload> {
    await find(id)
    const payload = await store.ask('find-payload', { id })
    if (payload === null) throw new GatewayError('log_not_found')
    return payload
  }

  async function sendList({ context }: FastifyRequest, reply: FastifyReply): Promise<void> {
    const query = readPageQuery(context.query, LIST_LIMITS)
    const { filter, start, limit, cursor } = query
    await audit.run(context, { action: 'list', target: digestFilter(filter) }, async result => {
      const [page, estimate] = await Promise.all([
        store.ask('list', { filter, start, limit }),
        store.ask('estimate', { filter })
      ])
      result.rows = page.length
      const list = { data: page.map(showSummary), limit, cursor, next_cursor: findNextCursor(query, page) }
      sendDocument(reply, list, { 'x-total-estimate': showEstimate(estimate) })
    })
  }

  async function sendTail(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { context, method } = request
    const limit = readTailLimit(context.query)
    const wantsEvents = method === 'GET' && acceptsEvents(request)
    await audit.run(context, { action: 'tail' }, async result => {
      if (wantsEvents) {
        result.rows = await followTail(request, reply, limit)
        return
      }
      const page = await store.ask('list', { filter: {}, start: { kind: 'offset', offset: 0 }, limit })
      result.rows = page.length
      sendDocument(reply, { data: page.map(showSummary), limit })
    })
  }

  async function followTail({ context, headers }: FastifyRequest, reply: FastifyReply, limit: number): Promise<number> {
    if (drainGate.isDraining) throw shuttingDown()
    // Without a writer there is nothing to follow; the question says why.
    if (writer === undefined) {
      await store.ask('settle', {})
      throw new GatewayError('query_store_unavailable')
    }
    const release = await control.acquireHostSlot('traffic-tail', context.signal)
    if (release === null) throw context.signal.reason ?? new GatewayError('too_many_streams')
    try {
      const lastId = readLastId(headers['last-event-id'])
      return await streamTail({ reply, store, connection: writer, drainGate }, { limit, lastId })
    } finally {
      release()
    }
  }

  async function sendExport(request: FastifyRequest, reply: FastifyReply, send: typeof sendCsv): Promise<void> {
    const query = readPageQuery(request.context.query, EXPORT_LIMITS)
    await audit.run(request.context, { action: 'export', target: digestFilter(query.filter) }, async result => {
      result.rows = await send(reply, store, query)
      result.failure = request.context.failure?.code
    })
  }

  async function replay({ context }: FastifyRequest, id: string): Promise<object> {
    const summary = await find(id)
    const path = readReplayPath(summary)
    const body = readReplayBody(summary, await store.ask('find-payload', { id }))
    const options = readReplayOptions(context.body, settings)
    if (drainGate.isDraining) throw shuttingDown()
    const release = await control.acquireHostSlot('replay', context.signal)
    if (release === null) throw context.signal.reason ?? new GatewayError('replay_in_progress')
    try {
      const mark = {
        source_log_id: id,
        source_request_id: summary.request_id,
        replayed_at: showTime(writeRecordTime(clock.nowMs()))
      }
      const request = replays.plan({ summary, path, body, options, mark })
      const response = await dispatch(app.routing, request, {
        bytesMax: REPLAY_BYTES_MAX,
        timeoutMs: options.timeoutMs,
        signal: context.signal
      }).catch(refuseReplay)
      return replays.show({ id, request, mark, summary }, response)
    } finally {
      release()
    }
  }

  mount('GET', '', sendList)
  mount('GET', '/tail', sendTail)
  mount('GET', '/export.ndjson', (request, reply) => sendExport(request, reply, sendNdjson))
  mount('GET', '/export.csv', (request, reply) => sendExport(request, reply, sendCsv))
  mountJson('GET', '/sums', ({ context }) => {
    const query = readSumsQuery(context.query, clock.nowMs())
    const { limit: _limit, ...filter } = query
    return audit.run(context, { action: 'sums', target: digestFilter(filter) }, async result => {
      const rows = await store.ask('sums', query)
      result.rows = rows.length
      return showSums(query, rows)
    })
  })
  mountJson('GET', '/latencies', ({ context }) => {
    const filter = readFilterQuery(context.query)
    return audit.run(context, { action: 'latencies', target: digestFilter(filter) }, async result => {
      const latencies = await store.ask('latencies', { filter })
      result.rows = latencies.records
      return latencies
    })
  })
  // Not audited: it shows no record, and dashboards ask all the time.
  // Read once: health is asked for again and again, also where the process has no descriptor left.
  const version = readVersion()
  mountJson('GET', '/health', () => readHealth({ settings, version, writer, memory }))
  // Nor is this: it shows no content, and a page asks again and again.
  mountJson('GET', '/running', async ({ context }) => {
    const running = await control.listRunning(context.signal)
    if (running === undefined) throw new GatewayError('gateway_overloaded', { retryAfter: '1' })
    return showRunning(running, clock.nowMs())
  })
  // Nor is this, for the same reason: it names no caller and no content.
  mountJson('GET', '/providers', async () => {
    const catalog = control.catalogSnapshot()
    return { data: describeProviders({ profiles, healths: control.providerHealth(), catalog }) }
  })
  mountJson('POST', '/retention/purge', ({ context }) => {
    const query = readPurgeQuery(context.query, settings)
    return audit.run(context, { action: 'purge', target: query.isDryRun ? 'dry_run' : undefined }, async result => {
      const purged = await purge(store, query, { nowMs: clock.nowMs(), signal: context.signal })
      result.rows = purged.expired ?? purged.deleted
      return purged
    })
  })
  mountJson('GET', '/:id', request => {
    const id = readPathId(request)
    return audit.run(request.context, aimAt('get', id), async () => showSummary(await find(id)))
  })
  mountJson('GET', '/:id/request', request => {
    const id = readPathId(request)
    return audit.run(request.context, aimAt('payload_read', id), async () => {
      const { request_headers, request_body } = await findPayload(id)
      return { id, request_headers, request_body }
    })
  })
  mountJson('GET', '/:id/response', request => {
    const id = readPathId(request)
    return audit.run(request.context, aimAt('payload_read', id), async () => {
      const { response_body } = await findPayload(id)
      return { id, response_body }
    })
  })
  mountJson('POST', '/:id/replay', request => {
    if (!settings.replayEnabled) throw new GatewayError('unknown_url')
    const id = readPathId(request)
    return audit.run(request.context, aimAt('replay', id), () => replay(request, id))
  })
  mountJson('POST', '/:id/redact', request => {
    const id = readPathId(request)
    return audit.run(request.context, aimAt('redact', id), async result => {
      const fields = readRedactedFields(request.context.body)
      await find(id)
      const redactedAt = showTime(writeRecordTime(clock.nowMs()))
      const redacted = await store.ask('redact', { id, fields, redactedAt })
      if (redacted === null) throw new GatewayError('log_not_found')
      result.rows = 1
      return showRedaction(id, fields, redacted)
    })
  })
}

/**
 * The cursor of the next page, in the form of the one that the client sent; null where this page is
 * not full.
 */
function findNextCursor({ start, limit, cursor }: PageQuery, page: readonly TrafficSummary[]): string | null {
  const last = page.at(-1)
  if (last === undefined || page.length < limit) return null
  const isDecimal = start.kind === 'offset' && cursor !== null && cursor !== ''
  return isDecimal ? String((start.offset ?? 0) + page.length) : writeCursor(last)
}

/** A number, with a plus sign where there may be more. */
function showEstimate({ records, isLowerBound }: Estimate): string {
  return isLowerBound ? `${records}+` : String(records)
}

/**
 * Raises `invalid_log_id`; the router lets a parameter be empty, but that is no path of its own.
 */
function readPathId({ params }: FastifyRequest): string {
  const { id = '' } = params as { id?: string }
  if (id === '') throw new GatewayError('unknown_url')
  return readLogId(id)
}

function aimAt(action: Audited['action'], id: string): Audited {
  return { action, target: id }
}

function acceptsEvents({ headers }: FastifyRequest): boolean {
  return headers.accept?.toLowerCase().includes('text/event-stream') === true
}

/** The id that a client repeats when it connects again; any other text is as if it were absent. */
function readLastId(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined
  try {
    return readLogId(header)
  } catch {
    return undefined
  }
}

function refuseReplay(cause: unknown): DispatchedResponse {
  throw new GatewayError('replay_failed', { cause })
}
