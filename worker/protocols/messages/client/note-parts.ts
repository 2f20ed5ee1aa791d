// What the normalized form does not carry of the tools and messages of a message request (decisions.md 69 and 75).

import { invalidRequest, isJsonObject, type JsonObject, type NormalizedRequest } from '../../../normalized/index.ts'
import type { PartSink } from '../../shared/members/members.ts'
import { isPlaceholder } from './deferred-tools.ts'

/** Raises `invalid_request` for a request without an output limit, which the protocol demands. */
export function assertValid(_body: JsonObject, { sampling }: NormalizedRequest): void {
  if (sampling.maxOutputTokens === undefined) throw invalidRequest('max_tokens', 'Field required')
}

/** Blocks of earlier turns that ask for nothing. */
const REASONING_BLOCKS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/** Notes tools and blocks that do not reach a provider. */
export function noteParts({ tools, messages }: JsonObject, { ignored }: NormalizedRequest, sink: PartSink): void {
  if (Array.isArray(tools)) for (const [index, tool] of tools.entries()) noteTool(tool, `tools[${index}]`, sink)
  // The reader lists the type of every block without effect under its path.
  const sent = Array.isArray(messages) ? messages : []
  const lastAnswer = sent.findLastIndex(message => isJsonObject(message) && message.role === 'assistant')
  for (const [path, type] of Object.entries(ignored)) {
    if (!path.endsWith('].type') || REASONING_BLOCKS.has(type)) continue
    const isNew = Number(NEW_BLOCK.exec(path)?.[1] ?? -1) > lastAnswer
    if (isNew && MEDIA_BLOCKS.has(type)) sink.refuse(path, 'media_not_expressed')
    else sink.leaveOut(path, 'block_not_expressed')
  }
}

/** A block of a message itself, not one of a tool result. */
const NEW_BLOCK = /^messages\[(\d+)\]\.content\[\d+\]\.type$/

/** What the model has to read in this turn (decisions.md 69). */
const MEDIA_BLOCKS: ReadonlySet<unknown> = new Set(['image', 'document', 'container_upload'])

function noteTool(tool: unknown, path: string, sink: PartSink): void {
  if (!isJsonObject(tool)) {
    sink.leaveOut(path, 'tool_not_callable')
    return
  }
  if (isPlaceholder(tool)) return
  // Tools in the upstream's own shape have neither a type nor a name (decisions.md 64).
  const isOwnShape = !('type' in tool) && !('name' in tool) && !('input_schema' in tool)
  const isFunction = (tool.type ?? 'custom') === 'custom' || isJsonObject(tool.input_schema)
  const isNamed = typeof tool.name === 'string' && tool.name.trim() !== ''
  if (isFunction && !isNamed && !isOwnShape) sink.leaveOut(`${path}.name`, 'tool_not_callable')
}

/** The effort and the schema of the output have two names each. */
export function spellField({ output_config: config, thinking }: JsonObject, field: string): string {
  const given = isJsonObject(config) ? config : {}
  if (field === 'output_config.format') return (given.format ?? undefined) === undefined ? 'output_format' : field
  const isBudget = isJsonObject(thinking) && thinking.type === 'enabled'
  return field === 'thinking' && !isBudget ? 'output_config.effort' : field
}
