// A started gateway with the admin API over a store that has records already, and calls to it.
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Emulator, EmulatorOptions } from '../../../ops/emulator/server.ts'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'
import { openSqliteQueries } from '../../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../../supervisor/writer/store/sqlite/sink.ts'
import type { HttpResponse } from '../../support/client.ts'
import {
  emulatorVariables,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

export const ADMIN_KEY = 'adm'
export const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000'

type Call = (path: string, init?: RequestInit) => Promise<HttpResponse>

export interface AdminGateway {
  emulator: Emulator
  gateway: ServingGateway
  /** The SQLite file. */
  path: string
  /** Calls a path with the admin key; other headers replace it. */
  call: Call
  /** Calls a path below `/_admin/logs`. */
  logs: Call
}

export interface AdminOptions {
  env?: Record<string, string | undefined>
  emulator?: EmulatorOptions
  /** What the store has before the gateway starts. */
  records?: readonly TrafficRecord[]
}

/** Starts a gateway with a SQLite store; the traffic log itself is off unless `env` switches it on. */
export async function startAdminGateway(t: Test, options: AdminOptions = {}): Promise<AdminGateway> {
  const path = join(createTemporaryFolder(t), 'traffic.sqlite')
  await writeRecords(path, options.records ?? [])
  const emulator = await startEmulator(t, options.emulator)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), ...adminVariables(`sqlite:${path}`), ...options.env }
  })
  return { emulator, gateway, path, ...createCalls(gateway) }
}

/** Settings of an admin API over this database. */
export function adminVariables(dsn: string): Record<string, string> {
  return {
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_TRAFFIC_LOG_SINK: 'relational',
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn,
    // The records of the tests are old.
    GATEWAY_TRAFFIC_LOG_RETENTION_DAYS: '3650',
    GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '10'
  }
}

/** Settings that record requests with their content, but not those of the admin API itself. */
export const recording = {
  GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
  GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true',
  GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES: JSON.stringify(
    [
      ...[
        '',
        '/tail',
        '/sums',
        '/latencies',
        '/health',
        '/running',
        '/providers',
        '/{id}',
        '/{id}/request',
        '/{id}/response'
      ],
      ...['/{id}/replay', '/{id}/redact']
    ].map(path => `/_admin/logs${path}`)
  )
}

export function createCalls({ url }: Pick<ServingGateway, 'url'>): { call: Call; logs: Call } {
  const call: Call = async (path, init = {}) => {
    const response = await fetch(url + path, { headers: { 'x-admin-api-key': ADMIN_KEY }, ...init })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parse(text) }
  }
  return { call, logs: (path, init) => call(`/_admin/logs${path}`, init) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Writes records with the code of the sink, as another gateway would have. */
export async function writeRecords(path: string, records: readonly TrafficRecord[]): Promise<void> {
  const store = openSqliteStore(path, openSqliteQueries)
  await store.write(records)
  await store.close()
}

/** Calls until `isDone` is true of what comes back; a test that waits in vain ends with its own time limit. */
export async function until<Result>(read: () => Promise<Result>, isDone: (result: Result) => boolean): Promise<Result> {
  for (;;) {
    const result = await read()
    if (isDone(result)) return result
    // The gateway may run in this process: a read of its log gives it no turn.
    await nextTurn()
  }
}

export function error(code: string, message: string, errors?: object[]): object {
  return { error: { code, message, ...(errors && { errors }) } }
}

export function postJson(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'x-admin-api-key': ADMIN_KEY, ...headers }
  }
}

export interface StreamEvent {
  event?: string
  id?: string
  data?: string
}

/** Reads the events of a stream, comments left out: so many of them and ends it, or all of them until it ends. */
export async function readEvents(
  response: Response,
  {
    count = Number.POSITIVE_INFINITY,
    onEvent = () => undefined
  }: { count?: number; onEvent?: (event: StreamEvent) => void }
): Promise<StreamEvent[]> {
  let text = ''
  const events: StreamEvent[] = []
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8')
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames.filter(one => !one.startsWith(':'))) {
      const event = Object.fromEntries(frame.split('\n').map(readField))
      events.push(event)
      onEvent(event)
    }
    if (events.length >= count) break
  }
  return events
}

function readField(line: string): [string, string] {
  const colon = line.indexOf(': ')
  return [line.slice(0, colon), line.slice(colon + 2)]
}
