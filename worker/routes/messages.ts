// Mounts the messages family; its model lists share their routes with the other families (`models.ts`).

import type { FastifyInstance } from 'fastify'
import { mountOperation } from '../http/route-traits.ts'
import { messagesFace } from '../protocols/messages/client/face.ts'
import { PING_FRAME } from '../protocols/messages/client/stream.ts'
import { createChatHandler } from './chat.ts'
import { createTokenCountHandler } from './token-count.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export function registerMessagesRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  const create = createChatHandler(runtime, { protocol: 'messages', face: messagesFace, keepAliveText: PING_FRAME })

  const count = createTokenCountHandler(runtime, 'messages')
  const family = 'messages'
  mountOperation(app, {
    method: 'POST',
    path: '/messages',
    family,
    isModelRequest: true,
    handler: (request, reply) => create(request, reply)
  })
  mountOperation(app, {
    method: 'POST',
    path: '/messages/count_tokens',
    family,
    isModelRequest: true,
    handler: (request, reply) => count(request, reply)
  })
}
