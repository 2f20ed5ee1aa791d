// What a chat completion may not ask of a provider that refuses what it cannot keep (bridge.md 8.1).

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  unsupportedSemantic
} from '../../../normalized/index.ts'
import { refuseUnnamedTools } from '../../shared/completions-family/unnamed-tools.ts'
import { refuseUnexpressed } from '../../shared/parameters.ts'
import { chatParameters } from './schema.ts'

const streamOptions = { include_usage: { class: 'supported' } } as const

/** Raises `unsupported_semantic` for the first member that the normalized form does not carry. */
export function assertExpressed(body: JsonObject, request: NormalizedRequest): void {
  refuseUnexpressed(body, chatParameters)
  if (isJsonObject(body.stream_options))
    refuseUnexpressed(body.stream_options, streamOptions, { path: 'stream_options' })
  refuseUnnamedTools(body.tools, 'tools')
  if (request.ignored.tool_choice !== undefined) throw unsupportedSemantic('tool_choice')
}

/** The same for the messages. */
export function assertHistoryExpressed(body: JsonObject): void {
  if (Array.isArray(body.messages)) body.messages.forEach(assertMessageExpressed)
}

const ROLES: ReadonlySet<JsonValue | undefined> = new Set([
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'function'
])

function assertMessageExpressed(message: JsonValue, index: number): void {
  if (!isJsonObject(message)) return
  const path = `messages[${index}]`
  if (!ROLES.has(message.role)) throw unsupportedSemantic(`${path}.role`)
  // A spoken answer has no text beside it: without its audio the turn would be missing from the history.
  if ((message.audio ?? undefined) !== undefined) throw unsupportedSemantic(`${path}.audio`)
  if (message.role === 'tool' && typeof message.tool_call_id !== 'string') {
    throw unsupportedSemantic(`${path}.tool_call_id`)
  }
}

/** The output limit has two names. */
export function spellField(body: JsonObject, field: string): string {
  const isOtherName = field === 'max_tokens' && (body.max_tokens ?? undefined) === undefined
  return isOtherName ? 'max_completion_tokens' : field
}
