// An embeddings operation of any family: read, plan, execute, write. Families differ only in their client face.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { embedTexts } from '../execution/embed.ts'
import { createNotices } from '../execution/notice.ts'
import { sendJson } from '../http/respond.ts'
import { type EmbeddingsOperation, embeddingsFaces } from '../protocols/registry.ts'
import type { OutsideBody } from './chat.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** The handler of an embeddings operation. An error that it raises is sent in the family's form. */
export function createEmbeddingsHandler(runtime: WorkerRuntime, operation: EmbeddingsOperation) {
  const { members } = embeddingsFaces[operation]
  const notices = createNotices(runtime.log, path => members.has(path))

  return async function handleEmbeddings(
    { context }: FastifyRequest,
    reply: FastifyReply,
    outside: OutsideBody = {}
  ): Promise<void> {
    const { requestId, apiMode, body: bytes, signal, modelScope: scope, descriptionOptions: description } = context
    const refusal = context.refusesUnsupported ? ({ refusesUnsupported: true } as const) : {}
    const read = { requestId, ...outside, ...refusal }
    const estimatesTokens = context.limitState?.needsEstimate
    const job = { operation, apiMode, bytes, context: read, scope, description, estimatesTokens }
    const translated = await runtime.translator.translateEmbeddings(job, signal)
    if (translated.description !== undefined) context.described(translated.description)
    notices.note(context, translated.plan.publicModel, translated.leftOut)
    const { body } = await embedTexts(runtime, context, { operation, translated })
    sendJson(reply, 200, {}, body)
  }
}
