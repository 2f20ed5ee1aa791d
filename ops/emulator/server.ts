// The embedded upstream: an HTTP or HTTPS server that speaks the native upstream's wire, for tests, demos and benchmarks.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { createAuthority } from './auth.ts'
import { isChatPath } from './chat-path.ts'
import type { Exchange } from './exchange.ts'
import { createFaults, readFailRule, readScriptedResponse } from './faults.ts'
import { createFileStore } from './files.ts'
import { createModelInventory } from './models.ts'
import { createRecorder, type EmulatorStats, type RecordedRequest } from './recorder.ts'
import { createResponseStore } from './responses/store.ts'
import {
  ANTHROPIC_PATH,
  API_PATH,
  CONTROL_PATH,
  GOOGLE_PATH,
  OAUTH_PATH,
  OPENAI_PATH,
  RESPONSES_PATH,
  type RouteDeps,
  route
} from './routes.ts'
import { defaultSettings, type EmulatorSettings } from './settings.ts'
import type { EmulatorState } from './state.ts'
import { createStateIds, createThreadStore } from './threads.ts'

export type { EmulatorStats, RecordedRequest } from './recorder.ts'
export type { EmulatorSettings } from './settings.ts'

export interface EmulatorTls {
  key: string | Buffer
  cert: string | Buffer
  /** Certificate authority against which client certificates are verified. */
  ca?: string | Buffer
  /** Request a client certificate (default: when `ca` is given); a verified one authorizes API calls without a token. */
  requestCert?: boolean
}

export interface EmulatorOptions extends Partial<EmulatorSettings> {
  host?: string
  port?: number
  tls?: EmulatorTls
  /** Accepted base64 `client_id:client_secret` values; absent: all well-formed values. */
  credentials?: string | readonly string[]
  /** Accepted users with their passwords; absent: all users. */
  users?: Readonly<Record<string, string>>
  /** Scopes that the credentials may request; absent: every known scope. */
  scopes?: readonly string[]
  /** Access tokens that are valid from the start, without an OAuth call. */
  accessTokens?: readonly string[]
  /** Chat models in addition to the recorded inventory. */
  extraModels?: readonly string[]
  /** Larger request bodies are refused with 413 (default 128 MiB). */
  bodyBytesMax?: number
  /** Clock in milliseconds. */
  now?: () => number
  /** Whether `/__control` exists (default true). */
  control?: boolean
}

export interface Emulator {
  /** Base URL of v1, such as `http://127.0.0.1:41234/api/v1`; v2 chat has the path `/api/v2` on the same origin. */
  readonly baseUrl: string
  readonly authUrl: string
  /** `null` when the control endpoint is switched off. */
  readonly controlUrl: string | null
  readonly chatBaseUrl: string
  /** Base URL of the Anthropic wire without its version, as the SDK takes it. */
  readonly anthropicBaseUrl: string
  /** Base URL of the Google GenAI wire without its version, as the SDK takes it. */
  readonly googleBaseUrl: string
  /** Base URL of the Responses wire, with its version, as the SDK takes it. */
  readonly responsesBaseUrl: string
  readonly port: number
  /** Recorded requests, oldest first, at most 2000; control calls are not recorded. */
  readonly requests: readonly RecordedRequest[]
  readonly stats: EmulatorStats
  /** Changes settings while it runs. */
  configure: (settings: Partial<EmulatorSettings>) => void
  /** Makes the given access token valid. */
  registerToken: (token: string, lifetimeMs?: number) => void
  /** Revokes one token, or all tokens; returns the number of revoked tokens. */
  expireTokens: (token?: string) => number
  /** Does the same as `POST /__control/fail`. Throws Error for an invalid rule. */
  failNext: (rule: unknown) => void
  /** Does the same as `POST /__control/answer`. Throws Error for an invalid response. */
  respondNext: (response: unknown) => void
  /** Resolves when the condition holds; it is evaluated after every change. Rejects after `timeoutMs` (default 10 s). */
  waitFor: (condition: (emulator: Emulator) => boolean, timeoutMs?: number) => Promise<void>
  /** Deletes recorded requests, counters and configured faults; keeps tokens, files and threads. */
  reset: () => void
  /** Stops listening, closes every connection and resolves when all connections are closed. */
  close: () => Promise<void>
}

const WAIT_TIMEOUT_MS = 10_000
const BACKLOG = 4096
const BODY_BYTES_MAX = 128 * 1024 * 1024
// Longer than the idle time of HTTP clients: otherwise a client could reuse a connection at the moment the server closes it.
const KEEP_ALIVE_MS = 65_000

/**
 * Starts an emulator.
 * @returns the emulator, after it has started to listen.
 * @throws the listen error, for example when the port is in use.
 */
export async function createEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const state = createState(options)
  const { recorder } = state
  const reset = () => {
    recorder.reset()
    state.faults.reset()
  }
  const deps: RouteDeps = { state, control: options.control === false ? null : { state, reset } }
  const server = createListener(options, (request, response) => {
    const exchange = openExchange(request, response, state)
    // The status is recorded when the response is written, so that a test that has read the response finds it in the record.
    void route(exchange, deps).finally(() => noteStatus(exchange))
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.requestTimeout = 0
  server.on('connection', (socket: Socket) => {
    socket.setNoDelay(true)
    recorder.connectionOpened()
    socket.once('close', () => recorder.connectionClosed())
  })
  const host = options.host ?? '127.0.0.1'
  const port = await listen(server, { host, port: options.port ?? 0 })
  const origin = `${options.tls === undefined ? 'http' : 'https'}://${nameHost(host)}:${port}`

  const emulator: Emulator = {
    baseUrl: `${origin}${API_PATH}`,
    authUrl: `${origin}${OAUTH_PATH}`,
    controlUrl: deps.control === null ? null : `${origin}${CONTROL_PATH}`,
    chatBaseUrl: `${origin}${OPENAI_PATH}`,
    anthropicBaseUrl: `${origin}${ANTHROPIC_PATH}`,
    googleBaseUrl: `${origin}${GOOGLE_PATH}`,
    responsesBaseUrl: `${origin}${RESPONSES_PATH}`,
    port,
    get requests() {
      return recorder.requests
    },
    get stats() {
      return recorder.stats
    },
    configure: settings => {
      Object.assign(state.settings, settings)
    },
    registerToken: (token, lifetimeMs) => state.authority.register(token, lifetimeMs),
    expireTokens: token => state.authority.expire(token),
    failNext: rule => state.faults.fail(readFailRule(rule)),
    respondNext: response => state.faults.script(readScriptedResponse(response)),
    waitFor: (condition, timeoutMs = WAIT_TIMEOUT_MS) => recorder.waitFor(() => condition(emulator), timeoutMs),
    reset,
    close: () => closeServer(server, () => recorder.close())
  }
  return emulator
}

function createState(options: EmulatorOptions): EmulatorState {
  const settings: EmulatorSettings = { ...defaultSettings }
  for (const name of Object.keys(defaultSettings) as Array<keyof EmulatorSettings>) {
    if (options[name] !== undefined) Object.assign(settings, { [name]: options[name] })
  }
  const now = options.now ?? Date.now
  const { credentials } = options
  const authority = createAuthority({
    settings,
    now,
    credentials: credentials === undefined ? null : typeof credentials === 'string' ? [credentials] : credentials,
    users: options.users ?? null,
    scopes: options.scopes ?? null
  })
  for (const token of options.accessTokens ?? []) authority.register(token)
  return {
    settings,
    now,
    bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX,
    authority,
    models: createModelInventory(options.extraModels ?? []),
    files: createFileStore(now),
    threads: createThreadStore(),
    stateIds: createStateIds(now),
    responses: createResponseStore(),
    faults: createFaults(),
    recorder: createRecorder()
  }
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void

function createListener(options: EmulatorOptions, listener: Listener): Server {
  const { tls } = options
  if (tls === undefined) return createServer(listener)
  const requestCert = tls.requestCert ?? tls.ca !== undefined
  return createSecureServer(
    // A connection without a client certificate is accepted: the gateway makes its OAuth calls without one.
    {
      key: tls.key,
      cert: tls.cert,
      requestCert,
      rejectUnauthorized: false,
      ...(tls.ca === undefined ? {} : { ca: tls.ca })
    },
    listener
  )
}

function openExchange(request: IncomingMessage, response: ServerResponse, state: EmulatorState): Exchange {
  const { recorder } = state
  const url = request.url ?? '/'
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const query = mark === -1 ? '' : url.slice(mark + 1)
  const method = request.method ?? 'GET'
  const isControl = path.startsWith('/__')
  const isChat = !isControl && isChatPath(path)
  const entry: Omit<RecordedRequest, 'sequence'> = {
    receivedAtMs: state.now(),
    method,
    path,
    query,
    headers: request.headers,
    body: undefined,
    bodyBytes: 0,
    status: null,
    aborted: false,
    finished: false,
    clientCertificate: readClientCertificate(request.socket),
    notes: []
  }
  const record = isControl ? { sequence: 0, ...entry } : recorder.add(entry)
  if (isChat) recorder.chatStarted()
  const exchange: Exchange = {
    request,
    response,
    method,
    path,
    record,
    account: 'anonymous',
    isBrokenOnPurpose: false,
    isClosed: false,
    closeListeners: new Set()
  }
  response.once('close', () => {
    exchange.isClosed = true
    for (const closed of exchange.closeListeners) closed()
    if (isControl) return
    noteStatus(exchange)
    if (isChat) recorder.chatEnded()
    recorder.ended(record, response.writableFinished ? 'finished' : exchange.isBrokenOnPurpose ? 'broken' : 'aborted')
  })
  return exchange
}

function noteStatus({ record, response }: Exchange): void {
  if (response.headersSent) record.status = response.statusCode
}

function readClientCertificate(socket: Socket): string | null {
  if (!('encrypted' in socket)) return null
  const { subject } = (socket as TLSSocket).getPeerCertificate()
  const name: unknown = subject?.CN
  return typeof name === 'string' ? name : null
}

/** Writes a listen address as the host of a URL: a wildcard becomes loopback, an IPv6 address is put in brackets. */
function nameHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

function listen(server: Server, address: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...address, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port)
    })
  })
}

function closeServer(server: Server, release: () => void): Promise<void> {
  return new Promise(resolve => {
    server.close(() => {
      release()
      resolve()
    })
    server.closeAllConnections()
  })
}
