// The operations of the completions family with a path of their own; the Responses protocol and the
// model lists have files of theirs.

import type { OperationHandlers } from '../http/mount-operations.ts'
import { completionsFace } from '../protocols/completions/client/face.ts'
import { createChatHandler } from './chat.ts'
import { createEmbeddingsHandler } from './embeddings.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export function createCompletionsHandlers(
  runtime: WorkerRuntime
): OperationHandlers<'createChatCompletion' | 'createEmbedding'> {
  const chat = createChatHandler(runtime, { protocol: 'completions', face: completionsFace })
  const embed = createEmbeddingsHandler(runtime, 'embeddings')
  return {
    createChatCompletion: (request, reply) => chat(request, reply),
    createEmbedding: (request, reply) => embed(request, reply)
  }
}
