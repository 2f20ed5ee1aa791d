// Mounts the messages family; its model lists share their routes with the other families (`models.ts`).

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { countTokens } from '../execution/count-tokens.ts'
import { sendJson } from '../http/respond.ts'
import { mountOperation } from '../http/route-traits.ts'
import { readCountTokensRequest, writeCountTokens } from '../protocols/messages/client/count-tokens.ts'
import { messagesFace } from '../protocols/messages/client/face.ts'
import { PING_FRAME } from '../protocols/messages/client/stream.ts'
import { readJsonObject } from '../translation/json-body.ts'
import { createChatHandler } from './chat.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export function registerMessagesRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  const create = createChatHandler(runtime, { protocol: 'messages', face: messagesFace, keepAliveText: PING_FRAME })

  async function count(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { context } = request
    const read = readCountTokensRequest(readJsonObject(context.body), { requestId: context.requestId })
    const { extraHeaders } = read.request
    const counts = await countTokens(runtime, context, { ...read, extraHeaders })
    sendJson(reply, 200, {}, JSON.stringify(writeCountTokens(counts)))
  }

  const family = 'messages'
  mountOperation(app, {
    method: 'POST',
    path: '/messages',
    family,
    isModelRequest: true,
    handler: (request, reply) => create(request, reply)
  })
  mountOperation(app, { method: 'POST', path: '/messages/count_tokens', family, isModelRequest: true, handler: count })
}
