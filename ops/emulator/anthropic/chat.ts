// The Anthropic Messages wire under `/anthropic`: writes the same plans as a `messages_compatible` provider does.

import { adjustPayload, type ChatWire, type ResponseContext } from '../chat-wire.ts'
import type { Exchange } from '../exchange.ts'
import { createRequestId, sendAnthropicError, writeAnthropicError } from './errors.ts'
import { writeMalformedMessage } from './malformed.ts'
import { listBlocks, writeAnthropicUsage, writeMessageHead, writeStop } from './message.ts'
import { checkAnthropicStrictly } from './models.ts'
import { readAnthropicChat } from './read.ts'
import { writeAnthropicFrames } from './stream.ts'

function write(context: ResponseContext): Record<string, unknown> {
  const { plan } = context
  const usage = writeAnthropicUsage(plan)
  const body = {
    ...writeMessageHead(context),
    content: listBlocks(context),
    ...writeStop(plan),
    ...(usage === null ? {} : { usage })
  }
  return adjustPayload(body, plan.step)
}

/** True when the request asks for members that the service otherwise does not know. */
export function hasBetaHeader({ request }: Exchange): boolean {
  return request.headers['anthropic-beta'] !== undefined
}

/** Creates the Anthropic wire for one call: its headers say which members the body may have. */
export function createAnthropicChat(exchange: Exchange): ChatWire {
  return {
    stateIdForm: null,
    read: body => readAnthropicChat(body, { hasBeta: hasBetaHeader(exchange) }),
    checkStrictly: checkAnthropicStrictly,
    write,
    writeMalformed: writeMalformedMessage,
    writeFrames: writeAnthropicFrames,
    writeErrorFrame: error => ({
      event: 'error',
      data: JSON.stringify(writeAnthropicError(error, createRequestId())),
      kind: 'delta'
    }),
    sendError: sendAnthropicError
  }
}
