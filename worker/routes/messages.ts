// Mounts the messages family; its model lists share their routes with the other families (`models.ts`).

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mountOperation } from '../http/route-traits.ts'
import { messagesFace } from '../protocols/messages/client/face.ts'
import { PING_FRAME } from '../protocols/messages/client/stream.ts'
import { createChatHandler, type OutsideBody } from './chat.ts'
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
    handler: (request, reply) => create(request, reply, readOutside(request))
  })
  mountOperation(app, {
    method: 'POST',
    path: '/messages/count_tokens',
    family,
    isModelRequest: true,
    handler: (request, reply) => count(request, reply, readOutside(request))
  })
}

/** Names the beta features of a request. Its service refuses a body with members of a feature that the header does not name. */
const BETA_HEADER = 'anthropic-beta'

function readOutside({ headers }: FastifyRequest): OutsideBody {
  const betas = headers[BETA_HEADER]
  return betas === undefined ? {} : { wireHeaders: [BETA_HEADER, String(betas)] }
}
