// Refuses a conversation with a tool call that has no result, and names the ids of such calls (messages.md 3.5). Clients repair
// their history by these ids, so the gateway does not invent the missing results.

import {
  invalidRequest,
  type NormalizedMessage,
  readToolCallId,
  type ToolResultPart
} from '../../../normalized/index.ts'
import { CallList } from '../../shared/tools/call-list.ts'

interface Call {
  id: string | null
  /** Index of the message that holds the call. */
  message: number
  hasResult: boolean
}

const isOpen = ({ hasResult }: Call): boolean => !hasResult

/**
 * Raises `invalid_request` for the first message with calls that have no result; the error message lists their ids.
 * @param messages the messages of the body, without the system instruction.
 */
export function refuseCallsWithoutResult(messages: readonly NormalizedMessage[]): void {
  const calls = new ConversationCalls()
  for (const [message, { content }] of messages.entries()) {
    for (const part of content) {
      if (part.type === 'tool-call') calls.add({ id: part.id, message, hasResult: false })
      else if (part.type === 'tool-result') calls.close(part)
    }
  }
  const open = calls.listOpen()
  const [first] = open
  if (first === undefined) return
  const ids = open.filter(call => call.message === first.message).map(call => call.id)
  throw invalidRequest(
    `messages[${first.message}]`,
    `These tool_use blocks have no tool_result block in a later message: ${ids.join(', ')}.`
  )
}

class ConversationCalls {
  readonly #all: Call[] = []
  readonly #inOrder = new CallList(isOpen)
  readonly #byId = new Map<string | null, CallList<Call>>()

  add(call: Call): void {
    this.#all.push(call)
    this.#inOrder.add(call)
    const sameId = this.#byId.get(call.id) ?? new CallList(isOpen)
    this.#byId.set(call.id, sameId)
    sameId.add(call)
  }

  /**
   * Closes the call that a result belongs to, the latest of its id. A result whose id is unknown belongs to the oldest open call,
   * unless the gateway issued the id: then its call is missing from the conversation.
   */
  close({ callId }: ToolResultPart): void {
    const sameId = this.#byId.get(callId)
    const call = sameId === undefined && !isIssued(callId) ? this.#inOrder.findOldest() : sameId?.findNewest()
    if (call !== undefined) call.hasResult = true
  }

  listOpen(): Call[] {
    return this.#all.filter(isOpen)
  }
}

function isIssued(callId: string | null): boolean {
  return callId !== null && readToolCallId(callId).isOwn
}
