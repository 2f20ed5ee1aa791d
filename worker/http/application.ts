// The HTTP side of a worker: the stages that every request passes, in their order.
import type { IncomingMessage } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Logger } from '../../shared/logging.ts'
import { MODEL_CHARACTERS_MAX } from '../protocols/shared/model.ts'
import type { RefusedConnection } from './connections/connection-room.ts'
import { createContextOpener } from './context-opener.ts'
import { createErrorResponder } from './errors.ts'
import { acceptBodies, collectMethods, expectContexts, runStages, waitForRecordRoom } from './hooks.ts'
import type { HttpRuntime } from './http-runtime.ts'
import { createListener, type Listener } from './listener.ts'
import { createLocalAccess } from './local-access.ts'
import { createRequestDescriber } from './request/describe-request.ts'
import { createFamilyFinder } from './request/families.ts'
import { createKeyFacts } from './request/key-facts.ts'
import { createPathRepair, withoutQuery } from './request/path-repair.ts'
import { createCorsPolicy } from './response/cors.ts'
import type { PayloadLog } from './response/payload-log.ts'
import {
  acceptCredentials,
  acceptLengths,
  refuseBrokenHeads,
  refuseUnknownPaths,
  refuseWhileDraining,
  respondToPreflights
} from './stages.ts'
import { createUnservedRequests } from './unserved-request.ts'
import { refuseWebSockets, type WebSockets, wantsWebSocket } from './upgrade.ts'

/**
 * No route has a schema of the framework. It loads its compilers for them at every start, a hundred modules, unless it is given others.
 * Earns: 48 ms of the 963 ms of processor time that the start of a worker took.
 */
const WITHOUT_SCHEMAS = { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } }

function refuseSchema(): never {
  throw new Error('Routes have no schemas of the framework.')
}

/**
 * Assembles the application and mounts its routes, those of WebSockets where they are served. The listener that it resolves with is not bound yet; closing it closes the
 * application as well.
 */
export async function createApplication(
  runtime: HttpRuntime,
  mountRoutes: (app: FastifyInstance) => void | Promise<void>,
  webSockets?: WebSockets
): Promise<Listener> {
  const { settings, operations } = runtime
  const { metricsPath } = settings
  const cors = createCorsPolicy(settings)
  const { guardHosts, guardOrigins } = await createLocalAccess(settings, cors)
  const repairPath = createPathRepair({ operations, metricsPath })
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    rewriteUrl: incoming => repairPath(incoming.url ?? '/'),
    // The router's own bound of 100 is shorter than some model ids.
    routerOptions: { maxParamLength: MODEL_CHARACTERS_MAX },
    schemaController: WITHOUT_SCHEMAS,
    frameworkErrors(error, request, reply) {
      openContext(request, reply)
      app.errorHandler(error, request, reply)
    }
  })
  const methods = collectMethods(app)
  const payloadLog = await loadPayloadLog(runtime)
  const describer = createRequestDescriber({ methods, findFamily: createFamilyFinder(operations) })
  const readKeyFacts = createKeyFacts(runtime)
  const openContext = createContextOpener(runtime, { cors, describer, payloadLog, readKeyFacts })

  expectContexts(app)
  app.setErrorHandler(createErrorResponder())
  runStages(app, [
    openContext,
    refuseBrokenHeads(),
    ...(guardHosts === undefined ? [] : [guardHosts]),
    respondToPreflights(cors),
    guardOrigins,
    refuseWebSockets(),
    refuseWhileDraining(runtime),
    acceptLengths(runtime),
    refuseUnknownPaths(methods),
    acceptCredentials(runtime)
  ])
  waitForRecordRoom(app, runtime)
  acceptBodies(app, runtime)
  await mountRoutes(app)
  webSockets?.mount(app)
  await app.ready()

  const unserved = createUnservedRequests({
    ...runtime,
    readKeyFacts,
    describe({ url = '/', headers }) {
      // The query of a request that was not served is not read.
      return describer.describePath({ path: withoutQuery(repairPath(url)), headers, query: {} })
    }
  })
  const isUpgraded = (incoming: IncomingMessage) =>
    wantsWebSocket(incoming) && webSockets?.serves(withoutQuery(repairPath(incoming.url ?? '/'))) === true
  const listener = createListener((incoming, outgoing) => app.routing(incoming, outgoing), unserved, {
    keepAliveMs: settings.keepAliveSeconds * 1000,
    isUpgraded: webSockets === undefined ? undefined : isUpgraded,
    onRefused: createRefusalReport(runtime.log)
  })
  webSockets?.attach(listener.connect)
  return {
    ...listener,
    async close() {
      await webSockets?.close()
      await listener.close(runtime.drainGate.keptIdleMs)
      await app.close()
    }
  }
}

/** The log itself bounds how often the line is written, but a flood of connections should not even ask it. */
const REFUSAL_INTERVAL_MS = 60_000

function createRefusalReport(log: Logger): (refused: RefusedConnection) => void {
  let reportedAtMs = Number.NEGATIVE_INFINITY
  return refused => {
    const nowMs = performance.now()
    if (nowMs - reportedAtMs < REFUSAL_INTERVAL_MS) return
    reportedAtMs = nowMs
    const fields = 'cause' in refused ? { err: refused.cause } : { connections_max: refused.connectionsMax }
    log.warn(
      { event: 'connections_refused', ...fields },
      'Connections are refused: this process may open no more descriptors'
    )
  }
}

async function loadPayloadLog(runtime: HttpRuntime): Promise<PayloadLog | undefined> {
  if (runtime.settings.logLevel !== 'DEBUG') return undefined
  const { createPayloadLog } = await import('./response/payload-log.ts')
  return createPayloadLog(runtime)
}
