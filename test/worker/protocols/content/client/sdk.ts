// The official SDK in front of the codec, without a network: the codec's readers read the SDK's requests, and its writers write the
// responses.

import { GoogleGenAI } from '@google/genai'
import {
  accumulateEvents,
  GatewayError,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedRequest
} from '../../../../../worker/normalized/index.ts'
import type { StreamWriter } from '../../../../../worker/protocols/client-face.ts'
import { contentFace } from '../../../../../worker/protocols/content/client/face.ts'
import { readPathModel } from '../../../../../worker/protocols/content/client/path.ts'
import { joinFrames } from '../../../../../worker/protocols/shared/stream/stream-frames.ts'
import { requestId } from './support.ts'

export interface SdkCall {
  url: URL
  operation: { model: string; operation: string } | undefined
  body: JsonObject
}

/** Creates an SDK whose requests go to `respond`. */
export function createSdk(respond: (call: SdkCall) => Response): GoogleGenAI {
  async function fetch(input: unknown, init?: { body?: unknown }): Promise<Response> {
    const url = new URL(String(input))
    const rest = /\/models\/(.*)$/.exec(decodeURIComponent(url.pathname))?.[1]
    const body = typeof init?.body === 'string' ? JSON.parse(init.body) : {}
    return respond({ url, operation: rest === undefined ? undefined : readOperation(rest), body })
  }
  return new GoogleGenAI({ apiKey: 'test', httpOptions: { fetch: fetch as typeof globalThis.fetch } })
}

function readOperation(rest: string): SdkCall['operation'] {
  const [, name, operation] = /^(.*):(\w+)$/.exec(rest) ?? []
  return name === undefined || operation === undefined ? undefined : { model: readPathModel(name), operation }
}

export interface Exchange {
  sdk: GoogleGenAI
  /** The requests that the codec read, in order. */
  requests: NormalizedRequest[]
}

/** Creates an SDK whose generate calls get the events of `responses` in turn; each response is a list of upstream reads. */
export function createExchange(responses: NormalizedEvent[][][]): Exchange {
  const requests: NormalizedRequest[] = []
  const sdk = createSdk(({ operation, body }) => {
    if (operation === undefined) throw new Error('Not an operation on a model.')
    const isStream = operation.operation === 'streamGenerateContent'
    const reads = responses[requests.length] ?? []
    try {
      const request = contentFace.readRequest(body, { requestId, path: { model: operation.model, isStream } })
      requests.push(request)
      const context = { requestId, createdAt: 0, model: operation.model, request }
      if (!isStream) return Response.json(contentFace.writeResponse(accumulateEvents(reads.flat()), context))
      const writer = contentFace.createStreamWriter(context)
      return streamOf(
        reads.map(read => joinFrames(writer.write(read))),
        writer
      )
    } catch (thrown) {
      if (!GatewayError.is(thrown)) throw thrown
      const { status, body } = contentFace.writeError(thrown, { requestId })
      return Response.json(body, { status })
    }
  })
  return { sdk, requests }
}

/** A body of these pieces; that of a failed stream breaks off after the error. */
function streamOf(pieces: readonly string[], { brokenEnd }: StreamWriter): Response {
  const encoder = new TextEncoder()
  const rest = [...pieces, brokenEnd ?? ''].filter(piece => piece !== '')
  const body = new ReadableStream({
    pull(controller) {
      const piece = rest.shift()
      if (piece !== undefined) controller.enqueue(encoder.encode(piece))
      else if (brokenEnd === undefined) controller.close()
      else controller.error(new TypeError('terminated'))
    }
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
