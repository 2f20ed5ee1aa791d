// Passes bytes on between a client and a provider that both speak chat completions, where nothing but the model's name has to change.

import { isUtf8 } from 'node:buffer'
import { asBuffer } from '../../../../shared/bytes.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'
import type { RelayCodec } from '../../face.ts'
import { countMembers, isSameJson, replaceValue, scanJson } from '../../shared/raw-json.ts'
import type { ChatCompatibleReading } from './reading.ts'
import { isUsagePlain } from './usage.ts'

export const chatCompatibleRelay: RelayCodec<ChatCompatibleReading> = {
  protocol: 'completions',
  reuseBody,
  acceptsResponse: ({ isStream, parallelToolCalls, sampling, tools, usesLegacyFunctions }, { toolNames }) =>
    // Streams go through the normalized form, as do responses that are cut: at a stop string, or after their first call.
    !isStream &&
    sampling.stop === undefined &&
    parallelToolCalls !== 'refused' &&
    !usesLegacyFunctions &&
    // The calls of custom tools have a form of their own.
    !tools.some(tool => tool.type === 'function' && tool.freeForm !== undefined) &&
    toolNames.size === 0
}

/**
 * A name that an object has twice is read by some parsers from its first place and by others from its last: such a body is written anew,
 * so that the provider reads what was admitted.
 */
function reuseBody(bytes: Uint8Array, received: JsonObject, written: JsonObject): Uint8Array | undefined {
  const { model } = written
  if (typeof model !== 'string' || !saysTheSame(received, written)) return undefined
  const buffer = asBuffer(bytes)
  if (buffer[0] !== OPENING_BRACE || !isUtf8(buffer)) return undefined
  const { memberCount, value } = scanJson(buffer, 'model')
  if (value === undefined || memberCount !== countMembers(received)) return undefined
  return replaceValue(buffer, value, model)
}

const OPENING_BRACE = 0x7b

/** True when the received body asks for what was written, but for the name of the model. */
function saysTheSame(received: JsonObject, written: JsonObject): boolean {
  for (const name in received) {
    // Not streaming is the default of the wire.
    if (name === 'stream' && received.stream === false) continue
    if (!Object.hasOwn(written, name)) return false
  }
  for (const name in written) {
    if (name === 'model' || (name === 'stream' && written.stream === false)) continue
    const sent = received[name]
    // One stop string may stand for a list of it.
    const value = name === 'stop' && typeof sent === 'string' ? [sent] : sent
    if (!isSameJson(value, written[name])) return false
  }
  return true
}

const MESSAGE_MEMBERS: ReadonlySet<string> = new Set([
  'annotations',
  'audio',
  'content',
  'function_call',
  'reasoning_content',
  'refusal',
  'role',
  'tool_calls'
])

/**
 * The bytes of a whole response that was read without an error, with the model renamed; undefined when the gateway would write something
 * else: reasoning in another dialect, ids that clients do not accept, a reason that contradicts the calls, further choices, counts that are
 * corrected.
 */
export function relayResponse(bytes: Uint8Array, payload: JsonObject, publicModel: string): Uint8Array | undefined {
  const { choices, created, id, model, object } = payload
  if (!isUsagePlain(payload.usage)) return undefined
  const hasHead = typeof id === 'string' && typeof created === 'number' && object === 'chat.completion'
  if (!hasHead || !Array.isArray(choices) || choices.length !== 1 || !isPlainChoice(choices[0])) return undefined
  const buffer = asBuffer(bytes)
  if (model === publicModel) return buffer
  const { value } = scanJson(buffer, 'model')
  if (value === undefined || (occursOutside(buffer, value) && namesModel(payload))) return undefined
  return replaceValue(buffer, value, publicModel)
}

/** Whether the bytes may have the text of this value a second time; an escape may spell any text. */
function occursOutside(bytes: Buffer, { start, end }: { start: number; end: number }): boolean {
  const text = bytes.subarray(start + 1, end - 1)
  return bytes.indexOf(text) !== start + 1 || bytes.indexOf(text, end) >= 0 || bytes.includes('\\u')
}

/**
 * True when a member besides `model` and the content names the provider's model, which clients must
 * not see (decisions.md 15).
 */
function namesModel({ model, choices, ...others }: JsonObject): boolean {
  if (typeof model !== 'string') return true
  const choice = Array.isArray(choices) && isJsonObject(choices[0]) ? choices[0] : {}
  const { message: _message, ...beside } = choice
  return JSON.stringify([others, beside]).includes(JSON.stringify(model).slice(1, -1))
}

function isPlainChoice(choice: JsonValue | undefined): boolean {
  if (!isJsonObject(choice) || choice.index !== 0 || !isJsonObject(choice.message)) return false
  const { message } = choice
  for (const name in message) if (!MESSAGE_MEMBERS.has(name)) return false
  const { content, function_call: legacy, tool_calls: calls } = message
  if (message.role !== 'assistant' || content === undefined || (legacy ?? null) !== null) return false
  if (content !== null && typeof content !== 'string') return false
  // The reasoning may stand in the text.
  if (content?.trimStart().startsWith('<') === true) return false
  const list: JsonValue[] = Array.isArray(calls) ? calls : []
  const isCallReason = choice.finish_reason === 'tool_calls'
  const isCut = choice.finish_reason === 'length' || choice.finish_reason === 'content_filter'
  // Clients know no other words.
  if (!isCut && !isCallReason && choice.finish_reason !== 'stop') return false
  if (!isCut && isCallReason !== list.length > 0) return false
  return list.every(isPlainCall) && new Set(list.map(readId)).size === list.length
}

const CALL_MEMBERS: ReadonlySet<string> = new Set(['function', 'id', 'index', 'type'])
const ACCEPTED_ID = /^[a-zA-Z0-9_-]{1,40}$/

function isPlainCall(call: JsonValue): boolean {
  if (!isJsonObject(call)) return false
  for (const name in call) if (!CALL_MEMBERS.has(name)) return false
  const { id } = call
  const definition = call.function
  if (call.type !== 'function' || !isJsonObject(definition)) return false
  // Clients must be able to parse the arguments.
  const hasArguments = typeof definition.arguments === 'string' && definition.arguments !== ''
  return typeof id === 'string' && ACCEPTED_ID.test(id) && hasArguments
}

function readId(call: JsonValue): JsonValue | undefined {
  return isJsonObject(call) ? call.id : undefined
}
