// The operations of the completions family with a path of their own; the Responses protocol and the
// model lists have files of theirs.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationHandler, OperationHandlers } from '../http/mount-operations.ts'
import { setModel } from '../http/request/body-model.ts'
import { completionsFace } from '../protocols/completions/client/face.ts'
import { createChatHandler } from './chat.ts'
import { createEmbeddingsHandler } from './embeddings.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

type CompletionsOperation =
  | 'createChatCompletion'
  | 'createDeploymentChatCompletion'
  | 'createEmbedding'
  | 'createDeploymentEmbedding'

type Handle = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

export function createCompletionsHandlers(runtime: WorkerRuntime): OperationHandlers<CompletionsOperation> {
  const chat = createChatHandler(runtime, { protocol: 'completions', face: completionsFace })
  const embed = createEmbeddingsHandler(runtime, 'embeddings')
  return {
    createChatCompletion: (request, reply) => chat(request, reply),
    createDeploymentChatCompletion: withModel(chat),
    createEmbedding: (request, reply) => embed(request, reply),
    createDeploymentEmbedding: withModel(embed)
  }
}

/** Gives a handler the model of the path as that of the body (decisions.md 110). */
function withModel(handle: Handle): OperationHandler {
  return (request, reply, { model = '' }) => {
    const { context } = request
    context.body = setModel(context.body, model)
    return handle(request, reply)
  }
}
