// Finds the handler of a request and runs it: faults first, then authorization, then the endpoint.
import type { TLSSocket } from 'node:tls'
import { answerChat } from './chat.ts'
import { chatV1 } from './chat-v1.ts'
import { chatV2 } from './chat-v2.ts'
import type { ChatWire } from './chat-wire.ts'
import { answerControl, type ControlDeps } from './control.ts'
import { type Endpoint, nativeEndpoints, openAiEndpoints, readJson } from './endpoints.ts'
import { describeStatus, UpstreamError } from './errors.ts'
import { breakConnection, type Exchange, pause, readBody, sendApiError, sendJson } from './exchange.ts'
import type { ScriptedAnswer } from './faults.ts'
import { isObject } from './json.ts'
import { openAiChat, sendOpenAiError } from './openai-chat.ts'
import type { EmulatorState } from './state.ts'

export const CONTROL_PATH = '/__control'
export const OAUTH_PATH = '/api/v2/oauth'
export const API_PATH = '/api/v1'
export const OPENAI_PATH = '/openai/v1'

export interface RouteDeps {
  state: EmulatorState
  /** Absent when the control endpoint is switched off. */
  control: ControlDeps | null
}

const nativePath = /^\/api(?:\/(v\d+))?(\/.*)$/

/** Answers one request, whatever it is. Never rejects. */
export async function route(exchange: Exchange, deps: RouteDeps): Promise<void> {
  const isOpenAi = exchange.path.startsWith(`${OPENAI_PATH}/`)
  try {
    const { path } = exchange
    const body = exchange.method === 'GET' ? Buffer.alloc(0) : await readBody(exchange, deps.state.bodyBytesMax)
    if (path === '/__expire' || path === CONTROL_PATH || path.startsWith(`${CONTROL_PATH}/`)) {
      await routeControl(exchange, body, deps)
      return
    }
    if (await applyFailRule(exchange, deps.state)) return
    if (isOpenAi) await routeOpenAi(exchange, body, deps.state)
    else await routeNative(exchange, body, deps.state)
  } catch (error) {
    if (exchange.isClosed || exchange.response.headersSent) return
    const sent = error instanceof UpstreamError ? error : new UpstreamError(500, describeFailure(error))
    if (isOpenAi) sendOpenAiError(exchange, sent)
    else sendApiError(exchange, sent)
  }
}

/** A bug of the emulator must be told apart from an ordered error. */
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
  await answerControl(exchange, { rest, body: parsed, deps: deps.control })
}

/** True when an ordered failure has taken care of the call. */
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
    answerOauth(exchange, body, state)
    return
  }
  const match = nativePath.exec(path)
  const version = match?.[1]
  const rest = match?.[2]
  if (rest === undefined || (version !== undefined && version !== 'v1' && version !== 'v2')) {
    throw new UpstreamError(404, 'Not Found')
  }
  if (rest === '/token' && version !== 'v2') {
    answerUserToken(exchange, state)
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

async function routeOpenAi(exchange: Exchange, body: Buffer, state: EmulatorState): Promise<void> {
  const rest = exchange.path.slice(OPENAI_PATH.length)
  if (rest === '/chat/completions') {
    state.recorder.countRoute(`${exchange.method} ${OPENAI_PATH}${rest}`)
    authorizeOpenAi(exchange, state)
    requireMethod(exchange.method, 'POST')
    await runChat(exchange, body, { state, wire: openAiChat })
    return
  }
  const routes = openAiEndpoints.filter(entry => entry.pattern.test(rest))
  await runRoute(exchange, body, { state, routes, base: OPENAI_PATH, authorize: authorizeOpenAi })
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
  const answer = state.faults.takeAnswer(exchange.path)
  if (answer !== undefined) await sendScripted(exchange, answer)
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
  const answer = state.faults.takeAnswer(exchange.path)
  if (answer !== undefined) await sendScripted(exchange, answer)
  else await answerChat(exchange, input.wire ?? guessWire(parsed), { body: parsed, state })
}

/** Without a version in the base URL both contracts arrive at one path; only v2 has arrays as contents. */
function guessWire(body: unknown): ChatWire {
  const messages = isObject(body) && Array.isArray(body.messages) ? body.messages : []
  return messages.some(message => isObject(message) && Array.isArray(message.content)) ? chatV2 : chatV1
}

async function sendScripted(exchange: Exchange, answer: ScriptedAnswer): Promise<void> {
  const { response } = exchange
  for (const [index, chunk] of answer.chunks.entries()) {
    if (chunk.delayMs > 0 && !(await pause(exchange, chunk.delayMs))) return
    if (index === 0) {
      const length = answer.isChunked || answer.ending !== 'end' ? {} : { 'content-length': chunk.bytes.length }
      response.writeHead(answer.status, { ...length, ...answer.headers })
      response.flushHeaders()
    }
    if (chunk.bytes.length > 0) response.write(chunk.bytes)
    await new Promise(setImmediate)
  }
  if (!response.headersSent) response.writeHead(answer.status, answer.headers)
  if (answer.ending === 'end') response.end()
  else if (answer.ending === 'destroy') breakConnection(exchange)
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

function authorizeOpenAi(exchange: Exchange, state: EmulatorState): void {
  const { chatApiKey } = state.settings
  if (chatApiKey === null || exchange.request.headers.authorization === `Bearer ${chatApiKey}`) return
  state.recorder.stats.unauthorized++
  throw new UpstreamError(401, 'Incorrect API key provided')
}

function answerOauth(exchange: Exchange, body: Buffer, state: EmulatorState): void {
  requireMethod(exchange.method, 'POST')
  state.recorder.stats.oauthCalls++
  state.recorder.countRoute(`POST ${OAUTH_PATH}`)
  const form = new URLSearchParams(body.toString('utf8'))
  state.recorder.setBody(exchange.record, Object.fromEntries(form), body.length)
  const answer = state.authority.answerOauth({ headers: exchange.request.headers, form })
  const text = JSON.stringify(answer.body)
  exchange.response.writeHead(answer.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text)
  })
  exchange.response.end(text)
}

function answerUserToken(exchange: Exchange, state: EmulatorState): void {
  requireMethod(exchange.method, 'POST')
  state.recorder.stats.tokenCalls++
  state.recorder.countRoute(`POST ${API_PATH}/token`)
  const answer = state.authority.answerUserToken(exchange.request.headers)
  sendJson(exchange, answer.status, answer.body)
}
