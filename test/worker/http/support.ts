// Starts the HTTP side of a worker on a free loopback port, with the settings and routes of the test and a log in memory.
import { connect, type Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pino } from 'pino'
import type { Test } from 'tap'
import { systemClock } from '../../../shared/clock.ts'
import { createKeyRing } from '../../../shared/keys/key-ring.ts'
import type { KeySet } from '../../../shared/keys/key-set.ts'
import { createNativeProfileSet } from '../../../shared/profile/native-profile.ts'
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import { parseSettings } from '../../../shared/settings.ts'
import type { ControlChannel } from '../../../worker/control/control-channel.ts'
import { createLocalControlChannel } from '../../../worker/control/local-control-channel.ts'
import { createReadinessReader } from '../../../worker/execution/readiness.ts'
import { planUpstreamHeaders } from '../../../worker/execution/upstream-headers.ts'
import { createApplication } from '../../../worker/http/application.ts'
import { createDrainGate, type DrainGate } from '../../../worker/http/drain-gate.ts'
import type { Listener } from '../../../worker/http/listener.ts'
import { createFingerprint } from '../../../worker/http/request/fingerprint.ts'
import { sendJson } from '../../../worker/http/respond.ts'
import type { UnservedRequests } from '../../../worker/http/unserved-request.ts'
import { createObservers } from '../../../worker/observation/create-observers.ts'
import { createObservation } from '../../../worker/observation/observation.ts'
import type { RequestObserver } from '../../../worker/observation/observer.ts'
import { operations } from '../../../worker/operations/table.ts'
import type { UpstreamAuthorization } from '../../../worker/providers/types.ts'
import { registerSystemRoutes } from '../../../worker/routes/system.ts'
import { mountOperation } from '../../support/operations.ts'
import { workerOptions } from '../../support/worker-app.ts'

const INFO_LEVEL = 30

export type Handler = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>

export interface StartOptions {
  env?: Record<string, string>
  /** Where the profiles come from: the settings unless given. */
  origin?: ProfileSet['origin']
  /** Routes beside the system routes. */
  routes?: (app: FastifyInstance) => void
  control?: ControlChannel
  /** Observers besides those that the settings switch on. */
  observers?: RequestObserver[]
  /** Of a keys file. */
  keys?: KeySet
}

export interface StartedApplication {
  listener: Listener
  drainGate: DrainGate
  url: string
  port: number
  /** Every line that was logged, parsed. */
  logged: Array<Record<string, unknown>>
}

/** Starts the HTTP side of a worker; it closes when the test ends. */
export async function startApplication(t: Test, options: StartOptions = {}): Promise<StartedApplication> {
  const parsed = parseSettings({ GATEWAY_LOG_LEVEL: 'DEBUG', ...options.env })
  const settings = options.keys === undefined ? parsed : { ...parsed, keysFile: 'keys.yaml' }
  const logged: Array<Record<string, unknown>> = []
  const log = pino({ level: 'debug' }, { write: line => logged.push(JSON.parse(line)) })
  const writePlainLine = (members: string, msg: string) => {
    logged.push({ level: INFO_LEVEL, ...(JSON.parse(`{${members}}`) as object), msg })
  }
  const observing = { ...workerOptions(settings), log, writePlainLine }
  const observers = [...(await createObservers(observing)), ...(options.observers ?? [])]
  const drainGate = createDrainGate()
  const runtime = {
    settings,
    operations,
    profiles: { origin: options.origin ?? 'settings' },
    log,
    observation: createObservation(observers, log),
    drainGate,
    fingerprint: createFingerprint(Buffer.alloc(32, 1)),
    clock: systemClock,
    keyRing: createKeyRing(settings, options.keys),
    routes: { aliases: new Map() },
    readReadiness: createReadinessReader({
      profiles: createNativeProfileSet(settings),
      revisions: { config: `sha256:${'c'.repeat(64)}`, matrix: `sha256:${'d'.repeat(64)}` },
      keys: { revision: undefined },
      control: options.control ?? createLocalControlChannel(settings),
      // The parts of this application call no provider.
      executors: { isReady: () => true },
      drainGate
    })
  }
  const listener = await createApplication(runtime, app => {
    registerSystemRoutes(app, runtime)
    options.routes?.(app)
  })
  const { port } = await listener.listen({ host: '127.0.0.1', port: 0, reusePort: false })
  t.teardown(() => listener.close())
  return { listener, drainGate: runtime.drainGate, url: `http://127.0.0.1:${port}`, port, logged }
}

/** For a listener without an application: requests that cannot be handled are not recorded. */
export const unrecorded: UnservedRequests = { refuse: () => 'id', skip: () => undefined }

/** A handler that responds with what it was given, so that a test can see what arrived. */
export const echo: Handler = (request, reply) => {
  const { context } = request
  const given = {
    body: context.body.toString('utf8'),
    apiMode: context.apiMode,
    route: context.route,
    authorization: describeAuthorization(context.authorization),
    headers: pairsOf(planUpstreamHeaders({ headers: request.headers, requestId: context.requestId }).headers),
    url: request.raw.url
  }
  sendJson(reply, 200, {}, JSON.stringify(given))
}

function describeAuthorization(authorization: UpstreamAuthorization): object {
  switch (authorization.type) {
    case 'server':
      return { type: 'server' }
    case 'access-token':
      return { type: 'access-token', accessToken: authorization.accessToken.reveal() }
    case 'credentials':
      return { type: 'credentials', credentials: authorization.credentials.reveal(), scope: authorization.scope }
    case 'user':
      return { type: 'user', user: authorization.user, password: authorization.password.reveal() }
  }
}

/** `POST /v1/messages` with this handler, for `routes` of an application that needs no other. */
export function messagesRoute(handler: Handler): (app: FastifyInstance) => void {
  return app =>
    mountOperation(app, { method: 'POST', path: '/messages', family: 'messages', isModelRequest: true, handler })
}

/** A promise and the function that resolves it, for a handler that passes something to its test. */
export function signalled<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  return Promise.withResolvers<Value>()
}

/** A raw connection: bytes are sent as the test writes them, and `received` returns everything that came back so far. */
export interface RawConnection {
  socket: Socket
  received: () => string
  /** Resolves with everything received once it matches. */
  waitFor: (pattern: RegExp) => Promise<string>
  closed: Promise<void>
}

export async function openConnection(t: Test, port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  let check = (): void => undefined
  socket.on('data', chunk => {
    text += chunk.toString('latin1')
    check()
  })
  socket.on('error', () => undefined)
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  await new Promise<void>(resolve => socket.once('connect', () => resolve()))
  t.teardown(() => socket.destroy())
  return {
    socket,
    received: () => text,
    waitFor: pattern =>
      new Promise((resolve, reject) => {
        check = () => {
          if (pattern.test(text)) resolve(text)
        }
        socket.once('close', () => reject(new Error(`Closed before ${pattern}: ${text}`)))
        check()
      }),
    closed
  }
}

/** Names and values in turn as pairs. */
export function pairsOf(flat: readonly string[]): Array<[name: string, value: string]> {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? '', flat[2 * index + 1] ?? ''])
}
