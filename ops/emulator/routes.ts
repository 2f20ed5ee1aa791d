// Finds the handler of a request and runs it: first configured faults, then authorization, then the endpoint.
import type { TLSSocket } from 'node:tls'
import { respondToChat } from './chat.ts'
import type { ChatWire } from './chat-wire.ts'
import { type ControlDeps, respondToControl } from './control.ts'
import { type Endpoint, nativeEndpoints, readJson } from './endpoints.ts'
import { describeStatus, UpstreamError } from './errors.ts'
import { breakConnection, type Exchange, pause, readBody, sendApiError, sendJson } from './exchange.ts'
import { authorizeExternal, type ExternalPlace, findExternalPlace } from './external-wires.ts'
import type { ScriptedResponse } from './faults.ts'
import { isObject } from './json.ts'
import { chatV1 } from './native/chat-v1.ts'
import { chatV2 } from './native/chat-v2.ts'
import type { EmulatorState } from './state.ts'

export const CONTROL_PATH = '/__control'
export const OAUTH_PATH = '/api/v2/oauth'
export const API_PATH = '/api/v1'
export const OPENAI_PATH = '/openai/v1'
/** Without the version, as the SDK takes it, like the path of the Google wire. */
export const ANTHROPIC_PATH = '/anthropic'
export const GOOGLE_PATH = '/google'
export const RESPONSES_PATH = '/responses-provider/v1'

export interface RouteDeps {
  state: EmulatorState
  /** `null` when the control endpoint is switched off. */
  control: ControlDeps | null
}

const nativePath = /^\/api(?:\/(v\d+))?(\/.*)$/

/** Sends the response of one request of any kind. Never rejects. */
export async function route(exchange: Exchange, deps: RouteDeps): Promise<void> {
  const external = findExternalPlace(exchange.path)
  try {
    const { path } = exchange
    const body = exchange.method === 'GET' ? Buffer.alloc(0) : await readBody(exchange, deps.state.bodyBytesMax)
    if (path === '/__expire' || path === CONTROL_PATH || path.startsWith(`${CONTROL_PATH}/`)) {
      await routeControl(exchange, body, deps)
      return
    }
    if (await applyFailRule(exchange, deps.state)) return
    if (external !== undefined) await routeExternal(exchange, body, { state: deps.state, place: external })
    else await routeNative(exchange, body, deps.state)
  } catch (error) {
    if (exchange.isClosed || exchange.response.headersSent) return
    const sent = error instanceof UpstreamError ? error : new UpstreamError(500, describeFailure(error))
    if (external !== undefined) external.wire.sendError(exchange, sent)
    else sendApiError(exchange, sent)
  }
}

/** Marks a bug of the emulator, so that a test does not take it for a configured error. */
function describeFailure(error: unknown): string {
  return `emulator failure: ${error instanceof Error ? error.message : String(error)}`
}

async function routeControl(exchange: Exchange, body: Buffer, deps: RouteDeps): Promise<void> {
  if (deps.control === null) throw new UpstreamError(404, 'Not Found')
  const rest = exchange.path === '/__expire' ? '/expire' : exchange.path.slice(CONTROL_PATH.length) || '/'
  let parsed: unknown
  if (body.length > 0) {
    try {
      parsed = JSON.parse(body.toString('utf8'))
    } catch {
      throw new UpstreamError(400, 'Invalid JSON body')
    }
  }
  await respondToControl(exchange, { rest, body: parsed, deps: deps.control })
}

/** Applies the next failure that was configured for this call; returns true when the call needs no further handling. */
async function applyFailRule(exchange: Exchange, state: EmulatorState): Promise<boolean> {
  const rule = state.faults.takeFailure(exchange.method, exchange.path)
  if (rule === undefined) return false
  state.recorder.countRoute(`${exchange.method} ${rule.path} (failed)`)
  if (rule.isHanging) return true
  if (rule.status === 0) {
    breakConnection(exchange)
    return true
  }
  const message = rule.message ?? describeStatus(rule.status)
  if (exchange.path === OAUTH_PATH && !rule.isHtml) {
    const headers = rule.retryAfter === null ? {} : { 'retry-after': rule.retryAfter }
    sendJson(exchange, rule.status, { code: rule.status, message }, headers)
    return true
  }
  const headers: Record<string, string> = rule.retryAfter === null ? {} : { 'retry-after': rule.retryAfter }
  throw new UpstreamError(rule.status, message, { headers, isHtml: rule.isHtml })
}

async function routeNative(exchange: Exchange, body: Buffer, state: EmulatorState): Promise<void> {
  const { path, method } = exchange
  if (path === OAUTH_PATH) {
    sendOauthToken(exchange, body, state)
    return
  }
  const match = nativePath.exec(path)
  const version = match?.[1]
  const rest = match?.[2]
  if (rest === undefined || (version !== undefined && version !== 'v1' && version !== 'v2')) {
    throw new UpstreamError(404, 'Not Found')
  }
  if (rest === '/token' && version !== 'v2') {
    sendUserToken(exchange, state)
    return
  }
  const base = version === undefined ? '/api' : `/api/${version}`
  if (rest === '/chat/completions') {
    state.recorder.countRoute(`${method} ${base}${rest}`)
    authorize(exchange, state)
    requireMethod(method, 'POST')
    await runChat(exchange, body, { state, wire: version === 'v1' ? chatV1 : version === 'v2' ? chatV2 : null })
    return
  }
  const routes = version === 'v2' ? [] : nativeEndpoints.filter(entry => entry.pattern.test(rest))
  await runRoute(exchange, body, { state, routes, base, authorize })
}

async function routeExternal(
  exchange: Exchange,
  body: Buffer,
  { state, place }: { state: EmulatorState; place: ExternalPlace }
): Promise<void> {
  const { wire, base, rest } = place
  const authorize = () => {
    try {
      authorizeExternal(exchange, place, state.settings)
    } catch (error) {
      state.recorder.stats.unauthorized++
      throw error
    }
    wire.checkHeaders?.(exchange)
  }
  const chat = wire.findChat(rest, exchange)
  if (chat !== undefined) {
    state.recorder.countRoute(`${exchange.method} ${base}${rest}`)
    authorize()
    requireMethod(exchange.method, 'POST')
    await runChat(exchange, body, { state, wire: chat })
    return
  }
  const routes = wire.endpoints.filter(entry => entry.pattern.test(rest))
  await runRoute(exchange, body, { state, routes, base, authorize })
}

async function runRoute(
  exchange: Exchange,
  body: Buffer,
  input: {
    state: EmulatorState
    routes: Endpoint[]
    base: string
    authorize: (exchange: Exchange, state: EmulatorState) => void
  }
): Promise<void> {
  const { state, routes, base } = input
  const first = routes[0]
  if (first === undefined) throw new UpstreamError(404, 'Not Found')
  state.recorder.countRoute(`${exchange.method} ${base}${first.name}`)
  input.authorize(exchange, state)
  const found = routes.find(entry => entry.method === exchange.method)
  if (found === undefined) throw new UpstreamError(405, 'Method Not Allowed')
  const scripted = state.faults.takeScriptedResponse(exchange.path)
  if (scripted !== undefined) await sendScripted(exchange, scripted)
  else await found.handler(exchange, body, state)
}

function requireMethod(method: string, wanted: string): void {
  if (method !== wanted) throw new UpstreamError(405, 'Method Not Allowed')
}

async function runChat(
  exchange: Exchange,
  body: Buffer,
  input: { state: EmulatorState; wire: ChatWire | null }
): Promise<void> {
  const { state } = input
  const parsed = readJson(exchange, body, state)
  const scripted = state.faults.takeScriptedResponse(exchange.path)
  if (scripted !== undefined) await sendScripted(exchange, scripted)
  else await respondToChat(exchange, input.wire ?? guessWire(parsed), { body: parsed, state })
}

/** A base URL without a version serves both contracts at one path; only v2 messages have arrays as `content`. */
function guessWire(body: unknown): ChatWire {
  const messages = isObject(body) && Array.isArray(body.messages) ? body.messages : []
  return messages.some(message => isObject(message) && Array.isArray(message.content)) ? chatV2 : chatV1
}

async function sendScripted(exchange: Exchange, scripted: ScriptedResponse): Promise<void> {
  const { response } = exchange
  for (const [index, chunk] of scripted.chunks.entries()) {
    if (chunk.delayMs > 0 && !(await pause(exchange, chunk.delayMs))) return
    if (index === 0) {
      const length = scripted.isChunked || scripted.ending !== 'end' ? {} : { 'content-length': chunk.bytes.length }
      response.writeHead(scripted.status, { ...length, ...scripted.headers })
      response.flushHeaders()
    }
    if (chunk.bytes.length > 0) response.write(chunk.bytes)
    await new Promise(setImmediate)
  }
  if (!response.headersSent) response.writeHead(scripted.status, scripted.headers)
  if (scripted.ending === 'end') response.end()
  else if (scripted.ending === 'destroy') breakConnection(exchange)
}

function authorize(exchange: Exchange, state: EmulatorState): void {
  const { socket, headers } = exchange.request
  if ('encrypted' in socket && (socket as TLSSocket).authorized) {
    exchange.account = `certificate:${exchange.record.clientCertificate ?? ''}`
    if (headers.authorization === undefined) return
  }
  if (!state.settings.requireAuthorization && headers.authorization === undefined) return
  const result = state.authority.authorize(headers.authorization)
  if ('account' in result) {
    exchange.account = result.account
    return
  }
  if (!state.settings.requireAuthorization) return
  state.recorder.stats.unauthorized++
  throw new UpstreamError(401, result.refusal)
}

function sendOauthToken(exchange: Exchange, body: Buffer, state: EmulatorState): void {
  requireMethod(exchange.method, 'POST')
  state.recorder.stats.oauthCalls++
  state.recorder.countRoute(`POST ${OAUTH_PATH}`)
  const form = new URLSearchParams(body.toString('utf8'))
  state.recorder.setBody(exchange.record, Object.fromEntries(form), body.length)
  const { status, body: granted } = state.authority.grantOauthToken({ headers: exchange.request.headers, form })
  const text = JSON.stringify(granted)
  exchange.response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text)
  })
  exchange.response.end(text)
}

function sendUserToken(exchange: Exchange, state: EmulatorState): void {
  requireMethod(exchange.method, 'POST')
  state.recorder.stats.tokenCalls++
  state.recorder.countRoute(`POST ${API_PATH}/token`)
  const { status, body } = state.authority.grantUserToken(exchange.request.headers)
  sendJson(exchange, status, body)
}
