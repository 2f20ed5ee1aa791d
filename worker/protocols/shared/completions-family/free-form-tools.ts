// Custom tools, whose input is free text and no JSON: functions of one text parameter, and their calls (decisions.md 77).

import {
  type FreeFormTool,
  type FunctionTool,
  flattenToolName,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedTool
} from '../../../normalized/index.ts'
import { keepDefined, readOptionalObject, readOptionalString, wrongType } from '../members/field.ts'
import { INPUT_PARAMETER } from '../tools/free-form-input.ts'
import type { ToolArguments } from '../tools/tool-arguments.ts'

/** The type of a custom tool and of its call in chat completions. */
export const CUSTOM = 'custom'

/** True for a custom tool, for its call in chat completions, and for its choice. */
export function isCustom(source: JsonValue | undefined): source is JsonObject & { type: typeof CUSTOM } {
  return isJsonObject(source) && source.type === CUSTOM
}

/**
 * Reads a declaration in its nested form (`{custom: {name, …}}`) or its flat one. One without a name is dropped, because the model cannot
 * call it. Raises `invalid_request` with the path of a wrong member.
 */
export function readFreeFormTool(tool: JsonObject, place: { path: string; namespace?: string }): FunctionTool[] {
  const { definition, path } = readNested(tool, place.path)
  const { name } = definition
  if (typeof name !== 'string' || name.trim() === '') return []
  const freeForm = readFreeForm(definition, path)
  const { namespace } = place
  return [
    {
      type: 'function',
      name,
      ...keepDefined({ namespace, description: describe(freeForm) }),
      parameters: {
        type: 'object',
        properties: {
          [INPUT_PARAMETER]: { type: 'string', description: 'The whole input of the tool, as plain text.' }
        },
        required: [INPUT_PARAMETER],
        additionalProperties: false
      },
      freeForm
    }
  ]
}

/** The members of a declaration, a choice or a call, which may stand under `custom`, with their path. */
export function readNested(source: JsonObject, path: string): { definition: JsonObject; path: string } {
  return isJsonObject(source.custom)
    ? { definition: source.custom, path: `${path}.custom` }
    : { definition: source, path }
}

/** Reads the format: plain text, or a grammar whose members may stand under `grammar`. */
function readFreeForm(definition: JsonObject, path: string): FreeFormTool {
  const description = readOptionalString(definition, 'description', path)
  const format = readOptionalObject(definition, 'format', path)
  if (format?.type !== 'grammar') return keepDefined({ description })
  const nested = readOptionalObject(format, 'grammar', `${path}.format`)
  const at = nested === undefined ? `${path}.format` : `${path}.format.grammar`
  const grammar = nested ?? format
  const definitionText = readOptionalString(grammar, 'definition', at)
  if (definitionText === undefined) return keepDefined({ description })
  const syntax = readOptionalString(grammar, 'syntax', at) ?? 'lark'
  return { ...keepDefined({ description }), grammar: { syntax, definition: definitionText } }
}

/** What the model is told of the tool. No provider holds it to the grammar. */
function describe({ description = '', grammar }: FreeFormTool): string | undefined {
  if (grammar === undefined) return description === '' ? undefined : description
  const { syntax, definition } = grammar
  const kind = syntax === 'regex' ? 'this regular expression' : `this ${syntax} grammar`
  const rule = `The text of \`${INPUT_PARAMETER}\` must match ${kind}:\n${definition}`
  return description === '' ? rule : `${description}\n\n${rule}`
}

/** The arguments of a call whose input is at `path`. Raises `invalid_request` for an input that is no text. */
export function readFreeFormArguments(input: JsonValue | undefined, path: string): ToolArguments {
  const text = input ?? ''
  if (typeof text !== 'string') throw wrongType(path, 'a string', text)
  const read = { [INPUT_PARAMETER]: text }
  return { arguments: read, argumentsText: JSON.stringify(read) }
}

/** The flat names of the custom tools; undefined where the request declares none. */
export function listFreeFormNames(tools: readonly NormalizedTool[]): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined
  for (const tool of tools) {
    if (tool.type !== 'function' || tool.freeForm === undefined) continue
    names ??= new Set()
    names.add(flattenToolName(tool))
  }
  return names
}
