// The messages of the Google GenAI wire with their fields and types, as far as requests have them, and a reader that refuses what does
// not fit them as the service's JSON parser does.

import { isObject, type JsonObject, type JsonValue } from '../json.ts'
import { invalidPayload } from './errors.ts'

/** `value` is any JSON; `enum` a word in any case; a name is that of a message below. */
type FieldType = 'string' | 'bytes' | 'number' | 'integer' | 'boolean' | 'value' | 'struct' | 'enum' | MessageName
/** A list has its type in an array; a map has any names. */
type Field = FieldType | readonly [FieldType] | { readonly map: FieldType }

const requestFields = {
  contents: ['content'],
  systemInstruction: 'content',
  tools: ['tool'],
  toolConfig: 'toolConfig',
  safetySettings: ['safetySetting'],
  generationConfig: 'generationConfig',
  cachedContent: 'string',
  serviceTier: 'enum',
  store: 'boolean'
} as const

const schemaFields = {
  type: 'enum',
  format: 'string',
  title: 'string',
  description: 'string',
  nullable: 'boolean',
  enum: ['string'],
  maxItems: 'integer',
  minItems: 'integer',
  properties: { map: 'schema' },
  required: ['string'],
  minProperties: 'integer',
  maxProperties: 'integer',
  minLength: 'integer',
  maxLength: 'integer',
  pattern: 'string',
  example: 'value',
  anyOf: ['schema'],
  propertyOrdering: ['string'],
  default: 'value',
  items: 'schema',
  minimum: 'number',
  maximum: 'number'
} as const

const definitions = {
  generateContentRequest: requestFields,
  /** The same request inside another one, where it has to name its model. */
  namedContentRequest: { model: 'string', ...requestFields },
  countTokensRequest: { contents: ['content'], generateContentRequest: 'namedContentRequest' },
  embedContentRequest: {
    model: 'string',
    content: 'content',
    taskType: 'enum',
    title: 'string',
    outputDimensionality: 'integer'
  },
  batchEmbedContentsRequest: { requests: ['embedContentRequest'] },
  content: { role: 'string', parts: ['part'] },
  part: {
    text: 'string',
    inlineData: 'blob',
    fileData: 'fileData',
    functionCall: 'functionCall',
    functionResponse: 'functionResponse',
    executableCode: 'struct',
    codeExecutionResult: 'struct',
    toolCall: 'struct',
    toolResponse: 'struct',
    thought: 'boolean',
    thoughtSignature: 'bytes',
    partMetadata: 'struct',
    videoMetadata: 'struct',
    mediaResolution: 'struct'
  },
  blob: { mimeType: 'string', data: 'bytes' },
  fileData: { mimeType: 'string', fileUri: 'string' },
  functionCall: { id: 'string', name: 'string', args: 'struct' },
  functionResponse: {
    id: 'string',
    name: 'string',
    response: 'struct',
    willContinue: 'boolean',
    scheduling: 'enum',
    parts: ['functionResponsePart']
  },
  functionResponsePart: { inlineData: 'blob' },
  tool: {
    functionDeclarations: ['functionDeclaration'],
    googleSearch: 'struct',
    googleSearchRetrieval: 'struct',
    codeExecution: 'struct',
    urlContext: 'struct',
    computerUse: 'struct',
    fileSearch: 'struct',
    googleMaps: 'struct',
    mcpServers: ['struct']
  },
  functionDeclaration: {
    name: 'string',
    description: 'string',
    behavior: 'enum',
    parameters: 'schema',
    parametersJsonSchema: 'value',
    response: 'schema',
    responseJsonSchema: 'value'
  },
  schema: schemaFields,
  toolConfig: {
    functionCallingConfig: 'functionCallingConfig',
    retrievalConfig: 'struct',
    includeServerSideToolInvocations: 'boolean'
  },
  functionCallingConfig: { mode: 'enum', allowedFunctionNames: ['string'] },
  safetySetting: { category: 'enum', threshold: 'enum' },
  generationConfig: {
    stopSequences: ['string'],
    responseMimeType: 'string',
    responseSchema: 'schema',
    responseJsonSchema: 'value',
    responseModalities: ['enum'],
    candidateCount: 'integer',
    maxOutputTokens: 'integer',
    temperature: 'number',
    topP: 'number',
    topK: 'integer',
    seed: 'integer',
    presencePenalty: 'number',
    frequencyPenalty: 'number',
    responseLogprobs: 'boolean',
    logprobs: 'integer',
    enableEnhancedCivicAnswers: 'boolean',
    speechConfig: 'struct',
    thinkingConfig: 'thinkingConfig',
    imageConfig: 'struct',
    mediaResolution: 'enum'
  },
  thinkingConfig: { includeThoughts: 'boolean', thinkingBudget: 'integer', thinkingLevel: 'enum' }
} as const satisfies Record<string, Readonly<Record<string, unknown>>>

export type MessageName =
  | 'generateContentRequest'
  | 'namedContentRequest'
  | 'countTokensRequest'
  | 'embedContentRequest'
  | 'batchEmbedContentsRequest'
  | 'content'
  | 'part'
  | 'blob'
  | 'fileData'
  | 'functionCall'
  | 'functionResponse'
  | 'functionResponsePart'
  | 'tool'
  | 'functionDeclaration'
  | 'schema'
  | 'toolConfig'
  | 'functionCallingConfig'
  | 'safetySetting'
  | 'generationConfig'
  | 'thinkingConfig'

/**
 * Reads JSON as one of these messages: names in camel case, as the wire also takes them in snake case; no members that are null.
 * @throws GoogleError 400 with the path of the first member that the message does not have, or that has a wrong type.
 */
export function readGoogleMessage(name: MessageName, value: unknown): JsonObject {
  return readMessage(name, value, '')
}

function readMessage(name: MessageName, value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw wrongType(path, `type.googleapis.com/google.ai.generativelanguage.v1beta.${name}`, value)
  const fields: Readonly<Record<string, Field>> = definitions[name]
  const read: JsonObject = {}
  for (const [member, one] of Object.entries(value)) {
    const field = toCamelCase(member)
    if (!Object.hasOwn(fields, field)) {
      const place = path === '' ? '' : ` at '${path}'`
      const description = `Invalid JSON payload received. Unknown name "${member}"${place}: Cannot find field.`
      throw invalidPayload(path, description)
    }
    if (one === null || one === undefined) continue
    read[field] = readField(
      fields[field] as Field,
      one,
      path === '' ? toSnakeCase(field) : `${path}.${toSnakeCase(field)}`
    )
  }
  return read
}

function readField(field: Field, value: unknown, path: string): JsonValue {
  if (typeof field === 'string') return readOne(field, value, path)
  if (isMap(field)) {
    if (!isObject(value)) throw wrongType(path, 'map', value)
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, readOne(field.map, one, `${path}[${JSON.stringify(key)}]`)])
    )
  }
  // The service takes a single value for a list of one.
  const list = Array.isArray(value) ? value : [value]
  return list.map((one, index) => readOne(field[0], one, `${path}[${index}]`))
}

function isMap(field: Exclude<Field, string>): field is { readonly map: FieldType } {
  return !Array.isArray(field)
}

const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/

function readOne(type: FieldType, value: unknown, path: string): JsonValue {
  switch (type) {
    case 'value':
      return value as JsonValue
    case 'struct':
      if (!isObject(value)) throw wrongType(path, 'type.googleapis.com/google.protobuf.Struct', value)
      return value as JsonObject
    case 'string':
      if (typeof value !== 'string') throw wrongType(path, 'TYPE_STRING', value)
      return value
    case 'enum':
      if (typeof value !== 'string') throw wrongType(path, 'TYPE_ENUM', value)
      return value.toUpperCase()
    case 'bytes':
      if (typeof value !== 'string' || !base64.test(value)) throw wrongType(path, 'TYPE_BYTES', value)
      return value
    case 'boolean':
      if (typeof value !== 'boolean') throw wrongType(path, 'TYPE_BOOL', value)
      return value
    case 'integer':
    case 'number': {
      // The wire has numbers of 64 bits as text.
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      if (typeof number !== 'number' || !Number.isFinite(number) || (type === 'integer' && !Number.isInteger(number)))
        throw wrongType(path, type === 'integer' ? 'TYPE_INT32' : 'TYPE_FLOAT', value)
      return number
    }
    default:
      return readMessage(type, value, path)
  }
}

function wrongType(path: string, type: string, value: unknown) {
  const shown = typeof value === 'string' ? `"${value.slice(0, 100)}"` : Array.isArray(value) ? 'a list' : String(value)
  return invalidPayload(path, `Invalid value at '${path}' (${type}), ${shown}`)
}

function toCamelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
