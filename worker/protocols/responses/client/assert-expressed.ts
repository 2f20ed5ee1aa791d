// What a Responses request may not ask of a provider that refuses what it cannot keep (bridge.md 7.6, responses.md 9).

import {
  flattenToolName,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  type ProviderAcceptance,
  unsupportedSemantic
} from '../../../normalized/index.ts'
import { supported } from '../../shared/common-parameters.ts'
import { refuseUnnamedTools } from '../../shared/completions-family/unnamed-tools.ts'
import { wrongType } from '../../shared/field.ts'
import type { ParameterTable } from '../../shared/parameters.ts'
import { refuseUnexpressed } from '../../shared/parameters.ts'
import { isPlainMessage } from '../../shared/plain-message.ts'
import { readStateSignature } from '../../shared/state-signature.ts'
import { ADDITIONAL_TOOLS } from './read-input.ts'
import { responsesParameters } from './schema.ts'

const hasNoEntries = { class: 'accepted_ignored' } as const
/**
 * Any summary is refused, also an automatic one, where the wire of the provider has no place for
 * the wish (bridge.md 7.6).
 */
const notExpressed = { class: 'accepted_ignored' } as const

const reasoningParameters = {
  effort: supported,
  context: { ...notExpressed, harmless: ['auto'] },
  generate_summary: notExpressed,
  summary: notExpressed
} as const satisfies ParameterTable

const shownReasoningParameters = {
  ...reasoningParameters,
  generate_summary: supported,
  summary: supported
} as const satisfies ParameterTable

const textParameters = { format: supported } as const satisfies ParameterTable

/** The members of each type of item; a part of another turn is replayed with its id and a status. */
const head = { type: supported, id: supported, status: { class: 'accepted_ignored', harmless: ['completed'] } } as const

const itemParameters: Readonly<Record<string, ParameterTable>> = {
  message: { ...head, role: supported, content: supported },
  // An incomplete call is cut (decisions.md 51).
  function_call: {
    ...head,
    status: { ...head.status, harmless: ['completed', 'incomplete'] },
    call_id: supported,
    name: supported,
    namespace: supported,
    arguments: supported
  },
  function_call_output: { ...head, call_id: supported, name: supported, namespace: supported, output: supported },
  custom_tool_call: { ...head, call_id: supported, name: supported, namespace: supported, input: supported },
  custom_tool_call_output: { ...head, call_id: supported, output: supported }
}

const partParameters: Readonly<Record<string, ParameterTable>> = {
  input_text: { type: supported, text: supported },
  output_text: { type: supported, text: supported, annotations: hasNoEntries, logprobs: hasNoEntries }
}

/**
 * Raises `invalid_request` for what the protocol forbids, then `unsupported_semantic` for the first member that the normalized form does not
 * carry: members of the body in code-point order, then tools.
 */
export function assertExpressed(
  body: JsonObject,
  request: NormalizedRequest,
  { showsReasoning }: Pick<ProviderAcceptance, 'showsReasoning'>
): void {
  assertValid(body, request)
  refuseUnexpressed(body, responsesParameters)
  if (isJsonObject(body.text)) refuseUnexpressed(body.text, textParameters, { path: 'text' })
  const reasoning = showsReasoning === true ? shownReasoningParameters : reasoningParameters
  if (isJsonObject(body.reasoning)) refuseUnexpressed(body.reasoning, reasoning, { path: 'reasoning' })
  refuseUnnamedTools(body.tools, 'tools')
  if (request.ignored.tool_choice !== undefined) throw unsupportedSemantic('tool_choice')
  if (Array.isArray(body.input)) body.input.forEach(assertDeclarations)
}

/** The same for the items of the input. */
export function assertHistoryExpressed({ input }: JsonObject, request: NormalizedRequest): void {
  if (!Array.isArray(input)) return
  const declared = listNamespaces(request)
  for (const [index, item] of input.entries()) {
    if (isJsonObject(item) && !isPlainMessage(item)) assertItem(item, `input[${index}]`, declared)
  }
}

/** The functions of each namespace. */
function listNamespaces({ tools }: NormalizedRequest): ReadonlyMap<JsonValue, ReadonlySet<JsonValue | undefined>> {
  const namespaces = new Map<JsonValue, Set<JsonValue | undefined>>()
  for (const tool of tools) {
    if (tool.type !== 'function' || tool.namespace === undefined) continue
    const names = namespaces.get(tool.namespace) ?? new Set()
    namespaces.set(tool.namespace, names.add(tool.name))
  }
  return namespaces
}

/** What `readResponsesRequest` forgives the clients of the native upstream. */
function assertValid(body: JsonObject, { tools }: NormalizedRequest): void {
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
  const { input } = body
  if (Array.isArray(input)) {
    if (input.length === 0) throw invalidRequest('input', `'input' must hold at least one item.`)
    input.forEach(assertContent)
  }
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

/** Tools that an item declares. */
function assertDeclarations(item: JsonValue, index: number): void {
  if (isJsonObject(item) && item.type === ADDITIONAL_TOOLS) refuseUnnamedTools(item.tools, `input[${index}].tools`)
}

function assertItem(item: JsonObject, path: string, declared: ReturnType<typeof listNamespaces>): void {
  const type = item.type ?? 'message'
  if (type === ADDITIONAL_TOOLS) return
  if (isOwnReasoning(item)) return
  const table = typeof type === 'string' ? itemParameters[type] : undefined
  if (table === undefined) throw unsupportedSemantic(`${path}.type`)
  if (type === 'message' && !MESSAGE_ROLES.has(item.role)) throw unsupportedSemantic(`${path}.role`)
  refuseUnexpressed(item, table, { path })
  const namespace = type === 'function_call' ? (item.namespace ?? undefined) : undefined
  if (namespace !== undefined && declared.get(namespace)?.has(item.name) !== true) {
    throw invalidRequest(`${path}.namespace`, `'${path}' calls a function that no namespace of 'tools' declares.`)
  }
  if (type === 'function_call_output' && typeof item.call_id !== 'string') throw unsupportedSemantic(`${path}.call_id`)
  if (type !== 'message' || !Array.isArray(item.content)) return
  for (const [index, part] of item.content.entries())
    if (isJsonObject(part)) assertPart(part, `${path}.content[${index}]`)
}

const MESSAGE_ROLES: ReadonlySet<JsonValue | undefined> = new Set(['developer', 'system', 'user', 'assistant'])

/** Other parts, such as images, are carried: the provider and the features of the alias decide about them. */
function assertPart(part: JsonObject, path: string): void {
  const table = typeof part.type === 'string' ? partParameters[part.type] : undefined
  if (table !== undefined) refuseUnexpressed(part, table, { path })
}

/** The id of a reasoning item of the gateway (`OutputList.createId`), which no other service writes in this form. */
const OWN_REASONING_ID = /^rs_[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:_\d+)?$/

/** A replayed item of the gateway holds a summary, which no provider needs back, and state that the gateway wrote. */
function isOwnReasoning({ type, id, encrypted_content: encrypted }: JsonObject): boolean {
  if (type !== 'reasoning') return false
  if ((encrypted ?? undefined) !== undefined) return readStateSignature(encrypted) !== undefined
  return typeof id === 'string' && OWN_REASONING_ID.test(id)
}

/** The effort has two names. */
export function spellField(body: JsonObject, field: string): string {
  const isOtherName = field === 'reasoning' && (body.reasoning ?? undefined) === undefined
  return isOtherName ? 'reasoning_effort' : field
}
