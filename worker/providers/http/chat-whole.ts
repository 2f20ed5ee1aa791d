// A chat without streaming: one exchange, one reader, the stop strings, and one push.

import { dropByteOrderMark } from '../../../shared/bytes.ts'
import { GatewayError, type NormalizedEvent } from '../../normalized/index.ts'
import type { CallContext, ChatCall, ResponseSink } from '../types.ts'
import { contentFailure } from './call-failure.ts'
import {
  type ChatDependencies,
  defaultBounds,
  describeChatCall,
  openChatReader,
  openEditor,
  reportAnomaly,
  uploadAttachments
} from './chat-call.ts'
import { reportCallFailure } from './failure-report.ts'
import type { EventCompleter } from './hooks.ts'
import { cutAtStop } from './large-responses.ts'
import type { BufferedResponse } from './whole-response.ts'

/** Runs a chat and pushes all events of its response at once. Rejects with `GatewayError`; nothing was pushed then. */
export async function completeChat(
  dependencies: ChatDependencies,
  call: ChatCall,
  context: CallContext,
  sink: ResponseSink
): Promise<void> {
  const body = call.attachments.length === 0 ? call.body : await uploadAttachments(dependencies, call, context)
  const fetched = await dependencies.client.fetch(
    describeChatCall(dependencies, call, body, context),
    context,
    (dependencies.bounds ?? defaultBounds).wholeBytesMax
  )
  const response = withoutByteOrderMark(fetched)
  const place = dependencies.largeResponses.placeReading(response.bytes)
  if (place === 'own-turn') await dependencies.largeResponses.ownTurn()
  const { events, bytes } =
    place === 'thread'
      ? await readInThread(dependencies, call, context, response)
      : readHere(dependencies, call, context, response)
  if (bytes !== undefined) {
    passOn(bytes, events, sink)
    return
  }
  const completer = dependencies.hooks.eventCompleter
  const isIncomplete = completer?.isNeeded(events, context) === true
  sink.push(isIncomplete ? await completeAll(completer, events, context) : events)
}

async function completeAll(completer: EventCompleter, events: readonly NormalizedEvent[], context: CallContext) {
  const completed: NormalizedEvent[] = []
  for await (const group of completer.complete(events, context)) for (const event of group) completed.push(event)
  return completed
}

function withoutByteOrderMark(response: BufferedResponse): BufferedResponse {
  const bytes = dropByteOrderMark(response.bytes)
  return bytes === response.bytes ? response : { ...response, bytes }
}

interface ReadWhole {
  events: NormalizedEvent[]
  /** The provider's own response with the changes that its client needs, where the client speaks the provider's wire. */
  bytes?: Uint8Array | undefined
}

function readHere(
  dependencies: ChatDependencies,
  call: ChatCall,
  context: CallContext,
  response: BufferedResponse
): ReadWhole {
  const { bytes } = response
  try {
    const reader = openChatReader(dependencies, call, context, response)
    const events = cutAtStop(reader.readBody(bytes), call.stops)
    return { events, bytes: openEditor(dependencies, call)?.editBody(bytes) }
  } catch (thrown) {
    throw reportUnreadable(dependencies, context, thrown)
  }
}

/** Passes the provider's own bytes on; their events are for observers. */
function passOn(bytes: Uint8Array, events: readonly NormalizedEvent[], sink: ResponseSink): void {
  const body = sink.relay({ contentType: 'application/json' })
  body.write(bytes)
  body.end(events)
}

async function readInThread(
  dependencies: ChatDependencies,
  call: ChatCall,
  context: CallContext,
  { bytes, ...head }: BufferedResponse
): Promise<ReadWhole> {
  const { plan, reading, stops, isSameWire } = call
  const sameWire = isSameWire === true ? { publicModel: plan.publicModel } : undefined
  const response = { plan, reading, head, bytes, stops, ...(sameWire && { sameWire }) }
  try {
    const { events, anomalies, body } = await dependencies.largeResponses.readChat(response, context.signal)
    for (const anomaly of anomalies) reportAnomaly(dependencies, call, context, anomaly)
    return { events, bytes: body }
  } catch (thrown) {
    throw reportUnreadable(dependencies, context, thrown)
  }
}

/** Writes the line of a response that cannot be used, and returns its error. */
function reportUnreadable({ log }: ChatDependencies, context: CallContext, thrown: unknown): unknown {
  if (GatewayError.is(thrown)) reportCallFailure(log, contentFailure(thrown), context, 'chat')
  return thrown
}
