// The operations of the messages family, without its model lists.

import type { FastifyRequest } from 'fastify'
import type { OperationHandlers } from '../http/mount-operations.ts'
import { messagesFace } from '../protocols/messages/client/face.ts'
import { PING_FRAME } from '../protocols/messages/client/stream.ts'
import { createChatHandler, type OutsideBody } from './chat.ts'
import { createTokenCountHandler } from './token-count.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export function createMessagesHandlers(
  runtime: WorkerRuntime
): OperationHandlers<'createMessage' | 'countMessageTokens'> {
  const create = createChatHandler(runtime, { protocol: 'messages', face: messagesFace, keepAliveText: PING_FRAME })
  const count = createTokenCountHandler(runtime, 'messages')
  return {
    createMessage: (request, reply) => create(request, reply, readOutside(request)),
    countMessageTokens: (request, reply) => count(request, reply, readOutside(request))
  }
}

/**
 * Names the beta features of a request. Its service refuses a body with members of a feature that
 * the header does not name.
 */
const BETA_HEADER = 'anthropic-beta'

function readOutside({ headers }: FastifyRequest): OutsideBody {
  const betas = headers[BETA_HEADER]
  return betas === undefined ? {} : { wireHeaders: [BETA_HEADER, String(betas)] }
}
