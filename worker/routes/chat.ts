// A chat operation of any family: read, plan, execute, write. Families differ only in their client face.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { admitEarly, execute } from '../execution/execute.ts'
import { createNotices } from '../execution/notice.ts'
import { findLocalFacts } from '../http/connections/local-connection.ts'
import type { KeepAliveText } from '../http/event-stream.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { BackgroundTurn } from '../memory/background-response.ts'
import type { ChatTurn } from '../memory/chat-turn.ts'
import { type ClientProtocol, GatewayError, toGatewayError } from '../normalized/index.ts'
import type { ChatClientFace, ReadContext, ResponseContext } from '../protocols/client-face.ts'
import type { TranslatedChat } from '../translation/types.ts'
import type { BackgroundRun } from './background-runs.ts'
import { EarlyHead } from './early-head.ts'
import { type ClientSink, StreamSink, WholeResponseSink } from './response-sink.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export interface ChatOperation {
  protocol: ClientProtocol
  face: ChatClientFace
  /** Sent while a stream is silent, so that no proxy closes it. Absent: a comment; null: nothing is sent. */
  keepAliveText?: KeepAliveText | null
  /** Media type of a streamed response; absent: server-sent events. */
  streamType?: string
  /** Whether this client refuses a change of the response's id while it streams. */
  needsFinalId?: (request: FastifyRequest) => boolean
  /** `ResponseContext.seal`. */
  seal?: ((text: string) => string) | undefined
  /** Begins the turn of a request whose state the gateway keeps; absent, and undefined, for all others. */
  openTurn?: ((context: RequestContext) => Promise<ChatTurn | undefined>) | undefined
  /** Runs the response of a turn in the background; present where turns can be. */
  runInBackground?: ((run: BackgroundRun) => Promise<void>) | undefined
}

/** A comment of a server-sent event stream: clients ignore it. */
const KEEP_ALIVE_COMMENT = ': keep-alive\n\n'

/** The parts of a request that a protocol puts into its URL or headers. */
export type OutsideBody = Omit<ReadContext, 'requestId'>

/** The handler of a chat operation. An error that it raises is sent in the family's form. */
export function createChatHandler(runtime: WorkerRuntime, operation: ChatOperation) {
  const { protocol, face } = operation
  const { keepAliveText = KEEP_ALIVE_COMMENT, streamType } = operation
  const streamOptions = { keepAliveText, contentType: streamType }
  const headAfterMs = runtime.settings.streamHeadAfterSeconds * 1000
  const notices = createNotices(runtime.log, path => face.members.has(path))

  function createResponseContext(call: TranslatedChat, { request }: FastifyReply): ResponseContext {
    const { context } = request
    return {
      requestId: context.requestId,
      createdAt: Math.floor(context.startedAtEpochMs / 1000),
      model: call.plan.publicModel,
      request: call.request,
      now: () => Math.floor(runtime.clock.nowMs() / 1000),
      needsFinalId: operation.needsFinalId?.(request) === true,
      seal: operation.seal
    }
  }

  /** Undefined where the head of a stream waits for its first event; a connection in memory has no balancer. */
  function createEarlyHead(reply: FastifyReply): EarlyHead<StreamSink> | undefined {
    if (headAfterMs === 0 || findLocalFacts(reply.request.raw) !== undefined) return undefined
    return new EarlyHead<StreamSink>(reply, streamOptions, headAfterMs)
  }

  function createSink(
    call: TranslatedChat,
    reply: FastifyReply,
    { turn, early }: { turn: ChatTurn | undefined; early: EarlyHead<StreamSink> | undefined }
  ): ClientSink {
    const responseContext = createResponseContext(call, reply)
    const options = { reply, protocol, face, responseContext, keeper: turn?.keeper }
    if (!call.request.isStream) return new WholeResponseSink(options, runtime.translator)
    const sink = new StreamSink(options, { ...streamOptions, early })
    early?.await(sink)
    return sink
  }

  /** @param open the sink of the response, at the call of its provider. */
  function deliver(
    call: TranslatedChat,
    context: RequestContext,
    { turn, open }: { turn: ChatTurn | undefined; open: () => ClientSink }
  ): Promise<void> {
    const { extraHeaders, carriesFileBytes, model: requestedModel } = call.request
    const isStream = turn?.background?.isStream ?? call.request.isStream
    if (isStream) context.lifetime.expectStream()
    const onLeftOut = (paths: readonly string[]) =>
      notices.note(context, call.plan.publicModel, turn?.shiftFields(paths) ?? paths)
    if (call.leftOut !== undefined) onLeftOut(call.leftOut)
    const options = { isStream, extraHeaders, requestedModel, wantsFileBytes: carriesFileBytes, onLeftOut }
    const { plan, targeting, tokenEstimate } = call
    return execute(
      runtime,
      { context, plan, targeting, tokenEstimate },
      options,
      async (executor, callContext, place) => {
        const sink = open()
        try {
          await executor.chat(place(call), callContext, sink)
          await sink.finish()
        } catch (thrown) {
          const error = toGatewayError(thrown)
          if (!(await sink.fail(error))) throw thrown
          context.failed(error)
        }
      }
    )
  }

  /** A function of its own: while the response is written, nothing refers to the client's body. */
  function translate(
    context: RequestContext,
    outside: OutsideBody,
    turn: ChatTurn | undefined
  ): Promise<TranslatedChat> {
    const { requestId, apiMode, signal, modelScope: scope, descriptionOptions: description } = context
    const refusal = context.refusesUnsupported ? ({ refusesUnsupported: true } as const) : {}
    const bytes = turn?.bytes ?? context.body
    const kept = turn === undefined ? {} : { turn: turn.response, storesByDefault: false }
    const read = { requestId, ...outside, ...refusal, ...kept }
    const estimatesTokens = context.limitState?.needsEstimate
    const job = { protocol, apiMode, bytes, context: read, scope, description, estimatesTokens }
    return runtime.translator.translateChat(job, signal)
  }

  async function read(
    context: RequestContext,
    outside: OutsideBody,
    turn: ChatTurn | undefined
  ): Promise<TranslatedChat> {
    const call = await translate(context, outside, turn)
    if (call.description !== undefined) context.described(call.description)
    turn?.planned(call)
    return call
  }

  async function run(
    reply: FastifyReply,
    outside: OutsideBody,
    { turn, early }: { turn: ChatTurn | undefined; early: EarlyHead<StreamSink> | undefined }
  ): Promise<void> {
    const { context } = reply.request
    const call = await read(context, outside, turn)
    const open = () => createSink(call, reply, { turn, early })
    await deliver(call, context, { turn, open }).catch((thrown: unknown) => {
      throw refineError(thrown, face, call)
    })
  }

  /** Serves a request with memory. Where the context is too long, it may run once more without its oldest turns. */
  async function runTurn(reply: FastifyReply, outside: OutsideBody, turn: ChatTurn): Promise<void> {
    const early = createEarlyHead(reply)
    try {
      await run(reply, outside, { turn, early }).catch((thrown: unknown) => {
        if (!turn.shorten(thrown)) throw thrown
        return run(reply, outside, { turn, early })
      })
    } catch (thrown) {
      await failBehindHead(early, turn.refine(thrown), reply)
    } finally {
      await turn.close()
    }
  }

  async function runAlone(reply: FastifyReply, outside: OutsideBody): Promise<void> {
    const early = createEarlyHead(reply)
    if (early === undefined) return run(reply, outside, { turn: undefined, early })
    await run(reply, outside, { turn: undefined, early }).catch(thrown => failBehindHead(early, thrown, reply))
  }

  /** Starts a response in the background. What is wrong with its request is an error all the same. */
  async function runDetached(reply: FastifyReply, outside: OutsideBody, turn: DetachedTurn): Promise<void> {
    const { context } = reply.request
    let isStarted = false
    try {
      const call = await read(context, outside, turn).catch((thrown: unknown) => {
        if (!turn.shorten(thrown)) throw thrown
        return read(context, outside, turn)
      })
      // A client that is beyond its limits is told so, and no response begins.
      await admitEarly(runtime, { context, ...call }, { requestedModel: call.request.model })
      isStarted = true
      await operation.runInBackground?.({
        reply,
        face,
        responseContext: { ...createResponseContext(call, reply), needsFinalId: false },
        turn: turn.background,
        chat: open => chatDetached(call, context, { outside, turn, open }),
        close: () => turn.close()
      })
    } catch (thrown) {
      throw turn.refine(thrown)
    } finally {
      if (!isStarted) await turn.close()
    }
  }

  /** Calls the provider of a response in the background; once more where the context is too long. */
  async function chatDetached(
    call: TranslatedChat,
    context: RequestContext,
    { outside, turn, open }: { outside: OutsideBody; turn: DetachedTurn; open: () => ClientSink }
  ): Promise<void> {
    try {
      await deliver(call, context, { turn, open })
    } catch (thrown) {
      const error = refineError(thrown, face, call)
      if (!turn.shorten(error)) throw turn.refine(error)
      await deliver(await read(context, outside, turn), context, { turn, open })
    }
  }

  return async function handleChat(
    { context }: FastifyRequest,
    reply: FastifyReply,
    outside: OutsideBody = {}
  ): Promise<void> {
    const turn = await operation.openTurn?.(context)
    if (turn === undefined) return runAlone(reply, outside)
    return isDetached(turn) ? runDetached(reply, outside, turn) : runTurn(reply, outside, turn)
  }
}

type DetachedTurn = ChatTurn & { readonly background: BackgroundTurn }

function isDetached(turn: ChatTurn): turn is DetachedTurn {
  return turn.background !== undefined
}

/** Writes the failure of a stream whose head was sent into the stream. Raises it where none was sent. */
async function failBehindHead(
  early: EarlyHead<StreamSink> | undefined,
  thrown: unknown,
  { request }: FastifyReply
): Promise<void> {
  const sink = early?.takeFailing()
  if (sink === undefined) throw thrown
  const error = toGatewayError(thrown)
  await sink.fail(error)
  request.context.failed(error)
}

/** Lets the client face replace an error: some errors have a more exact form in one family. */
function refineError(thrown: unknown, face: ChatClientFace, call: TranslatedChat): unknown {
  return GatewayError.is(thrown) && face.refineError !== undefined ? face.refineError(thrown, call.request) : thrown
}
