// Mounts the completions family: every operation at the root, under /v1 and under /v2.

import type { FastifyInstance } from 'fastify'
import { mountOperation } from '../http/route-traits.ts'
import { completionsFace } from '../protocols/completions/client/face.ts'
import { createChatHandler } from './chat.ts'
import { createEmbeddingsHandler } from './embeddings.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export function registerCompletionsRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  const chat = createChatHandler(runtime, { protocol: 'completions', face: completionsFace })
  const embed = createEmbeddingsHandler(runtime, 'embeddings')
  const shared = { method: 'POST', family: 'completions', isModelRequest: true } as const
  mountOperation(app, { ...shared, path: '/chat/completions', handler: (request, reply) => chat(request, reply) })
  mountOperation(app, { ...shared, path: '/embeddings', handler: (request, reply) => embed(request, reply) })
}
