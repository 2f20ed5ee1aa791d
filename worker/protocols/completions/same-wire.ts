// Chat completions on their way to a provider of the same protocol, and its responses back (ADR 2026-11-29-one-same-wire-mechanism).

import type { OutputLimitField } from '../../../shared/profile/profile.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../normalized/index.ts'
import type { SameWireCodec, SameWireTarget } from '../provider-face.ts'
import { JsonEdits } from '../shared/json/edits.ts'
import { plainMessages } from '../shared/json/plain-body.ts'
import { refuseJsonWithoutSchema } from '../shared/json-object-format.ts'
import { editMedia, putTextPart } from '../shared/media/edited-media.ts'
import { editOwnMembers } from '../shared/members/own-members.ts'
import { boundLimit } from '../shared/output-limit.ts'
import { isStateSignature } from '../shared/state-signature.ts'
import { toShortCallId } from '../shared/tools/tool-call-ids.ts'
import { STREAM_HEADERS, WIRE_HEADERS } from '../shared/wire-headers.ts'
import type { ChatCompatibleOptions } from './provider/options.ts'
import type { ChatCompatibleReading } from './provider/reading.ts'
import { CompletionsEditor } from './response-editor.ts'

/** The names of the output limit. The third is not of the wire: the gateway takes it as another name of the first. */
const LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const

/** Members that an `extra_body` may not set: admission has decided on them, or the gateway sets them itself. */
const DECIDED: ReadonlySet<string> = new Set([
  ...LIMITS,
  'function_call',
  'functions',
  'messages',
  'model',
  'parallel_tool_calls',
  'reasoning_effort',
  'response_format',
  'stream',
  'stream_options',
  'tool_choice',
  'tools'
])

export const completionsSameWire: SameWireCodec<ChatCompatibleOptions, ChatCompatibleReading> = {
  protocol: 'completions',
  outline: plainMessages,
  readFacts: ({ stream, stream_options: options, tools, functions }) => ({
    isStream: stream === true,
    wantsStreamUsage: isUsageWanted(options),
    hasTools: [tools, functions].some(list => Array.isArray(list) && list.length > 0)
  }),
  writeChat(body, target, { chatPath }) {
    const { isStream, upstreamModel } = target
    const edits = new JsonEdits()
    const leftOut = editOwnMembers(body, edits, DECIDED)
    if (upstreamModel !== undefined) edits.set(['model'], upstreamModel)
    // Records always need the usage (field-lessons.md D2); the client sees it only where it asked for it.
    if (isStream) askForUsage(body, edits)
    leftOut.push(...editLimits(body, edits, target), ...editUndeclared(body, edits, target))
    if (Array.isArray(body.messages)) for (const [index, one] of body.messages.entries()) editMessage(one, edits, index)
    leftOut.push(...editConversationMedia(target, edits))
    return {
      method: 'POST',
      path: chatPath,
      headers: isStream ? STREAM_HEADERS : WIRE_HEADERS,
      body: edits.applyTo(body),
      edits,
      attachments: [],
      reading: {
        toolNames: new Map(),
        stops: [],
        droppedToolCalls: 0,
        showsUsage: isUsageWanted(body.stream_options),
        choices: typeof body.n === 'number' ? body.n : 1
      },
      ...(leftOut.length > 0 && { leftOut })
    }
  },
  createEditor: options => new CompletionsEditor(options)
}

function isUsageWanted(options: JsonValue | undefined): boolean {
  return isJsonObject(options) && options.include_usage === true
}

function askForUsage({ stream_options: options }: JsonObject, edits: JsonEdits): void {
  if (options === undefined || options === null) edits.set(['stream_options'], { include_usage: true })
  else if (isJsonObject(options) && options.include_usage !== true) edits.set(['stream_options', 'include_usage'], true)
}

/** What the alias does not declare: an effort is left out, and JSON without a schema is refused (decisions.md 69 and 74). */
function editUndeclared(body: JsonObject, edits: JsonEdits, { features }: SameWireTarget): string[] {
  const { reasoning_effort: effort = null, reasoning, response_format: format } = body
  const isJsonMode = isJsonObject(format) && format.type === 'json_object' && !isJsonObject(format.schema)
  if (isJsonMode && features?.includes('json_object_output') === false)
    throw refuseJsonWithoutSchema('response_format.type')
  if (features?.includes('reasoning_effort') !== false) return []
  const leftOut: string[] = []
  if (effort !== null) {
    edits.drop('reasoning_effort')
    leftOut.push('reasoning_effort')
  }
  // The name of the services that have one interface for many models.
  if (isJsonObject(reasoning) && (reasoning.effort ?? null) !== null) {
    edits.drop('reasoning', 'effort')
    leftOut.push('reasoning.effort')
  }
  return leftOut
}

function editConversationMedia({ messages = [], features, isLocal }: SameWireTarget, edits: JsonEdits): string[] {
  const media = { messages, features, addresses: { isLocal }, readsPages: false, putText: putTextPart }
  return editMedia(media, edits)
}

/** Bounds the output limit, and gives it the name that the alias declares (decisions.md 72 and 74). */
function editLimits(
  body: JsonObject,
  edits: JsonEdits,
  { outputTokensMax, outputLimitField }: SameWireTarget
): string[] {
  const given = LIMITS.filter(name => (body[name] ?? null) !== null)
  const bounded = given.filter(name => boundLimit(body[name], outputTokensMax) !== undefined)
  for (const name of bounded) edits.set([name], outputTokensMax ?? null)
  const [first] = given
  const field = outputLimitField ?? findField(given)
  if (first === undefined || field === undefined) return bounded
  // One limit under the name that the model takes; where the client sent that name too, it stays in its place.
  if (!given.includes(field)) edits.rename([first], field)
  for (const name of given) if (name !== field && (name !== first || given.includes(field))) edits.drop(name)
  return bounded
}

/** Undefined where the client's own names stay. */
function findField(given: readonly (typeof LIMITS)[number][]): OutputLimitField | undefined {
  return given.includes('max_output_tokens') ? 'max_tokens' : undefined
}

/** Members of messages that only the gateway writes: runs of tools and files of another provider, and its state ids. */
const OWN_MEMBERS = [
  'tool_executions',
  'files',
  'inline_data',
  'tools_state_id',
  'tool_state_id',
  'functions_state_id',
  'function_state_id'
] as const

/** Takes out of a message of the history what only the gateway wrote. */
function editMessage(message: JsonValue, edits: JsonEdits, index: number): void {
  if (!isJsonObject(message)) return
  for (const name of OWN_MEMBERS) if (Object.hasOwn(message, name)) edits.drop('messages', index, name)
  const { reasoning_details: details, tool_call_id: callId, tool_calls: calls } = message
  if (Array.isArray(details)) editDetails(details, edits, index)
  if (isLongId(callId)) edits.set(['messages', index, 'tool_call_id'], toShortCallId(callId))
  if (!Array.isArray(calls)) return
  for (const [number, call] of calls.entries()) {
    if (!isJsonObject(call)) continue
    const place = ['messages', index, 'tool_calls', number]
    if (isLongId(call.id)) edits.set([...place, 'id'], toShortCallId(call.id))
    if (hasOwnSignature(call.extra_content)) edits.drop(...place, 'extra_content')
  }
}

/** The gateway's signatures hold the state of a provider on another wire. */
function editDetails(details: readonly JsonValue[], edits: JsonEdits, index: number): void {
  const isOwn = (entry: JsonValue) =>
    isJsonObject(entry) &&
    [entry.data, entry.signature].some(text => typeof text === 'string' && isStateSignature(text))
  const own = details.flatMap((entry, number) => (isOwn(entry) ? [number] : []))
  if (own.length === details.length && own.length > 0) edits.drop('messages', index, 'reasoning_details')
  else for (const number of own) edits.drop('messages', index, 'reasoning_details', number)
}

function hasOwnSignature(extra: JsonValue | undefined): boolean {
  const google = isJsonObject(extra) ? extra.google : undefined
  const signature = isJsonObject(google) ? google.thought_signature : undefined
  return typeof signature === 'string' && isStateSignature(signature)
}

/** Services of this wire take this many characters. */
const ID_CHARACTERS_MAX = 40

/** An id of a conversation with another provider that is longer than services take: a history never fails (decisions.md 75). */
function isLongId(id: JsonValue | undefined): id is string {
  return typeof id === 'string' && id.length > ID_CHARACTERS_MAX
}
