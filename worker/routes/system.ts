// The routes for liveness, readiness and the root (operations.md 2.1).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createReadinessDocument } from '../../shared/documents/documents.ts'
import { systemTraits } from '../http/request/route-traits.ts'
import { sendJson, sendWhole } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => void

/** The parts of a worker that the system routes report. */
export type SystemFacts = Pick<WorkerRuntime, 'readReadiness' | 'settings'>

/**
 * Paths besides the root that clients ask for to see whether a server is there (decisions.md 58).
 */
const ROOT_ALIASES = ['/v1', '/v2', '/api/hello']

/** Mounts `/` and its aliases, `/health`, `/ping`, `/ready` and the Kubernetes names `/livez` and `/readyz`. */
export function registerSystemRoutes(app: FastifyInstance, facts: SystemFacts): void {
  const { readReadiness, settings } = facts
  const rootBody = JSON.stringify({ status: 'ok', mode: settings.mode })

  function mount(path: string, methods: string[], handler: Handler): void {
    app.route({ method: methods, url: path, config: { traits: systemTraits(path) }, handler })
  }

  /**
   * Liveness depends on no other part of the gateway, so that a slow part cannot get the process
   * killed (field-lessons.md I7).
   */
  function sendLiveness(_request: FastifyRequest, reply: FastifyReply): void {
    sendWhole(reply, { status: 200, body: '' })
  }

  function sendReadiness({ context }: FastifyRequest, reply: FastifyReply): void {
    const document = createReadinessDocument(readReadiness())
    if (!document.ready) context.failed(new GatewayError('gateway_not_ready'))
    sendJson(reply, document.ready ? 200 : 503, {}, JSON.stringify(document))
  }

  function sendStatus(_request: FastifyRequest, reply: FastifyReply): void {
    sendJson(reply, 200, {}, rootBody)
  }

  function leadToDocs(_request: FastifyRequest, reply: FastifyReply): void {
    sendWhole(reply, { status: 307, headers: ['location', '/docs'], body: '' })
  }

  mount('/', ['GET', 'HEAD'], settings.mode === 'DEV' ? leadToDocs : sendStatus)
  for (const path of ROOT_ALIASES) mount(path, ['GET', 'HEAD'], sendStatus)
  mount('/health', ['GET', 'HEAD'], sendLiveness)
  mount('/livez', ['GET', 'HEAD'], sendLiveness)
  mount('/ping', ['GET', 'HEAD', 'POST'], sendLiveness)
  mount('/ready', ['GET', 'HEAD'], sendReadiness)
  mount('/readyz', ['GET', 'HEAD'], sendReadiness)
}
