// Writes a normalized request as a generateContent body: the other direction of `face.ts`, for the debugging routes. Parts that the protocol
// has no place for are left out.

import {
  assertNever,
  type ContentPart,
  type FilePart,
  flattenToolName,
  type HostedToolKind,
  type ImagePart,
  type JsonObject,
  type NormalizedMessage,
  type NormalizedRequest,
  type ToolChoice,
  type ToolResultPart
} from '../../../normalized/index.ts'
import { joinTexts } from '../../shared/json/joined-text.ts'
import { keepDefined } from '../../shared/members/field.ts'
import { coerceToolResult } from '../../shared/tools/tool-result.ts'
import { WrittenCallIds } from '../../shared/tools/written-call-ids.ts'
import { writeThoughtSignature } from './thought-signature.ts'

/** Writes a request; `model` stands in the body, because the path of a translation has none. Never raises an error. */
export function writeContentRequest(request: NormalizedRequest): JsonObject {
  const { model, messages, tools, toolChoice, metadata, extraHeaders } = request
  const ids = new WrittenCallIds()
  const instructions = messages.filter(isInstruction).map(({ content }) => joinTexts(content))
  const spoken = messages.filter(message => !isInstruction(message))
  const generationConfig = writeGeneration(request)
  const written = writeTools(tools)
  return keepDefined({
    model,
    systemInstruction: instructions.length === 0 ? undefined : { parts: [{ text: instructions.join('\n\n') }] },
    contents: spoken.flatMap(message => writeContent(message, ids)),
    tools: written.length === 0 ? undefined : written,
    toolConfig: toolChoice && { functionCallingConfig: writeChoice(toolChoice) },
    generationConfig: Object.keys(generationConfig).length === 0 ? undefined : generationConfig,
    labels: metadata,
    extra_headers: extraHeaders
  })
}

function isInstruction({ role }: NormalizedMessage): boolean {
  return role === 'system' || role === 'developer'
}

function writeContent({ role, sentRole, content }: NormalizedMessage, ids: WrittenCallIds): JsonObject[] {
  const isModel = role === 'assistant'
  const parts = content.flatMap<JsonObject>(part => writePart(part, isModel, ids) ?? [])
  if (parts.length === 0) return []
  return [{ role: isModel ? 'model' : sentRole === 'function' ? sentRole : 'user', parts }]
}

function writePart(part: ContentPart, isModel: boolean, ids: WrittenCallIds): JsonObject | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return keepDefined({ text: part.text, thoughtSignature: writeThoughtSignature({ state: part.state }) })
    case 'reasoning': {
      const thoughtSignature = writeThoughtSignature({ state: part.state })
      return isModel ? keepDefined({ text: part.text, thought: true, thoughtSignature }) : undefined
    }
    case 'image':
    case 'file':
      return writeMedia(part)
    case 'tool-call': {
      if (!isModel) return undefined
      ids.ofCall(part)
      const { id, arguments: args, state } = part
      const functionCall = { ...(id === null ? {} : { id }), name: flattenToolName(part), args }
      return keepDefined({ functionCall, thoughtSignature: writeThoughtSignature({ state }) })
    }
    case 'tool-result':
      return { functionResponse: writeResult(part, ids) }
    default:
      return assertNever(part)
  }
}

/** A result must name its function; its object may have media beside it. */
function writeResult(part: ToolResultPart, ids: WrittenCallIds): JsonObject {
  const { callId, content, isError } = part
  const name = ids.findName(part) ?? 'function'
  ids.ofResult(part)
  const media = content.flatMap(inner => (inner.type === 'image' || inner.type === 'file' ? [writeMedia(inner)] : []))
  const { object: response } = coerceToolResult(content, isError)
  return keepDefined({ id: callId ?? undefined, name, response, parts: media.length === 0 ? undefined : media })
}

function writeMedia(part: ImagePart | FilePart): JsonObject {
  const { source } = part
  const displayName = part.type === 'file' ? part.filename : undefined
  switch (source.kind) {
    case 'bytes':
      return { inlineData: keepDefined({ mimeType: source.mediaType, data: source.base64, displayName }) }
    case 'url':
      return {
        fileData: keepDefined({
          fileUri: source.url,
          mimeType: source.mediaType ?? guessType(part, source.url),
          displayName
        })
      }
    case 'file-id':
      return {
        fileData: keepDefined({ fileUri: `files/${source.fileId}`, mimeType: guessType(part, ''), displayName })
      }
    default:
      return assertNever(source)
  }
}

/** Only its media type tells an image from another file in this protocol. */
function guessType({ type }: ImagePart | FilePart, url: string): string | undefined {
  if (type === 'file') return undefined
  const ending = /\.(png|gif|webp|jpe?g)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? 'jpeg'
  return `image/${ending === 'jpg' ? 'jpeg' : ending}`
}

const HOSTED_MEMBERS: Readonly<Record<HostedToolKind, string>> = {
  web_search: 'googleSearch',
  code_interpreter: 'codeExecution',
  url_content_extraction: 'urlContext',
  image_generate: 'imageGenerate',
  model_3d_generate: 'model3dGenerate'
}

function writeTools(tools: NormalizedRequest['tools']): JsonObject[] {
  const declarations: JsonObject[] = []
  const others: JsonObject[] = []
  for (const tool of tools) {
    switch (tool.type) {
      case 'function': {
        const { description, parameters, returnParameters } = tool
        const head = { name: flattenToolName(tool), description, parametersJsonSchema: parameters }
        declarations.push(keepDefined({ ...head, responseJsonSchema: returnParameters }))
        break
      }
      case 'hosted':
        others.push({ [HOSTED_MEMBERS[tool.kind]]: tool.config })
        break
      case 'unsupported':
        break
      default:
        assertNever(tool)
    }
  }
  return declarations.length === 0 ? others : [{ functionDeclarations: declarations }, ...others]
}

function writeChoice(choice: ToolChoice): JsonObject {
  switch (choice.type) {
    case 'auto':
      return { mode: 'AUTO' }
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    case 'function':
      return { mode: 'ANY', allowedFunctionNames: [choice.name] }
    case 'hosted':
      return { mode: 'AUTO' }
    case 'allowed': {
      const { mode, names } = choice
      if (names.length === 0) return { mode: 'NONE' }
      return { mode: mode === 'required' ? 'ANY' : 'AUTO', allowedFunctionNames: names }
    }
    default:
      return assertNever(choice)
  }
}

function writeGeneration({ sampling, output, reasoning }: NormalizedRequest): JsonObject {
  const { stop, ...numbers } = sampling
  const config: JsonObject = { ...numbers }
  if (stop !== undefined) config.stopSequences = stop
  if (output?.type === 'text') config.responseMimeType = 'text/plain'
  else if (output !== undefined) config.responseMimeType = 'application/json'
  if (output?.type === 'json-schema') {
    if (output.wantsBareString === true) config.responseMimeType = 'text/x.enum'
    config.responseJsonSchema = output.schema
  }
  if (reasoning !== undefined) {
    const { effort, isVisible, budgetTokens = effort === 'none' ? 0 : undefined } = reasoning
    const amount = budgetTokens === undefined ? { thinkingLevel: effort } : { thinkingBudget: budgetTokens }
    config.thinkingConfig = keepDefined({ includeThoughts: isVisible, ...amount })
  }
  return config
}
