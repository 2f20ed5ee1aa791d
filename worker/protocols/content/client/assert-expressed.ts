// What a generateContent request may not ask of a provider that refuses what it cannot keep (bridge.md 7.6).

import {
  type GatewayError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  unsupportedSemantic
} from '../../../normalized/index.ts'
import { supported } from '../../shared/common-parameters.ts'
import { joinPath } from '../../shared/field.ts'
import { refuseUnexpressed } from '../../shared/parameters.ts'
import { listContents } from './read-contents.ts'
import { listParts } from './read-parts.ts'
import { listDeclarations, listTools } from './read-tools.ts'
import { contentParameters, generationParameters } from './schema.ts'
import { readMember, spell, toCamelCase } from './spelling.ts'
import { readThoughtSignature } from './thought-signature.ts'

const toolConfigParameters = { functionCallingConfig: supported } as const

/** A schema of the result is left out by the wires that have no place for it. */
const declarationParameters = {
  name: supported,
  description: supported,
  parameters: supported,
  parametersJsonSchema: supported,
  response: supported,
  responseJsonSchema: supported
} as const

/** Kinds of parts that other wires have. Members beside them say nothing about the text or the call. */
const CARRIED_KINDS = ['text', 'inlineData', 'functionCall', 'functionResponse'] as const

/** Raises `unsupported_semantic` for the first member or part that the normalized form does not carry. */
export function assertExpressed(body: JsonObject, _request: NormalizedRequest): void {
  refuseUnexpressed(body, contentParameters, { fold: toCamelCase })
  const config = spell(body, 'generationConfig')
  const toolConfig = spell(body, 'toolConfig')
  refuseMembers(body[config], config, generationParameters)
  refuseMembers(body[toolConfig], toolConfig, toolConfigParameters)
  for (const { tool, path } of listTools(body.tools, 'tools')) {
    for (const { declaration, path: at } of listDeclarations(tool, path)) {
      refuseMembers(declaration, at, declarationParameters)
    }
  }
  assertInstruction(body)
}

/** The same for the contents. */
export function assertHistoryExpressed(body: JsonObject): void {
  for (const { content, path } of listContents(body.contents, 'contents')) {
    for (const { part, path: at } of listParts(content, path)) assertPart(part, at)
  }
}

function refuseMembers(
  source: JsonValue | undefined,
  path: string,
  table: Parameters<typeof refuseUnexpressed>[1]
): void {
  if (isJsonObject(source)) refuseUnexpressed(source, table, { path, fold: toCamelCase })
}

/** An instruction is a text on other wires. */
function assertInstruction(body: JsonObject): void {
  const member = spell(body, 'systemInstruction')
  const instruction = body[member]
  if (!isJsonObject(instruction) || isEmpty(instruction.parts)) return
  for (const { part, path } of listParts(instruction, member)) {
    if (readMember(part, 'text') === undefined) throw refusePart(part, path)
  }
}

/** `systemInstruction` may have no parts. */
function isEmpty(parts: JsonValue | undefined): boolean {
  return parts === undefined || parts === null || (Array.isArray(parts) && parts.length === 0)
}

function refusePart(part: JsonObject, path: string): GatewayError {
  const [member] = Object.keys(part)
  return unsupportedSemantic(member === undefined ? path : joinPath(path, member))
}

function assertPart(part: JsonObject, path: string): void {
  if (CARRIED_KINDS.every(kind => readMember(part, kind) === undefined)) throw refusePart(part, path)
  const member = spell(part, 'thoughtSignature')
  // The gateway's own signatures hold the id of a call, or state that only its provider reads.
  const isForeign = readThoughtSignature(part[member]).state?.content_compatible?.thoughtSignature !== undefined
  if (isForeign) throw unsupportedSemantic(joinPath(path, member))
}

/** The path in the client's spelling. The schema of the output has two names. The path of a part is in that spelling already. */
export function spellField(body: JsonObject, field: string): string {
  if (field.includes('[')) return field
  const spelled: string[] = []
  let source: JsonValue | undefined = body
  for (const name of field.split('.')) {
    const holder: JsonObject = isJsonObject(source) ? source : {}
    const isOtherName = name === 'responseSchema' && readMember(holder, name) === undefined
    const member = spell(holder, isOtherName ? 'responseJsonSchema' : name)
    spelled.push(member)
    source = holder[member]
  }
  return spelled.join('.')
}
