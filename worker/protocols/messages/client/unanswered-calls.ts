// A conversation in which a tool call was never answered: this family's protocol refuses it, and says which calls they are
// (messages.md 3.5). Clients repair their history by these ids, so guessing what the results might be is not ours.

import {
  invalidRequest,
  type NormalizedMessage,
  readToolCallId,
  type ToolResultPart
} from '../../../normalized/index.ts'

interface OpenCall {
  id: string | null
  /** Position of the message that holds it. */
  message: number
}

/**
 * Raises `invalid_request` at the first message with calls that no later result answers; the error's text has their ids.
 * @param messages the client's own, without the instruction.
 */
export function refuseUnansweredCalls(messages: readonly NormalizedMessage[]): void {
  const open: OpenCall[] = []
  const knownIds = new Set<string | null>()
  for (const [message, { content }] of messages.entries()) {
    for (const part of content) {
      if (part.type === 'tool-call') {
        open.push({ id: part.id, message })
        knownIds.add(part.id)
      } else if (part.type === 'tool-result') answerCall(open, knownIds, part)
    }
  }
  const [first] = open
  if (first === undefined) return
  const ids = open.filter(call => call.message === first.message).map(call => call.id)
  throw invalidRequest(
    `messages[${first.message}]`,
    `These tool_use blocks have no tool_result block in a later message: ${ids.join(', ')}.`
  )
}

/** A result with an id that nobody knows answers the next open call, unless the id itself says that it is another's. */
function answerCall(open: OpenCall[], knownIds: ReadonlySet<string | null>, { callId }: ToolResultPart): void {
  const index = open.findLastIndex(call => call.id === callId)
  if (index >= 0) open.splice(index, 1)
  else if (!knownIds.has(callId) && !saysItsName(callId)) open.shift()
}

function saysItsName(callId: string | null): boolean {
  if (callId === null) return false
  const identity = readToolCallId(callId)
  return identity.isOwn && identity.name !== undefined
}
