// Routes that say how the process is: liveness, readiness, and what answers at the root (operations contract, section 2.1).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createReadinessDocument } from '../../shared/documents.ts'
import { sendJson, sendWhole } from '../http/respond.ts'
import { systemTraits } from '../http/route-traits.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => void

/** What the system routes speak about. */
export type SystemFacts = Pick<WorkerRuntime, 'control' | 'drainGate' | 'revisions' | 'settings'>

/** Mounts `/`, `/health`, `/ping`, `/ready` and the names that Kubernetes uses for the same. */
export function registerSystemRoutes(app: FastifyInstance, facts: SystemFacts): void {
  const { control, drainGate, revisions, settings } = facts
  const rootBody = JSON.stringify({ status: 'ok', mode: settings.mode })

  function mount(path: string, methods: string[], handler: Handler): void {
    app.route({ method: methods, url: path, config: { traits: systemTraits(path) }, handler })
  }

  /** Alive means that this process answers; nothing else is asked, so that no slow part can get it killed (field lesson I7). */
  function answerAlive(_request: FastifyRequest, reply: FastifyReply): void {
    sendWhole(reply, { status: 200, body: '' })
  }

  /** No provider is called: readiness is what the last catalog snapshot and the drain gate say. */
  function answerReady(_request: FastifyRequest, reply: FastifyReply): void {
    const document = createReadinessDocument({
      isDraining: drainGate.isDraining,
      revisions,
      hasProviderRoutes: true,
      areAdaptersReady: true,
      catalog: control.catalogSnapshot()
    })
    sendJson(reply, document.ready ? 200 : 503, {}, JSON.stringify(document))
  }

  mount('/', ['GET', 'HEAD'], (_request, reply) => sendJson(reply, 200, {}, rootBody))
  mount('/health', ['GET', 'HEAD'], answerAlive)
  mount('/livez', ['GET', 'HEAD'], answerAlive)
  mount('/ping', ['GET', 'HEAD', 'POST'], answerAlive)
  mount('/ready', ['GET', 'HEAD'], answerReady)
  mount('/readyz', ['GET', 'HEAD'], answerReady)
}
