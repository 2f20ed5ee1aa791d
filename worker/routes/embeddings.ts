// Embeddings of the completions family: read, admit, execute, write.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { readJsonObject } from '../http/json-body.ts'
import { sendJson } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'
import {
  type EmbeddingsInput,
  readEmbeddingsRequest,
  writeEmbeddingsError,
  writeEmbeddingsResponse
} from '../protocols/completions/embeddings.ts'
import type { WorkerRuntime } from '../runtime.ts'
import { admitToModel } from './admission.ts'

export function createEmbeddingsHandler(runtime: WorkerRuntime) {
  const { passModel, embeddings: defaultModel } = runtime.settings

  async function readTexts(input: EmbeddingsInput, model: string, signal: AbortSignal): Promise<string[]> {
    if (input.type === 'texts') return input.texts
    return runtime.translator.decodeTokens({ model, texts: input.tokens }, signal)
  }

  async function handleEmbeddings(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { context } = request
    const wanted = readEmbeddingsRequest(readJsonObject(context.body))
    const model = (passModel ? wanted.model : undefined) ?? defaultModel
    const input = await readTexts(wanted.input, wanted.model ?? model, context.signal)
    context.facts = { model: wanted.requestedModel ?? model, providerKind: 'native' }
    const slot = await admitToModel(runtime, model, context)
    const lease = runtime.providers.acquire(context.authorization)
    try {
      const answer = await lease.provider.embed({ model, input }, context.callContext(wanted.extraHeaders))
      if (answer.promptTokens !== null) context.facts.inputTokens = answer.promptTokens
      const body = writeEmbeddingsResponse(answer, { model: wanted.requestedModel ?? model, encoding: wanted.encoding })
      sendJson(reply, 200, {}, JSON.stringify(body))
    } finally {
      lease.release()
      slot.release()
    }
  }

  return async function handle(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    try {
      await handleEmbeddings(request, reply)
    } catch (thrown) {
      // This operation alone answers a wrong field without a code (completions.md 10).
      if (!GatewayError.is(thrown) || thrown.code !== 'invalid_request') throw thrown
      const { status, headers, body } = writeEmbeddingsError(thrown, { requestId: request.context.requestId })
      request.context.failureCode = thrown.code
      sendJson(reply, status, headers, JSON.stringify(body))
    }
  }
}
