// The embeddings operation of the completions family: read, plan, execute, write.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { embedTexts, planEmbeddings } from '../execution/embed.ts'
import { sendJson } from '../http/respond.ts'
import type { CancelSignal } from '../performance/cancel-source.ts'
import {
  type EmbeddingsInput,
  readEmbeddingsRequest,
  writeEmbeddingsResponse
} from '../protocols/completions/client/embeddings.ts'
import { readJsonObject } from '../translation/json-body.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export function createEmbeddingsHandler(runtime: WorkerRuntime) {
  async function readTexts(input: EmbeddingsInput, model: string, signal: CancelSignal): Promise<string[]> {
    if (input.type === 'texts') return input.texts
    return runtime.translator.decodeTokens({ model, texts: input.tokens }, signal)
  }

  return async function handle(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { context } = request
    const { input, model, requestedModel, encoding, extraHeaders } = readEmbeddingsRequest(readJsonObject(context.body))
    const plan = planEmbeddings(runtime, context, model)
    const texts = await readTexts(input, model ?? plan.upstreamModel, context.signal)
    const result = await embedTexts(runtime, { context, plan }, { texts, extraHeaders })
    const body = writeEmbeddingsResponse(result, { model: requestedModel ?? plan.upstreamModel, encoding })
    sendJson(reply, 200, {}, JSON.stringify(body))
  }
}
