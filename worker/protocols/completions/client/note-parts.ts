// What the normalized form does not carry of the tools and messages of a chat completion (decisions.md 69 and 75).

import { isJsonObject, type JsonObject, type JsonValue, type NormalizedRequest } from '../../../normalized/index.ts'
import { listLeftOutParts } from '../../shared/completions-family/known-parts.ts'
import { noteUnnamedTools } from '../../shared/completions-family/unnamed-tools.ts'
import type { PartSink } from '../../shared/members/members.ts'

/** Notes tools, choices and parts of messages that do not reach a provider. */
export function noteParts(body: JsonObject, request: NormalizedRequest, sink: PartSink): void {
  noteUnnamedTools(body.tools, 'tools', sink)
  if (request.ignored.tool_choice !== undefined) sink.refuse('tool_choice', 'tool_choice_not_expressed')
  for (const path of listLeftOutParts(request.ignored)) sink.leaveOut(path, 'part_not_expressed')
  if (!Array.isArray(body.messages)) return
  for (const [index, message] of body.messages.entries()) noteMessage(message, `messages[${index}]`, sink)
}

const ROLES: ReadonlySet<JsonValue | undefined> = new Set([
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'function'
])

function noteMessage(message: JsonValue, path: string, sink: PartSink): void {
  if (!isJsonObject(message)) return
  // A spoken answer has no text beside it: without its audio the turn is missing from the history.
  if ((message.audio ?? undefined) !== undefined) sink.leaveOut(`${path}.audio`, 'audio_not_expressed')
  if (!ROLES.has(message.role)) sink.drop(`${path}.role`, 'role_not_expressed')
  if (message.role === 'tool' && typeof message.tool_call_id !== 'string') {
    sink.drop(`${path}.tool_call_id`, 'result_without_call')
  }
}

/** The output limit and the effort have two names each. */
export function spellField(body: JsonObject, field: string): string {
  const has = (name: string): boolean => (body[name] ?? undefined) !== undefined
  if (field === 'max_tokens') return has('max_tokens') ? field : 'max_completion_tokens'
  if (field !== 'reasoning_effort') return field
  return isJsonObject(body.reasoning) && (body.reasoning.effort ?? undefined) !== undefined ? 'reasoning.effort' : field
}
