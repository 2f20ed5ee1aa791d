// Message requests on their way to a provider of the same protocol, and its responses back (ADR 2026-11-29-one-same-wire-mechanism).

import { asBuffer } from '../../../shared/bytes.ts'
import { isGatewayCallId, isJsonObject, type JsonObject, type JsonValue } from '../../normalized/index.ts'
import type { SameWireCodec } from '../provider-face.ts'
import { JsonEdits } from '../shared/json/edits.ts'
import { plainMessages } from '../shared/json/plain-body.ts'
import { editJson } from '../shared/json/spans.ts'
import { editMedia, putTextPart } from '../shared/media/edited-media.ts'
import { editOwnMembers } from '../shared/members/own-members.ts'
import { boundLimit } from '../shared/output-limit.ts'
import { isStateSignature } from '../shared/state-signature.ts'
import { editFrameData } from '../shared/stream/frame-data.ts'
import { GATEWAY_SIGNATURE } from './client/signature.ts'
import { readTokenCount } from './provider/count-tokens.ts'
import { MESSAGES_HEADERS, MESSAGES_STREAM_HEADERS } from './provider/headers.ts'
import type { MessagesCompatibleOptions } from './provider/options.ts'
import type { MessagesCompatibleReading } from './provider/reading.ts'

/** Nothing of the body was written in another form. */
const READING: MessagesCompatibleReading = { toolNames: new Map(), droppedToolCalls: 0 }

/** Members that an `extra_body` may not set: admission has decided on them. */
const DECIDED: ReadonlySet<string> = new Set([
  'max_tokens',
  'messages',
  'model',
  'output_config',
  'output_format',
  'stream',
  'system',
  'thinking',
  'tool_choice',
  'tools'
])

export const messagesSameWire: SameWireCodec<MessagesCompatibleOptions, MessagesCompatibleReading> = {
  protocol: 'messages',
  outline: plainMessages,
  readFacts: ({ stream, tools }) => ({
    isStream: stream === true,
    wantsStreamUsage: false,
    hasTools: Array.isArray(tools) && tools.length > 0
  }),
  writeChat(body, target, { messagesPath }) {
    const { upstreamModel, outputTokensMax, isStream, features, isLocal, messages = [], wireHeaders = [] } = target
    const media = { messages, features, addresses: { isLocal }, readsPages: true, putText: putTextPart }
    const { edits, leftOut } = editRequest(body, upstreamModel)
    leftOut.push(...boundTokens(body, edits, outputTokensMax))
    leftOut.push(...editMedia(media, edits))
    return {
      method: 'POST',
      path: messagesPath,
      headers: [...(isStream ? MESSAGES_STREAM_HEADERS : MESSAGES_HEADERS), ...wireHeaders],
      body: edits.applyTo(body),
      edits,
      attachments: [],
      reading: READING,
      ...(leftOut.length > 0 && { leftOut })
    }
  },
  tokenCount: {
    write(body, { upstreamModel, wireHeaders = [] }, { countTokensPath }) {
      const { edits } = editRequest(body, upstreamModel)
      const headers = [...MESSAGES_HEADERS, ...wireHeaders]
      return { method: 'POST', path: countTokensPath, headers, body: edits.applyTo(body), edits }
    },
    read: readTokenCount
  },
  createEditor({ publicModel }) {
    const ofBody = new JsonEdits()
    ofBody.replaceText(['model'], publicModel)
    const ofFrame = new JsonEdits()
    ofFrame.replaceText(['message', 'model'], publicModel)
    return {
      editBody: bytes => editJson(asBuffer(bytes), ofBody).edited,
      editFrame(frame) {
        const buffer = asBuffer(frame)
        return mayNameModel(buffer) ? editFrameData(buffer, data => editJson(data, ofFrame).edited) : buffer
      },
      end: () => END
    }
  }
}

/** Some services close the connection behind the stop reason: a client waits for the last event (decisions.md 82). */
const END = Buffer.from('event: message_stop\ndata: {"type":"message_stop"}\n\n')

/** The first frame of a stream holds the message, and with it the model: the others are not stepped through. An escape may spell any name. */
function mayNameModel(frame: Buffer): boolean {
  return frame.includes('model') || frame.includes('\\u')
}

/**
 * The changes that every request needs. Blocks are left out that only the gateway writes: thinking with its signature, which came from a
 * provider of another kind, and the empty text of a response without content. The service refuses both. Without that thinking a running turn
 * cannot go on with a budget, so the budget is left out too: it is a bound and not a demand.
 */
function editRequest(body: JsonObject, upstreamModel: string | undefined): { edits: JsonEdits; leftOut: string[] } {
  const edits = new JsonEdits()
  if (upstreamModel !== undefined) edits.set(['model'], upstreamModel)
  const leftOut = editOwnMembers(body, edits, DECIDED)
  const { messages, thinking } = body
  const kept = dropOwnBlocks(messages, edits)
  if (kept !== undefined && isEnabled(thinking) && isThoughtMissing(kept)) edits.drop('thinking')
  return { edits, leftOut }
}

/** The least that the service takes as a budget. */
const BUDGET_MIN = 1024

/** Bounds the output, and a budget of thinking below it; thinking for which too little is left is left out (decisions.md 72). */
function boundTokens(body: JsonObject, edits: JsonEdits, outputTokensMax: number | undefined): string[] {
  const { max_tokens: limit, thinking } = body
  const bounded = boundLimit(limit, outputTokensMax)
  if (bounded === undefined) return []
  edits.set(['max_tokens'], bounded)
  const budget = isEnabled(thinking) ? thinking.budget_tokens : undefined
  if (typeof budget !== 'number' || budget < bounded) return ['max_tokens']
  if (bounded > BUDGET_MIN) edits.set(['thinking', 'budget_tokens'], bounded - 1)
  else edits.drop('thinking')
  return ['max_tokens', bounded > BUDGET_MIN ? 'thinking.budget_tokens' : 'thinking']
}

function isEnabled(thinking: JsonValue | undefined): thinking is JsonObject {
  return isJsonObject(thinking) && thinking.type === 'enabled'
}

/**
 * True for a conversation that ends with the results of a turn which does not begin with thinking. The service joins the messages behind that
 * turn.
 */
function isThoughtMissing(messages: readonly JsonValue[]): boolean {
  const turn = messages.findLastIndex(message => isJsonObject(message) && message.role === 'assistant')
  if (readFirstType(messages[turn + 1]) !== 'tool_result') return false
  return !['thinking', 'redacted_thinking'].includes(readFirstType(messages[turn]) ?? '')
}

function readFirstType(message: JsonValue | undefined): string | undefined {
  const [first] = isJsonObject(message) && Array.isArray(message.content) ? message.content : []
  return isJsonObject(first) && typeof first.type === 'string' ? first.type : undefined
}

/** Returns the messages that stay, with the blocks that stay; undefined where all do. */
function dropOwnBlocks(messages: JsonValue | undefined, edits: JsonEdits): JsonValue[] | undefined {
  if (!Array.isArray(messages) || !messages.some(hasOwnBlock)) return undefined
  return messages.flatMap((message, index) => {
    if (!hasOwnBlock(message)) return [message]
    const isOwn = createOwnBlockTest(message.content)
    const content = message.content.filter(block => !isOwn(block))
    if (content.length === 0) {
      edits.drop('messages', index)
      return []
    }
    for (const [number, block] of message.content.entries()) {
      if (isOwn(block)) edits.drop('messages', index, 'content', number)
    }
    return [{ ...message, content }]
  })
}

function hasOwnBlock(message: JsonValue): message is JsonObject & { content: JsonValue[] } {
  if (!isJsonObject(message) || message.role !== 'assistant' || !Array.isArray(message.content)) return false
  return message.content.some(createOwnBlockTest(message.content))
}

/** Tells the blocks of a turn of the assistant that the gateway wrote and the service never does. */
function createOwnBlockTest(content: readonly JsonValue[]): (block: JsonValue) => boolean {
  const ofProvider = isUnsignedTurnOfProvider(content)
  return block => isOwnBlock(block) || (!ofProvider && isUnsigned(block))
}

function isOwnBlock(block: JsonValue): boolean {
  if (!isJsonObject(block)) return false
  if (block.type === 'text') return block.text === ''
  return block.type === 'thinking' && typeof block.signature === 'string' && isOwnSignature(block.signature)
}

function isOwnSignature(signature: string): boolean {
  return signature === GATEWAY_SIGNATURE || isStateSignature(signature)
}

function isUnsigned(block: JsonValue): boolean {
  return isJsonObject(block) && block.type === 'thinking' && block.signature === ''
}

/**
 * True for a turn whose unsigned thinking goes back: some services sign none and refuse the results of its calls without it (decisions.md
 * 82). The whole responses of other routes have unsigned thinking too, which services with signatures refuse: they are known by the ids
 * and the blocks of the gateway. A turn without calls needs no thinking.
 */
function isUnsignedTurnOfProvider(content: readonly JsonValue[]): boolean {
  const calls = content.filter(block => isJsonObject(block) && block.type === 'tool_use') as JsonObject[]
  const hasOwnId = calls.some(({ id }) => typeof id !== 'string' || isGatewayCallId(id))
  return calls.length > 0 && !hasOwnId && !content.some(isOwnBlock)
}
