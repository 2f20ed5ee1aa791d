// A token count of any family: read, plan, execute, write. Families differ only in their client face.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { countTokens } from '../execution/count-tokens.ts'
import { sendJson } from '../http/respond.ts'
import type { TokenCountProtocol } from '../protocols/registry.ts'
import type { OutsideBody } from './chat.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** The handler of a token count. An error that it raises is sent in the family's form. */
export function createTokenCountHandler(runtime: WorkerRuntime, protocol: TokenCountProtocol) {
  return async function handleTokenCount(
    { context }: FastifyRequest,
    reply: FastifyReply,
    outside: OutsideBody = {}
  ): Promise<void> {
    const { requestId, apiMode, body: bytes, signal, descriptionOptions: description } = context
    const job = { protocol, apiMode, bytes, context: { requestId, ...outside }, description }
    const counted = await runtime.translator.translateTokenCount(job, signal)
    if (counted.description !== undefined) context.described(counted.description)
    const { body, headers = {} } = await countTokens(runtime, context, { protocol, counted })
    sendJson(reply, 200, headers, body)
  }
}
