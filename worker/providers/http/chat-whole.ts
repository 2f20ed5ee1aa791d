// A chat without streaming: one exchange, one reader, the stop strings, and one push.

import { GatewayError, type NormalizedEvent } from '../../normalized/index.ts'
import type { CallContext, ChatCall, ResponseSink } from '../types.ts'
import { contentFailure } from './call-failure.ts'
import {
  type ChatDependencies,
  describeChatCall,
  openChatReader,
  openStopFilter,
  uploadAttachments
} from './chat-call.ts'
import { reportCallFailure } from './failure-report.ts'
import type { BufferedResponse } from './whole-response.ts'

/**
 * Largest body of a chat's response: as much text as a response may have. Parsed JSON takes twenty times its size when it consists of
 * empty objects.
 */
const CHAT_BYTES_MAX = 8 * 1024 * 1024

/** Runs a chat and pushes all events of its response at once. Rejects with `GatewayError`; nothing was pushed then. */
export async function completeChat(
  dependencies: ChatDependencies,
  call: ChatCall,
  context: CallContext,
  sink: ResponseSink
): Promise<void> {
  const body = call.attachments.length === 0 ? call.body : await uploadAttachments(dependencies, call, context)
  const response = await dependencies.client.fetch(
    describeChatCall(dependencies, call, body, context),
    context,
    CHAT_BYTES_MAX
  )
  const events = cutAtStop(call, readEvents(dependencies, call, context, response))
  const completer = dependencies.hooks.eventCompleter
  const isIncomplete = completer?.isNeeded(events, context) === true
  sink.push(isIncomplete ? await completer.complete(events, context) : events)
}

function readEvents(
  dependencies: ChatDependencies,
  call: ChatCall,
  context: CallContext,
  response: BufferedResponse
): NormalizedEvent[] {
  try {
    return openChatReader(dependencies, call, context, response).readBody(response.bytes)
  } catch (thrown) {
    if (GatewayError.is(thrown)) reportCallFailure(dependencies.log, contentFailure(thrown), context, 'chat')
    throw thrown
  }
}

function cutAtStop(call: ChatCall, events: NormalizedEvent[]): NormalizedEvent[] {
  const filter = openStopFilter(call)
  return filter === undefined ? events : [...filter.push(events), ...filter.finish()]
}
