// Mounts the completions family: every operation at the root, under /v1 and under /v2.

import type { FastifyInstance } from 'fastify'
import { mountOperation } from '../http/route-traits.ts'
import { completionsFace } from '../protocols/completions/client.ts'
import type { WorkerRuntime } from '../runtime.ts'
import { createChatHandler } from './chat.ts'
import { createEmbeddingsHandler } from './embeddings.ts'
import { createModelHandlers } from './models.ts'

export function registerCompletionsRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  const models = createModelHandlers(runtime)
  const chat = createChatHandler(runtime, {
    protocol: 'completions',
    face: completionsFace,
    keepAliveText: ': keep-alive\n\n'
  })
  const family = 'completions'
  mountOperation(app, { method: 'POST', path: '/chat/completions', family, isModelRequest: true, handler: chat })
  mountOperation(app, {
    method: 'POST',
    path: '/embeddings',
    family,
    isModelRequest: true,
    handler: createEmbeddingsHandler(runtime)
  })
  mountOperation(app, { method: 'GET', path: '/models', family, isModelRequest: false, handler: models.list })
  mountOperation(app, {
    method: 'GET',
    path: '/models/*',
    template: '/models/{model}',
    family,
    isModelRequest: false,
    handler: models.get
  })
  mountOperation(app, { method: 'GET', path: '/model/info', family, isModelRequest: false, handler: models.info })
}
