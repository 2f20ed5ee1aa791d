// Helpers for tests of the Responses client face: read a body, catch an error, write a whole or streamed response.

import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import type { Response as SdkResponse } from 'openai/resources/responses/responses'
import { Stream } from 'openai/streaming'
import {
  accumulateEvents,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedRequest
} from '../../../../../worker/normalized/index.ts'
import type { ReadContext, ResponseContext } from '../../../../../worker/protocols/client-face.ts'
import { readResponsesRequest } from '../../../../../worker/protocols/responses/client/face.ts'
import type { ResponsesResponse } from '../../../../../worker/protocols/responses/client/schema.ts'
import { createResponsesStreamWriter } from '../../../../../worker/protocols/responses/client/stream.ts'
import { writeResponsesResponse } from '../../../../../worker/protocols/responses/client/write-response.ts'
import { joinFrames } from '../../../../../worker/protocols/shared/stream/stream-frames.ts'
import { eventsOf, failure, requestId } from '../../../../support/codec.ts'

export { eventsOf, failure, requestId }

/** Reads a body. Without `input` it gets the smallest valid input. */
export function read(body: JsonObject, context: Partial<ReadContext> = {}): NormalizedRequest {
  return readResponsesRequest({ input: 'hi', ...body }, { requestId, ...context })
}

/** The path in the error of an invalid body. */
export function refusedAt(body: JsonObject): string | undefined {
  return failure(() => read(body)).param
}

export function responseContext(body: JsonObject = {}): ResponseContext {
  return { requestId, createdAt: 1_795_187_162, now: () => 1_795_187_165, model: 'GigaChat-2', request: read(body) }
}

export function writeResponse(events: readonly NormalizedEvent[], body: JsonObject = {}): ResponsesResponse {
  return writeResponsesResponse(accumulateEvents(events), responseContext(body))
}

/** The text of a stream; every member of `reads` has the events of one upstream read. */
export function writeStream(reads: ReadonlyArray<readonly NormalizedEvent[]>, context = responseContext()): string {
  const writer = createResponsesStreamWriter(context)
  return reads.map(read => joinFrames(writer.write(read))).join('')
}

/** The response that the official SDK accumulates from the text of a stream. Rejects with the error of the SDK's helper. */
export async function accumulateWithSdk(text: string): Promise<SdkResponse> {
  const stream = Stream.fromSSEResponse(new Response(text), new AbortController())
  return ResponseStream.fromReadableStream(stream.toReadableStream()).finalResponse()
}

/** The response without the members that the SDK's helper adds. */
export function withoutHelperMembers(response: SdkResponse): JsonObject {
  const { output_text: _text, output_parsed: _parsed, output, ...rest } = JSON.parse(JSON.stringify(response))
  return {
    ...rest,
    output: output.map(({ parsed_arguments: _arguments, content, ...item }: Record<string, unknown>) =>
      Array.isArray(content) ? { ...item, content: content.map(({ parsed: _parsed, ...part }) => part) } : item
    )
  }
}
