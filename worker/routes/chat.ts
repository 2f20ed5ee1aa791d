// A chat operation of any family: read, admit, execute, write. The client face makes the whole difference between families.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type EventStreamWriter, startEventStream } from '../http/event-stream.ts'
import type { RequestContext } from '../http/request-context.ts'
import { sendJson } from '../http/respond.ts'
import { type NormalizedEvent, type NormalizedUsage, toGatewayError } from '../normalized/index.ts'
import type { AnswerContext, ChatClientFace } from '../protocols/face.ts'
import type { EventSink, NativeProvider } from '../providers/types.ts'
import type { WorkerRuntime } from '../runtime.ts'
import type { TranslatedChat, TranslationJob } from '../translation/types.ts'
import { admitToModel } from './admission.ts'

export interface ChatOperation {
  protocol: TranslationJob['protocol']
  face: ChatClientFace
  /** A frame that means nothing to the family's SDK; keeps proxies from giving up a silent stream. */
  keepAliveText: string
}

/** The handler of a chat operation. What it throws is answered in the family's form. */
export function createChatHandler(runtime: WorkerRuntime, operation: ChatOperation) {
  return async function handleChat(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { context } = request
    const { protocol, face } = operation
    const call = await runtime.translator.translate(
      { protocol, requestId: context.requestId, apiMode: context.apiMode, bytes: context.body },
      context.signal
    )
    context.facts = { model: call.plan.publicModel, providerKind: call.plan.providerKind }
    if (call.request.isStream) context.expectStream()
    const slot = await admitToModel(runtime, call.plan.slotKey, context)
    const lease = runtime.providers.acquire(context.authorization)
    try {
      const answer: AnswerContext = {
        requestId: context.requestId,
        createdAt: Math.floor(context.startedAtEpochMs / 1000),
        model: call.plan.publicModel,
        request: call.request
      }
      if (call.request.isStream) await streamAnswer(lease.provider, call, { reply, operation, answer })
      else await sendAnswer(lease.provider, call, { reply, face, answer })
    } finally {
      lease.release()
      slot.release()
    }
  }
}

async function sendAnswer(
  provider: NativeProvider,
  call: TranslatedChat,
  { reply, face, answer }: { reply: FastifyReply; face: ChatClientFace; answer: AnswerContext }
): Promise<void> {
  const { context } = reply.request
  const response = await provider.complete(call, context.callContext(call.request.extraHeaders))
  noteUsage(context, response.usage)
  sendJson(reply, 200, {}, JSON.stringify(face.writeResponse(response, answer)))
}

async function streamAnswer(
  provider: NativeProvider,
  call: TranslatedChat,
  { reply, operation, answer }: { reply: FastifyReply; operation: ChatOperation; answer: AnswerContext }
): Promise<void> {
  const { context } = reply.request
  const writer = operation.face.createStreamWriter(answer)
  let stream: EventStreamWriter | undefined
  const sink: EventSink = {
    push(events) {
      // The head goes out with the first event: until then a failure can still be an HTTP status.
      stream ??= startEventStream(reply, { keepAliveText: operation.keepAliveText })
      noteEvents(context, events)
      return stream.write(writer.write(events))
    },
    whenDrained: () => stream?.whenDrained() ?? Promise.resolve()
  }
  await provider.stream(call, context.callContext(call.request.extraHeaders), sink)
  if (stream === undefined || !context.isAborted) {
    stream?.end()
    return
  }
  // Cut at the drain deadline: whoever is still listening is told so in the form of the stream.
  const error = toGatewayError(context.signal.reason)
  context.failureCode = error.code
  stream.end(writer.write([{ type: 'error', error }]))
}

function noteEvents(context: RequestContext, events: readonly NormalizedEvent[]): void {
  for (const event of events) {
    if (event.type === 'usage') noteUsage(context, event.usage)
    else if (event.type === 'error') context.failureCode = event.error.code
  }
}

function noteUsage(context: RequestContext, usage: NormalizedUsage | null): void {
  if (usage === null) return
  if (usage.inputTokens !== null) context.facts.inputTokens = usage.inputTokens
  if (usage.outputTokens !== null) context.facts.outputTokens = usage.outputTokens
}
