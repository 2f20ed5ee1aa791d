// A token count of any family: read, plan, execute, write. Families differ only in their client face.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { countTokens } from '../execution/count-tokens.ts'
import { createNotices } from '../execution/notice.ts'
import type { RequestContext } from '../http/request-context.ts'
import { sendJson } from '../http/respond.ts'
import type { ChatTurn } from '../memory/chat-turn.ts'
import { type TokenCountProtocol, tokenCountFaces } from '../protocols/registry.ts'
import type { OutsideBody } from './chat.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/**
 * The handler of a token count. An error that it raises is sent in the family's form.
 * @param openTurn reads the history of a request that continues something stored, for which nothing is stored.
 */
export function createTokenCountHandler(
  runtime: WorkerRuntime,
  protocol: TokenCountProtocol,
  openTurn?: (context: RequestContext) => Promise<ChatTurn | undefined>
) {
  const { members } = tokenCountFaces[protocol]
  const notices = createNotices(runtime.log, path => members.has(path))

  async function count(reply: FastifyReply, outside: OutsideBody, turn: ChatTurn | undefined): Promise<void> {
    const { context } = reply.request
    const { requestId, apiMode, signal, modelScope: scope, descriptionOptions: description } = context
    const bytes = turn?.bytes ?? context.body
    const refusal = context.refusesUnsupported ? ({ refusesUnsupported: true } as const) : {}
    const job = { protocol, apiMode, bytes, context: { requestId, ...outside, ...refusal }, scope, description }
    const counted = await runtime.translator.translateTokenCount(job, signal)
    if (counted.description !== undefined) context.described(counted.description)
    const { leftOut } = counted
    notices.note(context, counted.plan.publicModel, leftOut && (turn?.shiftFields(leftOut) ?? leftOut))
    const { body, headers = {} } = await countTokens(runtime, context, { protocol, counted })
    sendJson(reply, 200, headers, body)
  }

  return async function handleTokenCount(
    { context }: FastifyRequest,
    reply: FastifyReply,
    outside: OutsideBody = {}
  ): Promise<void> {
    const turn = await openTurn?.(context)
    try {
      await count(reply, outside, turn)
    } catch (thrown) {
      throw turn === undefined ? thrown : turn.refine(thrown)
    } finally {
      await turn?.close()
    }
  }
}
