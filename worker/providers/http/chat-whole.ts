// A chat without streaming: one exchange, one reader, the stop strings, and one push.

import { dropByteOrderMark } from '../../../shared/bytes.ts'
import type { NormalizedEvent } from '../../normalized/index.ts'
import type { CallContext, ChatCall, ResponseSink } from '../types.ts'
import {
  type ChatDependencies,
  defaultBounds,
  describeChatCall,
  openChatReader,
  openEditor,
  reportAnomaly,
  uploadAttachments
} from './chat-call.ts'
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
  const { events, bytes } = await dependencies.client.fetchAndRead(
    describeChatCall(dependencies, call, body, context),
    context,
    response => readWhole(dependencies, call, context, withoutByteOrderMark(response)),
    (dependencies.bounds ?? defaultBounds).wholeBytesMax
  )
  if (bytes !== undefined) {
    sink.push(events, bytes)
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

async function readWhole(
  dependencies: ChatDependencies,
  call: ChatCall,
  context: CallContext,
  response: BufferedResponse
): Promise<ReadWhole> {
  const { bytes } = response
  const place = dependencies.largeResponses.placeReading(bytes)
  if (place === 'thread') return readInThread(dependencies, call, context, response)
  if (place === 'own-turn') await dependencies.largeResponses.ownTurn()
  const reader = openChatReader(dependencies, call, context, response)
  const events = cutAtStop(reader.readBody(bytes), call.stops)
  return { events, bytes: openEditor(dependencies, call)?.editBody(bytes) }
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
  const { events, anomalies, body } = await dependencies.largeResponses.readChat(response, context.signal)
  for (const anomaly of anomalies) reportAnomaly(dependencies, call, context, anomaly)
  return { events, bytes: body }
}
