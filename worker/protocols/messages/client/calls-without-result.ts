// Refuses a conversation with a tool call that has no result, and names the ids of such calls (messages.md 3.5). Clients repair
// their history by these ids, so the gateway does not invent the missing results.

import {
  invalidRequest,
  type NormalizedMessage,
  readToolCallId,
  type ToolResultPart
} from '../../../normalized/index.ts'

interface OpenCall {
  id: string | null
  /** Index of the message that holds the call. */
  message: number
}

/**
 * Raises `invalid_request` for the first message with calls that have no result; the error message lists their ids.
 * @param messages the messages of the body, without the system instruction.
 */
export function refuseCallsWithoutResult(messages: readonly NormalizedMessage[]): void {
  const open: OpenCall[] = []
  const knownIds = new Set<string | null>()
  for (const [message, { content }] of messages.entries()) {
    for (const part of content) {
      if (part.type === 'tool-call') {
        open.push({ id: part.id, message })
        knownIds.add(part.id)
      } else if (part.type === 'tool-result') closeCall(open, knownIds, part)
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

/**
 * Removes the call that a result belongs to. A result whose id is unknown belongs to the oldest open call, unless the
 * gateway issued the id: then its call is missing from the conversation.
 */
function closeCall(open: OpenCall[], knownIds: ReadonlySet<string | null>, { callId }: ToolResultPart): void {
  const index = open.findLastIndex(call => call.id === callId)
  if (index >= 0) open.splice(index, 1)
  else if (!knownIds.has(callId) && (callId === null || !readToolCallId(callId).isOwn)) open.shift()
}
