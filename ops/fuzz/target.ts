// The gateway under test with its upstream: starts both, and looks at the worker's health and at the log.

import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startGateway } from '../compare/gateway.ts'
import { type Client, createClient } from './client.ts'
import { type FuzzUpstream, startUpstream } from './upstream.ts'
import type { WireResponse } from './wire-response.ts'

export interface FuzzTarget {
  port: number
  client: Client
  upstream: FuzzUpstream
  /** What no response and no log line may contain. */
  listSecrets(): string[]
  /** What is wrong with the gateway since the last call; undefined when nothing is. */
  findFault(): Promise<string | undefined>
  close(): Promise<void>
}

export const GATEWAY_KEY = 'fuzz-gateway-key-1f6b0c35a2'
const CREDENTIALS = Buffer.from('fuzz-client:fuzz-secret-9d27e4').toString('base64')

/** Small timeouts, so that a silent upstream is no hang; a small pool threshold, so that both ways of translation are taken. */
const VARIABLES = {
  GATEWAY_ENABLE_API_KEY_AUTH: 'true',
  GATEWAY_API_KEY: GATEWAY_KEY,
  GATEWAY_ACCESS_LOG: 'true',
  GATEWAY_LOG_MAX_SIZE: '4000000000',
  GATEWAY_POOL_THRESHOLD_BYTES: '16384',
  GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: '2',
  UPSTREAM_FIRST_BYTE_TIMEOUT: '2',
  UPSTREAM_TIMEOUT: '2',
  UPSTREAM_CREDENTIALS: CREDENTIALS,
  UPSTREAM_MODEL: 'GigaChat-2-Max'
}

/** Lines that no client and no upstream may cause. */
const FAULT_EVENTS = new Set(['observer_failed', 'worker_channel_error', 'ipc_message_dropped', 'log_lines_lost'])

/** Starts an upstream and a gateway with one worker; the log is written in `folder`. */
export async function startTarget(folder: string): Promise<FuzzTarget> {
  const upstream = await startUpstream()
  try {
    const gateway = await startGateway({
      checkout: join(import.meta.dirname, '..', '..'),
      folder,
      variables: {
        ...VARIABLES,
        UPSTREAM_BASE_URL: `http://127.0.0.1:${upstream.port}/api/v1`,
        UPSTREAM_AUTH_URL: `http://127.0.0.1:${upstream.port}/api/v2/oauth`
      }
    })
    const { port, pid } = gateway
    const client = createClient(port)
    const workers = readWorkers(pid)
    const readNewLines = followLog(join(folder, 'gateway.log'))
    const listSecrets = (): string[] => [GATEWAY_KEY, CREDENTIALS, 'fuzz-secret-9d27e4', ...upstream.tokens]
    return {
      port,
      client,
      upstream,
      listSecrets,
      async findFault() {
        const look = (path: string) =>
          client.send({ method: 'GET', path, headers: {}, body: undefined }).catch((error: Error) => error)
        const ready = await look('/ready')
        // Probes leave no line in the access log.
        const last = await look('/')
        const lines = last instanceof Error ? readNewLines() : await readUntil(readNewLines, readId(last))
        const fault = lines.map(findFaultInLine).find(found => found !== undefined)
        if (fault !== undefined) return `the log has a fault: ${fault}`
        if (readWorkers(pid) !== workers) return 'the worker was replaced'
        if (ready instanceof Error) return `/ready fails: ${ready.message}`
        if (ready.status !== 200) return `/ready is ${ready.status}: ${ready.bytes}`
        const secrets = listSecrets()
        const leak = lines.find(line => secrets.some(secret => line.includes(secret)))
        return leak === undefined ? undefined : `a log line has a secret: ${leak}`
      },
      async close() {
        client.close()
        await gateway.close()
        await upstream.shutDown()
      }
    }
  } catch (error) {
    await upstream.shutDown()
    throw error
  }
}

function findFaultInLine(line: string): string | undefined {
  if (line === '') return undefined
  let fields: { level?: string; event?: string; err?: { stack?: string } }
  try {
    fields = JSON.parse(line)
  } catch {
    return `no JSON: ${line.slice(0, 500)}`
  }
  const { level, event = '', err } = fields
  const isFault = level === 'ERROR' || level === 'CRITICAL' || FAULT_EVENTS.has(event)
  if (!isFault) return undefined
  // The place first: it tells the causes of faults apart.
  const places = err?.stack?.split('\n').filter(frame => frame.includes('.ts:')) ?? []
  return `${event} ${places[0]?.trim().replace(/file:.*\/worker\//, '')} ${line.slice(0, 3000)}`
}

/** The ids of the supervisor's children (Linux). */
function readWorkers(pid: number): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
}

const readId = ({ headers }: WireResponse): string => headers.get('x-request-id') ?? ''

const LOG_DELAY_MS_MAX = 2000
const LOG_INTERVAL_MS = 5

/** The lines up to the one of a request: the worker writes its lines in order and a moment later. */
async function readUntil(readNewLines: () => string[], id: string): Promise<string[]> {
  const deadline = Date.now() + LOG_DELAY_MS_MAX
  const lines = readNewLines()
  while (!lines.some(line => line.includes(id)) && Date.now() < deadline) {
    await wait(LOG_INTERVAL_MS)
    lines.push(...readNewLines())
  }
  return lines
}

/** Returns a function that reads the lines that were added since its last call. */
function followLog(file: string): () => string[] {
  let offset = 0
  let rest = Buffer.alloc(0)
  return () => {
    const size = statSync(file).size
    const added = Buffer.alloc(size - offset)
    const handle = openSync(file, 'r')
    readSync(handle, added, 0, added.length, offset)
    closeSync(handle)
    offset = size
    const bytes = Buffer.concat([rest, added])
    const end = bytes.lastIndexOf('\n') + 1
    rest = bytes.subarray(end)
    return bytes.subarray(0, end).toString('utf8').split('\n')
  }
}
