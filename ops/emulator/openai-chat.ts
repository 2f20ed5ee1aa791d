// The OpenAI chat-completions wire under `/openai/v1`: writes the same plans as a `chat_compatible` provider does.
import { adjustPayload, type ChatWire, extraMember, type Frame, type ResponseContext } from './chat-wire.ts'
import { countEmbeddingTokens, embedText } from './embeddings.ts'
import { badRequest, UpstreamError, unprocessable } from './errors.ts'
import { type Exchange, sendBody, sendJson, writeHtmlError } from './exchange.ts'
import { isObject } from './json.ts'
import { checkOpenAiModel, readOpenAiChat } from './read-openai.ts'
import type { PlannedCall, ResponsePlan } from './response-plan.ts'
import { splitIntoDeltas } from './tokens.ts'

const FINGERPRINT = 'fp_emulator'
const ARGUMENT_PIECE_LENGTH = 12

const errorTypes: Record<number, { type: string; code: string | null }> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  404: { type: 'invalid_request_error', code: 'model_not_found' },
  429: { type: 'requests', code: 'rate_limit_exceeded' }
}

function writeError(status: number, message: string): Record<string, unknown> {
  const fallback = { type: status >= 500 ? 'server_error' : 'invalid_request_error', code: null }
  return { error: { message, param: null, ...(errorTypes[status] ?? fallback) } }
}

/** Sends an error in the envelope of this wire, or as a proxy's HTML page. */
export function sendOpenAiError(exchange: Exchange, error: UpstreamError): void {
  if (error.isHtml) {
    const body = writeHtmlError(error.status, error.message)
    sendBody(exchange, { status: error.status, contentType: 'text/html', body, headers: error.headers })
  } else sendJson(exchange, error.status, writeError(error.status, error.message), error.headers)
}

function mapFinishReason(reason: string): string {
  if (reason === 'function_call') return 'tool_calls'
  return reason === 'blacklist' ? 'content_filter' : reason
}

function writeUsage(plan: ResponsePlan): Record<string, unknown> | null {
  if (plan.usage === null) return null
  const { input, output, cached } = plan.usage
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 }
  }
}

/** Writes the arguments as JSON text; a string from a directive is sent unchanged, so that a test can send broken JSON. */
function writeArguments(call: PlannedCall): string {
  return typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
}

function createCallId(context: ResponseContext): string {
  return `call_${context.createId().replaceAll('-', '').slice(0, 24)}`
}

function createResponseId(context: ResponseContext): string {
  return `chatcmpl-${context.createId().replaceAll('-', '')}`
}

function write(context: ResponseContext): Record<string, unknown> {
  const { plan, request, createdSeconds } = context
  const calls = plan.calls.map(call => ({
    id: createCallId(context),
    type: 'function',
    function: { name: call.name, arguments: writeArguments(call) }
  }))
  const message = {
    role: 'assistant',
    content: calls.length > 0 && plan.text === '' ? null : plan.text,
    refusal: null,
    ...(plan.reasoning === '' ? {} : { reasoning_content: plan.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...extraMember(plan.step)
  }
  const usage = writeUsage(plan)
  const body = {
    id: createResponseId(context),
    object: 'chat.completion',
    created: createdSeconds,
    model: request.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: mapFinishReason(plan.finishReason) }],
    ...(usage === null ? {} : { usage }),
    system_fingerprint: FINGERPRINT
  }
  return adjustPayload(body, plan.step)
}

function writeFrames(context: ResponseContext): Frame[] {
  const { plan, request, createdSeconds, includeUsage } = context
  const { step } = plan
  const head = {
    id: createResponseId(context),
    object: 'chat.completion.chunk',
    created: createdSeconds,
    model: request.model,
    system_fingerprint: FINGERPRINT
  }
  const frames: Frame[] = []
  const pushChoices = (choices: unknown[], kind: Frame['kind'], usage: Record<string, unknown> | null) => {
    const payload = { ...head, choices, ...(includeUsage ? { usage } : {}) }
    frames.push({ event: null, data: JSON.stringify(adjustPayload(payload, step)), kind })
  }
  const push = (delta: Record<string, unknown>, kind: Frame['kind'] = 'delta', reason: string | null = null) => {
    const choice = { index: 0, delta: { ...delta, ...extraMember(step) }, logprobs: null, finish_reason: reason }
    pushChoices([choice], kind, null)
  }
  const role = step.noRole === true ? {} : { role: 'assistant' }
  push({ ...role, content: plan.calls.length > 0 && plan.text === '' ? null : '', refusal: null })
  if (plan.reasoning !== '') {
    for (const piece of splitIntoDeltas(plan.reasoning)) push({ reasoning_content: piece })
  }
  for (const piece of plan.deltas) push({ content: piece })
  plan.calls.forEach((call, index) => {
    const start = { index, id: createCallId(context), type: 'function', function: { name: call.name, arguments: '' } }
    push({ tool_calls: [start] })
    const source = writeArguments(call)
    const length = step.argumentPieceLength ?? ARGUMENT_PIECE_LENGTH
    for (let from = 0; from < source.length; from += length) {
      push({ tool_calls: [{ index, function: { arguments: source.slice(from, from + length) } }] })
    }
  })
  push({}, 'finish', mapFinishReason(plan.finishReason))
  const usage = writeUsage(plan)
  if (includeUsage && usage !== null) pushChoices([], 'finish', usage)
  frames.push({ event: null, data: '[DONE]', kind: 'done' })
  return frames
}

/** The chat-completions wire. */
export const openAiChat: ChatWire = {
  stateIdForm: 'random',
  read: readOpenAiChat,
  write,
  writeFrames,
  writeErrorFrame: error => ({
    event: null,
    data: JSON.stringify(writeError(error.status, error.message)),
    kind: 'delta'
  }),
  sendError: sendOpenAiError
}

const openAiModels = ['emulator-small', 'emulator-large', 'emulator-embeddings'].map(id => ({
  id,
  object: 'model',
  created: 1_767_225_600,
  owned_by: 'emulator'
}))

/** The response body of `GET /openai/v1/models`. */
export function listOpenAiModels(): unknown {
  return { object: 'list', data: openAiModels }
}

/** The response body of `GET /openai/v1/models/{id}`. Throws UpstreamError 404. */
export function findOpenAiModel(id: string): unknown {
  const model = openAiModels.find(entry => entry.id === id)
  if (model === undefined) throw new UpstreamError(404, `The model \`${id}\` does not exist`)
  return model
}

const VECTOR_LENGTH = 1536
const VECTOR_LENGTH_MAX = 4096

/**
 * The response body of `POST /openai/v1/embeddings`: vectors of numbers, or base64 of little-endian float32.
 * @throws UpstreamError 400, 404 or 422.
 */
export function writeOpenAiEmbeddings(body: unknown): unknown {
  if (!isObject(body)) throw badRequest('the body must be an object')
  const model = checkOpenAiModel(body.model)
  const inputs = typeof body.input === 'string' ? [body.input] : body.input
  if (!Array.isArray(inputs) || inputs.length === 0) throw badRequest("'input' must be a text or a list of texts")
  const length = typeof body.dimensions === 'number' ? body.dimensions : VECTOR_LENGTH
  if (!Number.isInteger(length) || length < 1 || length > VECTOR_LENGTH_MAX)
    throw unprocessable('dimensions is out of range')
  let tokens = 0
  const data = inputs.map((input, index) => {
    // An input of token ids is embedded as its JSON text, which is as good a seed for the vector.
    const text = typeof input === 'string' ? input : JSON.stringify(input)
    tokens += countEmbeddingTokens(text)
    const vector = embedText(text, length)
    return { object: 'embedding', index, embedding: body.encoding_format === 'base64' ? packVector(vector) : vector }
  })
  return { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } }
}

function packVector(vector: readonly number[]): string {
  const packed = Buffer.alloc(vector.length * 4)
  vector.forEach((value, index) => {
    packed.writeFloatLE(value, index * 4)
  })
  return packed.toString('base64')
}
