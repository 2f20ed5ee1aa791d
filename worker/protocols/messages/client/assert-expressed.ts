// What a message request may not ask of a provider that refuses what it cannot keep (bridge.md 7.6).

import {
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type NormalizedRequest,
  unsupportedSemantic
} from '../../../normalized/index.ts'
import { supported } from '../../shared/common-parameters.ts'
import { refuseUnexpressed } from '../../shared/parameters.ts'
import { isPlaceholder } from './deferred-tools.ts'
import { messagesParameters } from './schema.ts'

const outputParameters = { effort: supported, format: supported } as const

/** Blocks of earlier turns that ask for nothing. */
const REASONING_BLOCKS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/**
 * Raises `invalid_request` for a request without an output limit, which the protocol demands, then `unsupported_semantic` for the first
 * member that the normalized form does not carry.
 */
export function assertExpressed(body: JsonObject, request: NormalizedRequest): void {
  if (request.sampling.maxOutputTokens === undefined) throw invalidRequest('max_tokens', 'Field required')
  refuseUnexpressed(body, messagesParameters)
  if (isJsonObject(body.output_config))
    refuseUnexpressed(body.output_config, outputParameters, { path: 'output_config' })
  refuseUnnamedFunctions(body)
}

function refuseUnnamedFunctions({ tools }: JsonObject): void {
  if (!Array.isArray(tools)) return
  for (const [index, tool] of tools.entries()) {
    if (isPlaceholder(tool)) continue
    const path = `tools[${index}]`
    if (!isJsonObject(tool)) throw unsupportedSemantic(path)
    const isFunction = (tool.type ?? 'custom') === 'custom' || isJsonObject(tool.input_schema)
    if (isFunction && (typeof tool.name !== 'string' || tool.name.trim() === '')) {
      throw unsupportedSemantic(`${path}.name`)
    }
  }
}

/** The same for the messages: the reader lists the type of every block without effect under its path. */
export function assertHistoryExpressed(_body: JsonObject, { ignored }: NormalizedRequest): void {
  for (const [path, type] of Object.entries(ignored)) {
    if (path.endsWith('].type') && !REASONING_BLOCKS.has(type)) throw unsupportedSemantic(path)
  }
}

/** The effort and the schema of the output have two names each. */
export function spellField({ output_config: config, thinking }: JsonObject, field: string): string {
  const given = isJsonObject(config) ? config : {}
  if (field === 'output_config.format') return (given.format ?? undefined) === undefined ? 'output_format' : field
  const isBudget = isJsonObject(thinking) && thinking.type === 'enabled'
  return field === 'thinking' && !isBudget ? 'output_config.effort' : field
}
