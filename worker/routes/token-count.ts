// A token count of any family: read, plan, execute, write. Families differ only in their client face.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { countTokens } from '../execution/count-tokens.ts'
import { createNotices } from '../execution/notice.ts'
import { sendJson } from '../http/respond.ts'
import { type TokenCountProtocol, tokenCountFaces } from '../protocols/registry.ts'
import type { OutsideBody } from './chat.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** The handler of a token count. An error that it raises is sent in the family's form. */
export function createTokenCountHandler(runtime: WorkerRuntime, protocol: TokenCountProtocol) {
  const { members } = tokenCountFaces[protocol]
  const notices = createNotices(runtime.log, path => members.has(path))

  return async function handleTokenCount(
    { context }: FastifyRequest,
    reply: FastifyReply,
    outside: OutsideBody = {}
  ): Promise<void> {
    const { requestId, apiMode, body: bytes, signal, descriptionOptions: description } = context
    const refusal = context.refusesUnsupported ? ({ refusesUnsupported: true } as const) : {}
    const job = { protocol, apiMode, bytes, context: { requestId, ...outside, ...refusal }, description }
    const counted = await runtime.translator.translateTokenCount(job, signal)
    if (counted.description !== undefined) context.described(counted.description)
    notices.note(context, counted.plan.publicModel, counted.leftOut)
    const { body, headers = {} } = await countTokens(runtime, context, { protocol, counted })
    sendJson(reply, 200, headers, body)
  }
}
