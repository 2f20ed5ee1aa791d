// The body of a message request on its way to a provider of the same wire: the client's own, with the model renamed.

import { isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'
import { dropReplayMark } from '../../shared/common-parameters.ts'
import { dropOwnMembers } from '../../shared/passed-body.ts'
import { isStateSignature } from '../../shared/state-signature.ts'
import { GATEWAY_SIGNATURE } from '../client/signature.ts'

/**
 * Every member that stays is the same value as in `body`. Left out are members of the gateway, its mark of a replay, and blocks that only
 * the gateway writes: thinking with its signature, which came from a provider of another kind, and the empty text of a response without
 * content. The service refuses all of them. Without that thinking a running turn cannot go on with a budget, so the budget is left out
 * too: it is a bound and not a demand.
 */
export function writePassedBody(body: JsonObject, upstreamModel: string | undefined): JsonObject {
  const passed = { ...dropOwnMembers(body) }
  if (upstreamModel !== undefined) passed.model = upstreamModel
  if (isJsonObject(body.metadata)) {
    const metadata = dropReplayMark(body.metadata)
    if (metadata === undefined) delete passed.metadata
    else passed.metadata = metadata
  }
  const messages = dropOwnBlocks(body.messages)
  if (messages === body.messages || messages === undefined) return passed
  passed.messages = messages
  if (hasBudget(body.thinking) && isThoughtMissing(messages)) delete passed.thinking
  return passed
}

function hasBudget(thinking: JsonValue | undefined): boolean {
  return isJsonObject(thinking) && thinking.type === 'enabled'
}

/** True for a conversation that ends with the results of a turn which does not begin with thinking. */
function isThoughtMissing(messages: JsonValue): boolean {
  if (!Array.isArray(messages) || readFirstType(messages.at(-1)) !== 'tool_result') return false
  const turn = messages.at(-2)
  return !['thinking', 'redacted_thinking'].includes(readFirstType(turn) ?? '')
}

function readFirstType(message: JsonValue | undefined): string | undefined {
  const [first] = isJsonObject(message) && Array.isArray(message.content) ? message.content : []
  return isJsonObject(first) && typeof first.type === 'string' ? first.type : undefined
}

function dropOwnBlocks(messages: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(messages) || !messages.some(hasOwnBlock)) return messages
  return messages.flatMap(message => {
    if (!hasOwnBlock(message)) return [message]
    const content = message.content.filter(block => !isOwnBlock(block))
    return content.length === 0 ? [] : [{ ...message, content }]
  })
}

function hasOwnBlock(message: JsonValue): message is JsonObject & { content: JsonValue[] } {
  if (!isJsonObject(message) || message.role !== 'assistant' || !Array.isArray(message.content)) return false
  return message.content.some(isOwnBlock)
}

/** True for a block of the assistant that the gateway wrote and the service never does. */
function isOwnBlock(block: JsonValue): boolean {
  if (!isJsonObject(block)) return false
  if (block.type === 'text') return block.text === ''
  return block.type === 'thinking' && typeof block.signature === 'string' && isOwnSignature(block.signature)
}

/** Unsigned thinking has the empty signature in a whole response (messages.md 5). */
function isOwnSignature(signature: string): boolean {
  return signature === '' || signature === GATEWAY_SIGNATURE || isStateSignature(signature)
}
