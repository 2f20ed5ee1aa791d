// Reads and checks a request of the Google GenAI wire, for use as a `content_compatible` provider.
import type { ChatRequest, ChatTurn, DeclaredFunction, ToolChoice } from '../chat-request.ts'
import type { ReadResult } from '../chat-wire.ts'
import { asJson, isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import { readGoogleMessage } from './definitions.ts'
import { invalidArgument, unknownModel } from './errors.ts'
import { isSignatureOf } from './signature.ts'

/** Model ids of this form do not exist; all others exist, so that a profile can use any model name. */
const missingModel = /^(?:NonExistent|missing|unknown)/
const functionName = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/
const STOPS_MAX = 5
const CANDIDATES_MAX = 8
const BUDGET_MAX = 32_768

/** Media types that the models read. */
const mediaType =
  /^(?:image\/(?:png|jpeg|webp|heic|heif)|audio\/[a-z0-9.+-]+|video\/[a-z0-9.+-]+|text\/[a-z0-9.+-]+|application\/(?:pdf|json))$/

/** Models of this generation and later ones have ids on calls and refuse a call of the running turn without its signature. */
const SIGNED_GENERATION = 3

/**
 * The generation of a model; undefined for a model of another name, which has what the newest one has. A name without a number, such as
 * `gemini-flash-latest`, leads to a current model.
 */
export function readGeneration(model: string): number | undefined {
  const digits = /^gemini-(\d*)/.exec(model)?.[1]
  return digits === '' ? SIGNED_GENERATION : digits === undefined ? undefined : Number(digits)
}

/** True for models that give their calls ids and signatures, and want the signatures back. */
export function signsCalls(model: string): boolean {
  return (readGeneration(model) ?? 0) >= SIGNED_GENERATION
}

/** Raises GoogleError 404 for a model that does not exist. */
export function checkGoogleModel(model: string, method: string): void {
  if (missingModel.test(model)) throw unknownModel(model, method)
}

/**
 * Reads the body of `:generateContent` or `:streamGenerateContent`.
 * @throws GoogleError 400 or 404 for a request that the service refuses.
 */
export function readGoogleChat(body: unknown, target: { model: string; isStream: boolean }): ReadResult {
  const { model, isStream } = target
  checkGoogleModel(model, isStream ? 'streamGenerateContent' : 'generateContent')
  const message = readGoogleMessage('generateContentRequest', body)
  const turns = readRequestTurns(message, model)
  const functions = readFunctions(message.tools)
  const config = isJsonObject(message.generationConfig) ? message.generationConfig : {}
  checkGeneration(config, { model, hasFunctions: functions.length > 0 })
  const thinking = isJsonObject(config.thinkingConfig) ? config.thinkingConfig : {}
  const choice = readChoice(message.toolConfig, functions)
  const request: ChatRequest = {
    dialect: 'content',
    model,
    turns,
    functions: choice.functions,
    builtins: [],
    choice: choice.choice,
    allowsParallelCalls: true,
    output: readOutput(config),
    wantsReasoning: thinks(thinking),
    isStream,
    tokensMax: typeof config.maxOutputTokens === 'number' ? config.maxOutputTokens : null,
    topLogprobs: 0
  }
  return { request, stored: null, includeUsage: true, showsReasoning: thinking.includeThoughts === true }
}

/**
 * Reads the instructions and the contents of a request, and checks the order of its calls and results.
 * @throws GoogleError 400.
 */
export function readRequestTurns(message: JsonObject, model: string): ChatTurn[] {
  const contents = listObjects(message.contents)
  if (contents.length === 0) throw invalidArgument('* GenerateContentRequest.contents: contents is not specified\n')
  const turns: ChatTurn[] = []
  if (isJsonObject(message.systemInstruction)) {
    const parts = listObjects(message.systemInstruction.parts)
    if (parts.length === 0)
      throw invalidArgument('* GenerateContentRequest.system_instruction.parts: must not be empty')
    if (parts.some(part => typeof part.text !== 'string'))
      throw invalidArgument('* GenerateContentRequest.system_instruction.parts: only texts are supported')
    turns.push({ role: 'system', text: parts.map(part => String(part.text)).join(''), results: [], fileCount: 0 })
  }
  const conversation = new CallOrder(model)
  const start = findRunningTurn(contents)
  contents.forEach((content, index) => {
    const parts = listObjects(content.parts)
    checkParts(parts, `GenerateContentRequest.contents[${index}]`)
    const role = content.role ?? 'user'
    if (role !== 'user' && role !== 'model') throw invalidArgument('Please use a valid role: user, model.')
    if (role === 'model') {
      conversation.addCalls(parts, { position: index, isRunning: index > start })
      turns.push({ role: 'assistant', text: joinTexts(parts), results: [], fileCount: 0 })
      return
    }
    if (signsCalls(model)) checkCurrentResults(parts)
    const results = conversation.addResults(parts)
    if (results.length > 0) turns.push({ role: 'result', text: JSON.stringify(results), results, fileCount: 0 })
    const others = parts.filter(part => part.functionResponse === undefined)
    if (others.length === 0) return
    const fileCount = others.filter(part => part.text === undefined).length
    turns.push({ role: 'user', text: joinTexts(others), results: [], fileCount })
  })
  conversation.finish()
  return turns
}

/** Current models refuse a text beside results, and read `$ref` in a result as the name of a file beside it. */
function checkCurrentResults(parts: readonly JsonObject[]): void {
  const results = parts.filter(part => part.functionResponse !== undefined)
  if (results.length > 0 && parts.some(part => typeof part.text === 'string'))
    throw invalidArgument('Function response parts cannot be mixed with text parts in one content.')
  if (results.some(({ functionResponse }) => isJsonObject(functionResponse) && hasReference(functionResponse.response)))
    throw invalidArgument('A $ref in function_response.response refers to no part of the function response.')
}

function hasReference(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(hasReference)
  return isJsonObject(value) && (value.$ref !== undefined || Object.values(value).some(hasReference))
}

/** Index of the last content in which the user said something: what follows is the running turn. */
function findRunningTurn(contents: readonly JsonObject[]): number {
  return contents.findLastIndex(
    ({ role, parts }) => role !== 'model' && listObjects(parts).some(part => part.functionResponse === undefined)
  )
}

const dataFields = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse'
]

function checkParts(parts: readonly JsonObject[], at: string): void {
  if (parts.length === 0) throw invalidArgument(`* ${at}.parts: contents.parts must not be empty.\n`)
  parts.forEach((part, index) => {
    const place = `${at}.parts[${index}]`
    const count = dataFields.filter(name => part[name] !== undefined).length
    if (count === 0)
      throw invalidArgument(`* ${place}.data: required oneof field 'data' must have one initialized field\n`)
    if (count > 1) throw invalidArgument(`Invalid value at '${place}': oneof field 'data' is already set.`)
    if (isJsonObject(part.inlineData)) checkMedia(part.inlineData, place)
    if (isJsonObject(part.fileData) && typeof part.fileData.fileUri !== 'string')
      throw invalidArgument(`* ${place}.file_data.file_uri: must not be empty\n`)
    const { thoughtSignature, functionCall } = part
    if (typeof thoughtSignature !== 'string' || thoughtSignature === '') return
    const signed = isJsonObject(functionCall) ? { call: String(functionCall.name) } : 'text'
    if (!isSignatureOf(signed, thoughtSignature)) throw invalidArgument('Thought signature is not valid.')
  })
}

function checkMedia({ mimeType, data }: JsonObject, at: string): void {
  if (typeof mimeType !== 'string' || !mediaType.test(mimeType))
    throw invalidArgument(`Unsupported MIME type: ${String(mimeType ?? '')}`)
  if (typeof data !== 'string' || data === '') throw invalidArgument(`* ${at}.inline_data.data: must not be empty\n`)
}

function joinTexts(parts: readonly JsonObject[]): string {
  return parts
    .filter(part => part.thought !== true)
    .map(part => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}

interface OpenCall {
  id: string | undefined
  name: string
}

/** Checks that calls follow the user, and that the content behind them has exactly their results. */
class CallOrder {
  readonly #model: string
  #open: OpenCall[] = []
  #lastRole: 'user' | 'model' | undefined

  constructor(model: string) {
    this.#model = model
  }

  addCalls(parts: readonly JsonObject[], { position, isRunning }: { position: number; isRunning: boolean }): void {
    const calls = parts.filter(part => isJsonObject(part.functionCall))
    // The SDK of Python writes each chunk of a streamed turn back as a content of its own.
    if (calls.length === 0 && this.#lastRole === 'model') return
    this.finish()
    if (calls.length > 0 && this.#lastRole !== 'user') {
      throw invalidArgument(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
      )
    }
    this.#lastRole = 'model'
    this.#open = calls.map(part => readNamed(part.functionCall, 'function_call'))
    const [first] = calls
    const isUnsigned = typeof first?.thoughtSignature !== 'string' || first.thoughtSignature === ''
    if (first === undefined || !isRunning || !isUnsigned || !signsCalls(this.#model)) return
    throw invalidArgument(
      `Function call is missing a thought_signature in functionCall parts: function call ${this.#open[0]?.name}, position ${position + 1}.`
    )
  }

  addResults(parts: readonly JsonObject[]): ChatTurn['results'] {
    const responses = parts.filter(part => isJsonObject(part.functionResponse))
    if (responses.length === 0) {
      this.finish()
      this.#lastRole = 'user'
      return []
    }
    if (this.#lastRole !== 'model' || this.#open.length === 0) {
      throw invalidArgument('Please ensure that function response turn comes immediately after a function call turn.')
    }
    if (responses.length !== this.#open.length) throw wrongCount()
    this.#lastRole = 'user'
    return responses.map(({ functionResponse }) => {
      const response = readNamed(functionResponse, 'function_response')
      const index = this.#open.findIndex(call =>
        response.id === undefined || call.id === undefined ? call.name === response.name : call.id === response.id
      )
      const call = this.#open[index]
      if (call === undefined || call.name !== response.name) {
        throw invalidArgument(
          `The function response ${response.id ?? response.name} belongs to no function call of the turn before it.`
        )
      }
      this.#open.splice(index, 1)
      const value = isJsonObject(functionResponse) ? functionResponse.response : undefined
      if (!isJsonObject(value))
        throw invalidArgument('* GenerateContentRequest.contents: function_response.response must be set\n')
      return { name: call.name, value: simplify(value) }
    })
  }

  /** Refuses calls without results. */
  finish(): void {
    if (this.#open.length > 0) throw wrongCount()
  }
}

function wrongCount() {
  return invalidArgument(
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
  )
}

function readNamed(value: JsonValue | undefined, kind: string): OpenCall {
  const { id, name } = isJsonObject(value) ? value : {}
  if (typeof name !== 'string' || name === '')
    throw invalidArgument(`* GenerateContentRequest.contents: ${kind}.name must not be empty\n`)
  if (!functionName.test(name)) throw invalidName(name)
  return { id: typeof id === 'string' && id !== '' ? id : undefined, name }
}

/** A text in an object with one member is shown as the text. */
function simplify(value: JsonObject): JsonValue {
  const { result, output } = value
  const only = result ?? output
  return Object.keys(value).length === 1 && only !== undefined ? only : value
}

function readFunctions(tools: JsonValue | undefined): DeclaredFunction[] {
  const names = new Set<string>()
  return listObjects(tools).flatMap(tool =>
    listObjects(tool.functionDeclarations).map(declaration => {
      const { name, parameters, parametersJsonSchema } = declaration
      if (typeof name !== 'string' || !functionName.test(name)) throw invalidName(String(name ?? ''))
      if (names.has(name)) throw invalidArgument(`Duplicate function declaration found: ${name}`)
      names.add(name)
      if (parameters !== undefined && parametersJsonSchema !== undefined)
        throw invalidArgument('parameters and parameters_json_schema are mutually exclusive.')
      if (isJsonObject(parameters) && parameters.type !== 'OBJECT')
        throw invalidArgument(`The parameters of the function ${name} must have the type OBJECT.`)
      return { name, parameters: parametersJsonSchema ?? toJsonSchema(parameters ?? {}) }
    })
  )
}

function invalidName(name: string) {
  return invalidArgument(
    `Invalid function name ${JSON.stringify(name)}. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.`
  )
}

const callingModes = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']

function readChoice(
  toolConfig: JsonValue | undefined,
  functions: DeclaredFunction[]
): { choice: ToolChoice; functions: DeclaredFunction[] } {
  const config = isJsonObject(toolConfig) ? toolConfig.functionCallingConfig : undefined
  if (!isJsonObject(config)) return { choice: { kind: 'auto' }, functions }
  if (functions.length === 0) throw invalidArgument('Function calling config is set without function_declarations.')
  const mode = typeof config.mode === 'string' ? config.mode : 'AUTO'
  if (!callingModes.includes(mode))
    throw invalidArgument(`Invalid value at 'tool_config.function_calling_config.mode', ${mode}`)
  const allowed = Array.isArray(config.allowedFunctionNames) ? config.allowedFunctionNames : []
  if (allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED')
    throw invalidArgument(
      'Allowed function names should only be set when the function calling mode is ANY or VALIDATED.'
    )
  const unknown = allowed.find(name => !functions.some(one => one.name === name))
  if (unknown !== undefined)
    throw invalidArgument(`Allowed function name ${String(unknown)} is not among the function declarations.`)
  const kept = allowed.length === 0 ? functions : functions.filter(one => allowed.includes(one.name))
  const [only, ...others] = kept
  if (mode === 'NONE') return { choice: { kind: 'none' }, functions }
  if (mode !== 'ANY') return { choice: { kind: 'auto' }, functions: kept }
  if (only === undefined || others.length > 0) return { choice: { kind: 'any' }, functions: kept }
  return { choice: { kind: 'function', name: only.name, partialArguments: {} }, functions: kept }
}

function checkGeneration(config: JsonObject, { model, hasFunctions }: { model: string; hasFunctions: boolean }): void {
  const { stopSequences, responseMimeType, responseSchema, responseJsonSchema, thinkingConfig } = config
  if (Array.isArray(stopSequences) && stopSequences.length > STOPS_MAX)
    throw invalidArgument(
      `* GenerateContentRequest.generation_config.stop_sequences: at most ${STOPS_MAX} stop sequences\n`
    )
  if (Array.isArray(stopSequences) && stopSequences.includes(''))
    throw invalidArgument('* GenerateContentRequest.generation_config.stop_sequences: must not be empty\n')
  checkRange(config, 'temperature', { min: 0, max: 2 })
  checkRange(config, 'topP', { min: 0, max: 1 })
  checkRange(config, 'topK', { min: 1 })
  checkRange(config, 'maxOutputTokens', { min: 1 })
  checkRange(config, 'candidateCount', { min: 1, max: CANDIDATES_MAX })
  checkRange(config, 'presencePenalty', { min: -2, max: 1.999 })
  checkRange(config, 'frequencyPenalty', { min: -2, max: 1.999 })
  const schema = responseSchema ?? responseJsonSchema
  if (responseSchema !== undefined && responseJsonSchema !== undefined)
    throw invalidArgument('response_schema and response_json_schema are mutually exclusive.')
  if (schema !== undefined && responseMimeType !== 'application/json' && responseMimeType !== 'text/x.enum')
    throw invalidArgument('response_schema needs the response_mime_type application/json or text/x.enum.')
  if (
    responseMimeType !== undefined &&
    !['application/json', 'text/plain', 'text/x.enum'].includes(String(responseMimeType))
  )
    throw invalidArgument(
      `* GenerateContentRequest.generation_config.response_mime_type: unsupported ${String(responseMimeType)}\n`
    )
  const generation = readGeneration(model)
  const isOlder = generation !== undefined && generation < SIGNED_GENERATION
  if (isOlder && hasFunctions && responseMimeType === 'application/json')
    throw invalidArgument("Function calling with a response mime type: 'application/json' is unsupported")
  if (isJsonObject(thinkingConfig)) checkThinking(thinkingConfig, isOlder)
}

const thinkingLevels = ['THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH']

function checkThinking({ thinkingLevel, thinkingBudget, includeThoughts }: JsonObject, isOlder: boolean): void {
  if (thinkingLevel !== undefined && thinkingBudget !== undefined)
    throw invalidArgument('You can only set only one of thinking budget and thinking level.')
  if (thinkingLevel !== undefined && !thinkingLevels.includes(String(thinkingLevel)))
    throw invalidArgument(
      `Invalid value at 'generation_config.thinking_config.thinking_level', ${String(thinkingLevel)}`
    )
  if (thinkingLevel !== undefined && isOlder) throw invalidArgument('Thinking level is not supported for this model.')
  if (typeof thinkingBudget === 'number' && (thinkingBudget < -1 || thinkingBudget > BUDGET_MAX))
    throw invalidArgument(
      `The thinking budget ${thinkingBudget} is invalid. Please choose a value between 0 and ${BUDGET_MAX}.`
    )
  if (includeThoughts === true && thinkingBudget === 0)
    throw invalidArgument('Thinking_config.include_thoughts is only enabled when thinking is enabled.')
}

function thinks({ thinkingLevel, thinkingBudget, includeThoughts }: JsonObject): boolean {
  return (
    thinkingLevel !== undefined ||
    (typeof thinkingBudget === 'number' && thinkingBudget !== 0) ||
    includeThoughts === true
  )
}

function checkRange(config: JsonObject, name: string, range: { min: number; max?: number }): void {
  const value = config[name]
  if (typeof value !== 'number' || (value >= range.min && value <= (range.max ?? value))) return
  throw invalidArgument(`* GenerateContentRequest.generation_config.${name}: ${value} is out of range\n`)
}

function readOutput({ responseMimeType, responseSchema, responseJsonSchema }: JsonObject): ChatRequest['output'] {
  if (responseMimeType !== 'application/json') return { kind: 'text' }
  const schema = responseJsonSchema ?? (responseSchema === undefined ? undefined : toJsonSchema(responseSchema))
  return { kind: 'json', schema: schema ?? { type: 'object', properties: { answer: { type: 'string' } } } }
}

/** The schema of this wire with the names of types that the maker of examples knows. */
function toJsonSchema(schema: JsonValue): JsonValue {
  if (!isJsonObject(schema)) return schema
  const { type, properties, items, anyOf, ...others } = schema
  return {
    ...others,
    ...(typeof type === 'string' ? { type: type.toLowerCase() } : {}),
    ...(isJsonObject(properties)
      ? { properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, toJsonSchema(one)])) }
      : {}),
    ...(items === undefined ? {} : { items: toJsonSchema(items) }),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(toJsonSchema) } : {})
  }
}

function listObjects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(one => isJsonObject(asJson(one))) : []
}
