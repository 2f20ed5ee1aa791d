// Runs responses in the background (memory.md 4): the client has its answer at once and may leave, the provider is called in this worker all
// the same. The request stays open until the end is stored, so that the drain waits for it and observers see one request.

import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { Logger } from '../../shared/logging.ts'
import type { ResponseStore } from '../../shared/memory/store.ts'
import { startEventStream } from '../http/event-stream.ts'
import { sendJson } from '../http/respond.ts'
import { BackgroundResponse, type BackgroundTurn } from '../memory/background-response.ts'
import { clientCancellation, isClientCancellation } from '../memory/cancellation.ts'
import { followResponse } from '../memory/follow-response.ts'
import { findResponseObject } from '../memory/stream-events.ts'
import { GatewayError, type JsonObject, toGatewayError } from '../normalized/index.ts'
import type { ChatClientFace, ResponseContext } from '../protocols/client-face.ts'
import { BackgroundSink } from './background-sink.ts'
import type { ClientSink } from './response-sink.ts'

/** One response that is to run. */
export interface BackgroundRun {
  readonly reply: FastifyReply
  readonly face: Pick<ChatClientFace, 'createStreamWriter'>
  readonly responseContext: ResponseContext
  readonly turn: BackgroundTurn
  /** Calls the provider, with the sink once it is called. Rejects with the error of the request. */
  readonly chat: (createSink: () => ClientSink) => Promise<void>
  /** Called when the end is stored, or when nothing runs. */
  readonly close: () => Promise<void>
}

export interface BackgroundRuns {
  /**
   * Stores the response, answers the client and runs on. Raises `gateway_overloaded` at the bounds of a worker, and the errors of
   * `BackgroundResponse.open`: then nothing runs.
   */
  start(run: BackgroundRun): Promise<void>
}

export interface BackgroundDependencies {
  readonly store: ResponseStore
  readonly log: Logger
}

/** No client holds a connection for each of them, so that nothing else bounds their number in a worker. */
const RUNS_MAX = 256
/** What all of them hold of their requests until their ends are stored. */
const RUN_BYTES_MAX = 256 * 1024 * 1024

/** A comment of a server-sent event stream: clients ignore it. */
const KEEP_ALIVE_COMMENT = ': keep-alive\n\n'

export function createBackgroundRuns({ store, log }: BackgroundDependencies): BackgroundRuns {
  let running = 0
  let bytes = 0

  /** Raises the reason of the abort where the client has left: it does not know of the response. */
  async function open(asked: BackgroundRun, queued: JsonObject): Promise<BackgroundResponse> {
    const { turn, reply } = asked
    const { context } = reply.request
    const response = await BackgroundResponse.open({
      store,
      turn,
      response: queued,
      onCancelled: () => context.lifetime.abort(clientCancellation()),
      // The connection to the store counts what it leaves without an answer, and says so.
      onFailed: () => undefined
    })
    if (!context.isAborted) return response
    await response.end({ isCancelled: true })
    throw context.signal.reason
  }

  async function run(asked: BackgroundRun, response: BackgroundResponse): Promise<void> {
    const { context } = asked.reply.request
    const writer = asked.face.createStreamWriter(asked.responseContext)
    const sink = new BackgroundSink({ context, response, writer, turn: asked.turn })
    try {
      await asked.chat(() => {
        response.begin()
        return sink
      })
    } catch (thrown) {
      sink.conclude(toGatewayError(thrown))
    }
    const isCancelled = isClientCancellation(context.signal.reason)
    if (await response.end({ isCancelled, isHurried: () => context.isAborted && !isCancelled })) return
    const fields = { event: 'response_not_stored', ...context.logIds, reason: 'unavailable' }
    log.warn(fields, 'The end of a response in the background was not stored')
  }

  async function answer({ reply, turn }: BackgroundRun, response: BackgroundResponse, queued: JsonObject) {
    if (!turn.isStream) {
      sendJson(reply, 200, {}, JSON.stringify(queued))
      return
    }
    const { owner, id } = turn
    await followResponse({
      store,
      owner,
      id,
      after: -1,
      open: () => startEventStream(reply, { keepAliveText: KEEP_ALIVE_COMMENT }),
      // Its runner is this worker: without an end in the store the stream breaks off.
      readResponse: async () => undefined,
      // A drain waits for the response, and so does its stream.
      signal: new AbortController().signal,
      pause: ms => Promise.race([sleep(ms), response.whenStored()])
    })
  }

  return {
    async start(asked) {
      const { context } = asked.reply.request
      const { heldBytes } = asked.turn
      const hasRoom = running < RUNS_MAX && (running === 0 || bytes + heldBytes <= RUN_BYTES_MAX)
      running += 1
      bytes += heldBytes
      const release = async () => {
        running -= 1
        bytes -= heldBytes
        await asked.close()
      }
      const queued = writeQueued(asked)
      let response: BackgroundResponse
      try {
        if (!hasRoom) throw tooMany()
        response = await open(asked, queued)
      } catch (thrown) {
        await release()
        throw thrown
      }
      const reattach = context.lifetime.detach()
      void run(asked, response)
        .finally(release)
        .catch((thrown: unknown) => {
          const fields = { err: thrown, ...context.logIds, event: 'unhandled_fault' }
          log.error(fields, 'A response in the background failed because of a fault in the gateway')
        })
        .finally(reattach)
      await answer(asked, response, queued)
    }
  }
}

function tooMany(): GatewayError {
  const message = 'The gateway runs as many responses in the background as it can hold.'
  return new GatewayError('gateway_overloaded', { retryAfter: '1', message })
}

/** The response object before anything is generated: as the stream of the response begins. */
function writeQueued({ face, responseContext }: BackgroundRun): JsonObject {
  const frames = face.createStreamWriter(responseContext).write([{ type: 'start', providerModel: null, metadata: {} }])
  return { ...findResponseObject(frames), status: 'queued' }
}
