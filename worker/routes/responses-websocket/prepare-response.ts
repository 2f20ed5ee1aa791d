// Responds to a wish to prepare a response (memory.md 5): the request is read and admitted like any other, and its provider is not called. A
// later message of the connection continues it.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { notePlan } from '../../execution/execute.ts'
import { startEventStream } from '../../http/event-stream.ts'
import type { ResponseTurn } from '../../normalized/index.ts'
import { createResponseTextWriter } from '../../protocols/responses/client/write-response.ts'
import type { OutsideBody } from '../chat.ts'
import type { WorkerRuntime } from '../worker-runtime.ts'

export async function prepareResponse(
  runtime: WorkerRuntime,
  { request: { context }, reply }: { request: FastifyRequest; reply: FastifyReply },
  outside: OutsideBody & { turn: ResponseTurn }
): Promise<void> {
  const { requestId, apiMode, body: bytes, signal, modelScope: scope, descriptionOptions: description } = context
  const read = { requestId, ...outside, ...(context.refusesUnsupported && { refusesUnsupported: true as const }) }
  const job = { protocol: 'responses', apiMode, bytes, context: read, scope, description } as const
  const { plan, request, ...call } = await runtime.translator.translateChat(job, signal)
  if (call.description !== undefined) context.described(call.description)
  notePlan(runtime, { context, plan }, { requestedModel: request.model, isStream: true })
  const now = () => Math.floor(runtime.clock.nowMs() / 1000)
  const createdAt = Math.floor(context.startedAtEpochMs / 1000)
  const response = { requestId, createdAt, model: plan.publicModel, request, now }
  const { write, echoText } = createResponseTextWriter(response, JSON.stringify)
  const parts = { id: outside.turn.id, output: [], metadata: {}, usage: null }
  const frame = (type: string, number: number, text: string) =>
    `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},"response":${text}${echoText === undefined ? '' : `,${echoText}}`}}\n\n`
  const stream = startEventStream(reply)
  stream.write(frame('response.created', 0, write({ ...parts, end: undefined })))
  stream.end(frame('response.completed', 1, write({ ...parts, end: { type: 'finish', reason: 'stop' } })))
}
