// The control endpoint `/__control`: shows received requests and counters, and configures faults and settings.
import { type Exchange, sendJson } from './exchange.ts'
import { readFailRule, readScriptedResponse } from './faults.ts'
import { isObject } from './json.ts'
import type { EmulatorStats, RecordedRequest } from './recorder.ts'
import { readSettings } from './settings.ts'
import type { EmulatorState } from './state.ts'

const WAIT_TIMEOUT_MS = 10_000
const WAIT_TIMEOUT_MS_MAX = 120_000

export interface ControlDeps {
  state: EmulatorState
  reset: () => void
}

function fail(exchange: Exchange, status: number, message: string): void {
  sendJson(exchange, status, { error: { message } })
}

function readQuery(exchange: Exchange): URLSearchParams {
  return new URLSearchParams(exchange.record.query)
}

/** Sends the response of one control call. `rest` is the path after `/__control`. */
export async function respondToControl(
  exchange: Exchange,
  input: { rest: string; body: unknown; deps: ControlDeps }
): Promise<void> {
  const { rest, body, deps } = input
  const { state } = deps
  try {
    switch (`${exchange.method} ${rest}`) {
      case 'GET /requests':
        return sendJson(exchange, 200, selectRequests(readQuery(exchange), state.recorder.requests))
      case 'DELETE /':
      case 'DELETE /requests':
      case 'POST /reset':
        deps.reset()
        return sendJson(exchange, 200, { reset: true })
      case 'GET /stats':
        return await sendStats(exchange, state)
      case 'POST /expire': {
        const token = isObject(body) && typeof body.token === 'string' ? body.token : undefined
        return sendJson(exchange, 200, { revoked: state.authority.expire(token) })
      }
      case 'POST /tokens':
        return registerToken(exchange, body, state)
      case 'POST /fail':
        state.faults.fail(readFailRule(body))
        return sendJson(exchange, 200, { queued: true })
      case 'POST /answer':
        state.faults.script(readScriptedResponse(body))
        return sendJson(exchange, 200, { queued: true })
      case 'GET /settings':
        return sendJson(exchange, 200, state.settings)
      case 'POST /settings':
        Object.assign(state.settings, readSettings(body))
        return sendJson(exchange, 200, state.settings)
      default:
        return fail(exchange, 404, 'Not Found')
    }
  } catch (error) {
    fail(exchange, 400, error instanceof Error ? error.message : 'Bad request')
  }
}

function registerToken(exchange: Exchange, body: unknown, state: EmulatorState): void {
  if (!isObject(body) || typeof body.token !== 'string') throw new Error('token is required')
  state.authority.register(body.token, typeof body.lifetimeMs === 'number' ? body.lifetimeMs : undefined)
  sendJson(exchange, 200, { registered: true })
}

/** Filters the recorded requests: `?path=` by the end of the path, `?method=` by method, `?last=N` keeps the newest N. */
function selectRequests(query: URLSearchParams, requests: readonly RecordedRequest[]): { requests: RecordedRequest[] } {
  const path = query.get('path')
  const method = query.get('method')?.toUpperCase()
  let selected = requests.filter(
    entry => (path === null || entry.path.endsWith(path)) && (method === undefined || entry.method === method)
  )
  const last = Number(query.get('last') ?? Number.NaN)
  if (last > 0) selected = selected.slice(-last)
  return { requests: selected }
}

/** Sends the counters; `?until=aborted>=1` (conditions joined by commas) waits until all hold, 408 after `timeoutMs`. */
async function sendStats(exchange: Exchange, state: EmulatorState): Promise<void> {
  const { recorder } = state
  const query = readQuery(exchange)
  const until = query.get('until')
  if (until !== null) {
    const conditions = until.split(',').map(text => readCondition(text, recorder.stats))
    const requestedMs = Number(query.get('timeoutMs') ?? WAIT_TIMEOUT_MS)
    const timeoutMs = Math.min(
      WAIT_TIMEOUT_MS_MAX,
      Number.isFinite(requestedMs) ? Math.max(0, requestedMs) : WAIT_TIMEOUT_MS
    )
    try {
      await recorder.waitFor(() => conditions.every(holds => holds(recorder.stats)), timeoutMs)
    } catch {
      return fail(exchange, 408, `the counters did not reach ${until}: ${JSON.stringify(recorder.stats)}`)
    }
  }
  sendJson(exchange, 200, recorder.stats)
}

function readCondition(text: string, stats: EmulatorStats): (stats: EmulatorStats) => boolean {
  const match = /^(\w+)(>=|<=|==?)(\d+)$/.exec(text.trim())
  const name = match?.[1] as keyof EmulatorStats | undefined
  if (match === null || name === undefined || typeof stats[name] !== 'number') {
    throw new Error(`until must be like aborted>=1, not ${text}`)
  }
  const bound = Number(match[3])
  const comparison = match[2]
  return current => {
    const value = Number(current[name])
    if (comparison === '>=') return value >= bound
    return comparison === '<=' ? value <= bound : value === bound
  }
}
