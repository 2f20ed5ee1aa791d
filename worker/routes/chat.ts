// A chat operation of any family: read, admit, execute, write. The client face makes the whole difference between families.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { admitToModel } from '../execution/model-slot.ts'
import { type EventStreamWriter, startEventStream } from '../http/event-stream.ts'
import type { RequestContext } from '../http/request-context.ts'
import { sendJson } from '../http/respond.ts'
import { type ClientProtocol, GatewayError, type NormalizedEvent, toGatewayError } from '../normalized/index.ts'
import type { ChatClientFace, ReadContext, ResponseContext } from '../protocols/face.ts'
import type { EventSink, NativeProvider } from '../providers/types.ts'
import type { WorkerRuntime } from '../runtime.ts'
import type { TranslatedChat } from '../translation/types.ts'

export interface ChatOperation {
  protocol: ClientProtocol
  face: ChatClientFace
  /** What keeps proxies from giving up a silent stream: a comment unless said otherwise, nothing where null. */
  keepAliveText?: string | null
  /** Media type of a streamed answer; server-sent events unless said otherwise. */
  streamType?: string
  /** Whether this client cannot take a change of the answer's id while it streams. */
  needsFinalId?: (request: FastifyRequest) => boolean
}

/** A comment of a stream: no client shows it to anybody. */
const KEEP_ALIVE_COMMENT = ': keep-alive\n\n'

/** What a protocol says of a request outside its body. */
export type OutsideBody = Omit<ReadContext, 'requestId'>

/** The handler of a chat operation. What it throws is answered in the family's form. */
export function createChatHandler(runtime: WorkerRuntime, operation: ChatOperation) {
  const { protocol, face } = operation

  async function answerCall(call: TranslatedChat, reply: FastifyReply): Promise<void> {
    const { context } = reply.request
    context.planned({
      model: call.plan.publicModel,
      providerKind: call.plan.providerKind,
      profileId: call.plan.profileId,
      isStream: call.request.isStream
    })
    if (call.request.isStream) context.expectStream()
    // Waiting for what is there already would put turns of the loop between a small request and its call.
    const admission = admitToModel(runtime, call.plan.slotKey, context)
    const slot = admission instanceof Promise ? await admission : admission
    let lease: ReturnType<typeof runtime.providers.acquire> | undefined
    try {
      lease = runtime.providers.acquire(context.authorization)
      const answer: ResponseContext = {
        requestId: context.requestId,
        createdAt: Math.floor(context.startedAtEpochMs / 1000),
        model: call.plan.publicModel,
        request: call.request,
        now: () => Math.floor(runtime.clock.nowMs() / 1000),
        needsFinalId: operation.needsFinalId?.(reply.request) === true
      }
      if (call.request.isStream) {
        await streamAnswer(lease.provider, call, { reply, operation, answer })
        return
      }
      const response = await lease.provider.complete(call, context.callContext(call.request.extraHeaders))
      if (response.usage !== null) context.usage(response.usage)
      sendJson(reply, 200, {}, JSON.stringify(face.writeResponse(response, answer)))
    } catch (thrown) {
      throw refineError(thrown, face, call)
    } finally {
      lease?.release()
      slot.release()
    }
  }

  return function handleChat(request: FastifyRequest, reply: FastifyReply, outside: OutsideBody = {}): Promise<void> {
    const { requestId, apiMode, body, signal } = request.context
    const job = { protocol, apiMode, bytes: body, context: { requestId, ...outside } }
    const translation = runtime.translator.translate(job, signal)
    return translation instanceof Promise
      ? translation.then(call => answerCall(call, reply))
      : answerCall(translation, reply)
  }
}

/** Some failures mean more to the family than to the place that raised them. */
function refineError(thrown: unknown, face: ChatClientFace, call: TranslatedChat): unknown {
  return GatewayError.is(thrown) && face.refineError !== undefined ? face.refineError(thrown, call.request) : thrown
}

interface StreamPlace {
  reply: FastifyReply
  operation: ChatOperation
  answer: ResponseContext
}

async function streamAnswer(
  provider: NativeProvider,
  call: TranslatedChat,
  { reply, operation, answer }: StreamPlace
): Promise<void> {
  const { context } = reply.request
  const { keepAliveText = KEEP_ALIVE_COMMENT } = operation
  const writer = operation.face.createStreamWriter(answer)
  let stream: EventStreamWriter | undefined
  const sink: EventSink = {
    push(events) {
      // The head goes out with the first event: until then a failure can still be an HTTP status.
      stream ??= startEventStream(reply, {
        ...(keepAliveText === null ? {} : { keepAliveText }),
        ...(operation.streamType === undefined ? {} : { contentType: operation.streamType })
      })
      const hasRoom = stream.write(writer.write(events))
      for (const event of events) observeEvent(context, event)
      return hasRoom
    },
    whenDrained: () => stream?.whenDrained() ?? Promise.resolve()
  }
  try {
    await provider.stream(call, context.callContext(call.request.extraHeaders), sink)
    // Cut at the drain deadline: whoever is still listening is told so in the form of the stream.
    if (stream !== undefined && context.isAborted) throw context.signal.reason
    stream?.end()
  } catch (thrown) {
    // Once the head is out, nobody but the stream itself can tell the client how it ended.
    if (stream === undefined) throw thrown
    const error = toGatewayError(thrown)
    context.failed(error)
    endWithError(context, stream, error, () => writer.write([{ type: 'error', error }]))
  }
}

/** Ends a stream with an error; one that cannot even be written ends the connection. */
function endWithError(
  context: RequestContext,
  stream: EventStreamWriter,
  error: GatewayError,
  write: () => string
): void {
  try {
    stream.end(write())
  } catch {
    context.cut(error)
  }
}

function observeEvent(context: RequestContext, event: NormalizedEvent): void {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
    case 'tool-call-start':
      context.firstToken()
      break
    case 'usage':
      if (event.usage !== null) context.usage(event.usage)
      break
    case 'error':
      context.failed(event.error)
      break
  }
}
