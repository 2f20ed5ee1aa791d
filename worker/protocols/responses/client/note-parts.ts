// What the normalized form does not carry of the tools and items of a Responses request, and what the operation forbids although the reader
// accepts it for clients of the native upstream (decisions.md 69 and 75; responses.md 9).

import {
  flattenToolName,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest
} from '../../../normalized/index.ts'
import { listLeftOutParts } from '../../shared/completions-family/known-parts.ts'
import { noteUnnamedTools } from '../../shared/completions-family/unnamed-tools.ts'
import { supported } from '../../shared/members/common-parameters.ts'
import { wrongType } from '../../shared/members/field.ts'
import { Members, type PartSink } from '../../shared/members/members.ts'
import { isPlainMessage } from '../../shared/plain-message.ts'
import { readStateSignature } from '../../shared/state-signature.ts'
import { COMPACTION_TRIGGER, isSealedSummary } from './compaction.ts'
import { ADDITIONAL_TOOLS } from './read-input.ts'

/** Raises `invalid_request` for members whose value the operation forbids. */
export function assertValid(body: JsonObject, { tools }: NormalizedRequest): void {
  if (body.max_output_tokens === 0) {
    throw invalidRequest('max_output_tokens', `'max_output_tokens' must be a positive integer.`)
  }
  for (const name of ['store', 'background'] as const) {
    const value = body[name] ?? undefined
    if (value !== undefined && typeof value !== 'boolean') throw wrongType(name, 'a boolean', value)
  }
  const metadata = body.metadata ?? undefined
  if (metadata !== undefined && !isJsonObject(metadata)) throw wrongType('metadata', 'an object', metadata)
  const effort = isJsonObject(body.reasoning) ? (body.reasoning.effort ?? undefined) : undefined
  if (effort !== undefined && (body.reasoning_effort ?? effort) !== effort) {
    throw invalidRequest('reasoning_effort', `'reasoning_effort' contradicts 'reasoning.effort'.`)
  }
  if (Array.isArray(body.input) && body.input.length === 0) {
    throw invalidRequest('input', `'input' must hold at least one item.`)
  }
  if (Array.isArray(body.input)) body.input.forEach(assertContent)
  if (tools.length < 2) return
  const names = tools.flatMap(tool => (tool.type === 'function' ? [flattenToolName(tool)] : []))
  if (new Set(names).size < names.length) throw invalidRequest('tools', `Two functions of 'tools' have the same name.`)
}

/** A message says something, but for a turn of the model, which may be empty. */
function assertContent(item: JsonValue, index: number): void {
  if (!isJsonObject(item) || (item.type ?? 'message') !== 'message' || typeof item.content === 'string') return
  if (item.role === 'assistant' || (Array.isArray(item.content) && item.content.length > 0)) return
  const path = `input[${index}].content`
  throw invalidRequest(path, `'${path}' must be a string or hold at least one part.`)
}

/** Notes tools, choices and items that do not reach a provider. */
export function noteParts(body: JsonObject, request: NormalizedRequest, sink: PartSink): void {
  noteUnnamedTools(body.tools, 'tools', sink)
  if (request.ignored.tool_choice !== undefined) sink.refuse('tool_choice', 'tool_choice_not_expressed')
  for (const path of listLeftOutParts(request.ignored)) sink.leaveOut(path, 'part_not_expressed')
  if (!Array.isArray(body.input)) return
  for (const [index, item] of body.input.entries()) {
    if (isJsonObject(item) && !isPlainMessage(item)) noteItem(item, `input[${index}]`, sink)
  }
}

/** Types of items that reach a provider, in the form that its wire has. */
const CARRIED_TYPES: ReadonlySet<JsonValue | undefined> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output'
])

/** Runs of tools that a service executed itself, and its reasoning: the turn has gone on without them. */
const REPLAYED_TYPE = /^(?:reasoning|mcp_.*|.*_call|.*_call_output)$/

function noteItem(item: JsonObject, path: string, sink: PartSink): void {
  const type = item.type ?? 'message'
  if (type === ADDITIONAL_TOOLS) {
    noteUnnamedTools(item.tools, `${path}.tools`, sink)
    return
  }
  if (isOwnReasoning(item) || type === COMPACTION_TRIGGER || isSealedSummary(item.encrypted_content)) return
  if (!CARRIED_TYPES.has(type)) {
    if (typeof type === 'string' && REPLAYED_TYPE.test(type)) sink.drop(`${path}.type`, 'item_of_another_service')
    else sink.leaveOut(`${path}.type`, 'item_not_expressed')
    return
  }
  if (type === 'function_call_output' && typeof item.call_id !== 'string') {
    sink.drop(`${path}.call_id`, 'result_without_call')
  }
  if (sink.isExact) noteMembers(item, { type, path }, sink)
}

const replayed = { class: 'accepted_ignored' } as const
const head = { type: supported, id: supported, status: { class: 'accepted_ignored', harmless: ['completed'] } } as const

/** What a client that wants exactness may write into the items that a provider is told (bridge.md 7.6). */
const itemMembers: Readonly<Record<string, Members>> = {
  message: new Members({ ...head, role: supported, content: supported }),
  function_call: new Members({
    ...head,
    // An incomplete call is cut (decisions.md 51).
    status: { ...head.status, harmless: ['completed', 'incomplete'] },
    call_id: supported,
    name: supported,
    namespace: supported,
    arguments: supported
  }),
  function_call_output: new Members({
    ...head,
    call_id: supported,
    name: supported,
    namespace: supported,
    output: supported
  }),
  custom_tool_call: new Members({
    ...head,
    call_id: supported,
    name: supported,
    namespace: supported,
    input: supported
  }),
  custom_tool_call_output: new Members({ ...head, call_id: supported, output: supported })
}

const partMembers: Readonly<Record<string, Members>> = {
  input_text: new Members({ type: supported, text: supported }),
  output_text: new Members({ type: supported, text: supported, annotations: replayed, logprobs: replayed })
}

const MESSAGE_ROLES: ReadonlySet<JsonValue | undefined> = new Set(['developer', 'system', 'user', 'assistant'])

function noteMembers(item: JsonObject, { type, path }: { type: JsonValue; path: string }, sink: PartSink): void {
  if (type === 'message' && !MESSAGE_ROLES.has(item.role)) sink.drop(`${path}.role`, 'role_not_expressed')
  noteReplayed(item, { members: findOwn(itemMembers, type), path }, sink)
  if (!Array.isArray(item.content)) return
  for (const [index, part] of item.content.entries()) {
    if (!isJsonObject(part)) continue
    // Other parts, such as images, are carried: the provider and the features of the alias decide about them.
    noteReplayed(part, { members: findOwn(partMembers, part.type), path: `${path}.content[${index}]` }, sink)
  }
}

function findOwn(byType: Readonly<Record<string, Members>>, type: JsonValue | undefined): Members | undefined {
  return typeof type === 'string' && Object.hasOwn(byType, type) ? byType[type] : undefined
}

function noteReplayed(
  source: JsonObject,
  { members, path }: { members: Members | undefined; path: string },
  sink: PartSink
): void {
  const drop = (at: string, reasonId: string): void => sink.drop(`${path}.${at}`, reasonId)
  members?.visit(source, { leaveOut: drop, refuse: drop })
}

/** The id of a reasoning item of the gateway (`OutputList.createId`), which no other service writes in this form. */
const OWN_REASONING_ID = /^rs_[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:_\d+)?$/

/** A replayed item of the gateway holds a summary, which no provider needs back, and state that the gateway wrote. */
function isOwnReasoning({ type, id, encrypted_content: encrypted }: JsonObject): boolean {
  if (type !== 'reasoning') return false
  if ((encrypted ?? undefined) !== undefined) return readStateSignature(encrypted) !== undefined
  return typeof id === 'string' && OWN_REASONING_ID.test(id)
}

/** The effort has two names, and so has the schema of the output. */
export function spellField(body: JsonObject, field: string): string {
  const has = (name: string): boolean => (body[name] ?? undefined) !== undefined
  if (field === 'reasoning') {
    if (isJsonObject(body.reasoning) && (body.reasoning.effort ?? undefined) !== undefined) return 'reasoning.effort'
    return has('reasoning_effort') ? 'reasoning_effort' : field
  }
  if (field === 'max_output_tokens') return has('max_output_tokens') ? field : 'max_tokens'
  if (field !== 'text.format') return field
  return isJsonObject(body.text) && (body.text.format ?? undefined) !== undefined ? field : 'response_format'
}
