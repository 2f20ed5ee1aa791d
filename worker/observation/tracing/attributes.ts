// The attributes of spans, as plain values for the filter (operations.md 11.3 and 11.6).
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE
} from '@opentelemetry/semantic-conventions'
import {
  ATTR_GEN_AI_CONVERSATION_ID,
  ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_ENCODING_FORMATS,
  ATTR_GEN_AI_REQUEST_FREQUENCY_PENALTY,
  ATTR_GEN_AI_REQUEST_MAX_TOKENS,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_REQUEST_PRESENCE_PENALTY,
  ATTR_GEN_AI_REQUEST_SEED,
  ATTR_GEN_AI_REQUEST_TEMPERATURE,
  ATTR_GEN_AI_REQUEST_TOP_K,
  ATTR_GEN_AI_REQUEST_TOP_P,
  ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  ATTR_GEN_AI_RESPONSE_ID,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS
} from '@opentelemetry/semantic-conventions/incubating'
import { readAmount } from '../../../shared/prices.ts'
import { isJsonObject, tryParseJson } from '../../normalized/index.ts'
import type { ModelSpan } from '../../operations/operation.ts'
import type { ChatDescription, EmbeddingsDescription } from '../../translation/call-description.ts'
import type { ClosedFacts, RequestView } from '../observer.ts'
import { describeMetadata } from '../request-metadata.ts'
import { ContentText, capturedAttribute } from './attribute-filter.ts'
import type { CallRecord } from './call-record.ts'
import type { CaptureSwitches } from './capture-switches.ts'
import { findResponseId } from './response-id.ts'

/** Values of attributes before the filter: null and undefined are dropped there, objects become JSON text. */
export type Values = Record<string, unknown>

/** A request that is over. */
export interface EndedRequest {
  readonly request: RequestView
  readonly closed: ClosedFacts
  readonly record: CallRecord
}

/** Whether the status of the span is `ERROR` (operations.md 11.3). */
export function isFailed({ closed }: Pick<EndedRequest, 'closed'>): boolean {
  return closed.status >= 400 || closed.errorType !== undefined || closed.failure !== undefined
}

/** What the span of every request has. */
export function commonAttributes(ended: EndedRequest): Values {
  const { request, closed } = ended
  const { caller } = request
  const status = isFailed(ended) ? 'ERROR' : 'OK'
  return {
    request_id: request.requestId,
    trace_id: request.traceId,
    span_id: request.spanId,
    protocol: request.protocol,
    route: request.route,
    method: request.method,
    model_requested: requestedModel(ended),
    model_effective: closed.facts.upstreamModel,
    'caller.name': caller.name,
    'caller.category': caller.category,
    'caller.client_family': caller.client_family,
    'caller.sdk': caller.sdk,
    'caller.agent': caller.agent,
    'caller.ui': caller.ui,
    'caller.user_agent': caller.user_agent,
    'caller.agent_id': caller.agent_id,
    annotations: { caller },
    metadata: describeMetadata(ended.request, ended.closed),
    latency_ms: roundMs(closed.durationMs),
    status,
    'otel.status_code': status,
    [ATTR_HTTP_REQUEST_METHOD]: request.method,
    [ATTR_HTTP_ROUTE]: request.route === 'unmatched' ? undefined : request.route,
    [ATTR_HTTP_RESPONSE_STATUS_CODE]: closed.status,
    [ATTR_ERROR_TYPE]: closed.errorType
  }
}

/** As the client wrote it, also where its request was refused; undefined where it named none. */
function requestedModel({ request, closed, record }: EndedRequest): string | undefined {
  if (record.description !== undefined) return record.description.requestedModel
  return closed.facts.model === undefined ? request.readRefusedModel() : closed.facts.requestedModel
}

/** What a span has in addition that names no success of a call: of any other route, and of a call that failed. */
export function lifecycleAttributes({ closed, record }: EndedRequest): Values {
  const { facts } = closed
  return {
    status_code: closed.status,
    provider: facts.providerKind,
    stream: facts.isStream,
    upstream_latency_ms: record.upstreamCall === undefined ? undefined : roundMs(record.upstreamCall.durationMs),
    ...tokenAttributes(record),
    ...errorAttributes(closed)
  }
}

/** What the span of a call has in addition, with the attributes of the OpenTelemetry conventions for generative AI. */
export function callAttributes(ended: EndedRequest, span: ModelSpan, capture: CaptureSwitches): Values {
  const { closed, record } = ended
  const { description } = record
  const { facts } = closed
  const { usage } = record
  return {
    'gateway.api_format': span.apiFormat,
    'openinference.span.kind': span.kind,
    'llm.model_name': facts.model,
    'llm.provider': facts.providerKind,
    'llm.operation': span.operation,
    'llm.request.type': span.kind === 'LLM' ? 'chat' : 'embeddings',
    'llm.streaming': facts.isStream,
    'llm.response.status': isFailed(ended) ? 'ERROR' : 'OK',
    'llm.token_count.prompt': usage?.inputTokens,
    'llm.token_count.completion': usage?.outputTokens,
    'llm.token_count.total': totalTokens(record),
    ...tokenAttributes(record),
    'gateway.cost': facts.costNanos === undefined ? undefined : readAmount(facts.costNanos),
    ...errorAttributes(closed),
    ...genAiAttributes(ended, span),
    ...(description?.type === 'chat' && chatAttributes(ended, description, capture)),
    ...(description?.type === 'embeddings' && embeddingsAttributes(ended, description, capture))
  }
}

function chatAttributes(ended: EndedRequest, description: ChatDescription, capture: CaptureSwitches): Values {
  const { request, record } = ended
  const { response } = record
  const hasResponse = response.eventCount > 0
  const conversation = findConversation(record)
  return {
    'llm.input_messages.count': description.messageCount,
    'llm.tools.count': description.toolCount,
    'llm.tools.names': description.toolNames,
    'llm.tool_choice': description.toolChoice,
    'llm.invocation_parameters': description.parameters,
    'llm.response_format': description.responseFormat,
    'llm.output_messages.count': hasResponse ? Number(response.hasOutput) : undefined,
    'llm.tool_calls.count': hasResponse ? response.callCount : undefined,
    'llm.tool_calls.names': hasResponse ? response.calls.map(({ name }) => name) : undefined,
    'llm.response.id': findResponseId(request, record),
    'llm.response.metadata': describeResponseMetadata(response.metadata),
    'llm.finish_reason': findFinishReason(record),
    'llm.finish_reasons': listFinishReasons(record),
    'session.id': conversation,
    'conversation.id': conversation,
    ...capturedRequest(description, capture),
    ...capturedResponse(record, capture)
  }
}

function capturedRequest(description: ChatDescription | EmbeddingsDescription, capture: CaptureSwitches): Values {
  const values: Values = {}
  if (capture.messages) {
    const messages = capturedAttribute(description.messages)
    values['input.value'] = messages
    if (description.type === 'chat') values['llm.input_messages'] = messages
  }
  if (description.type === 'chat') {
    if (capture.toolArguments) values['llm.tools'] = capturedAttribute(description.tools)
    if (capture.content) values['llm.request.extensions'] = capturedAttribute(description.extensions)
  }
  return values
}

function capturedResponse({ response }: CallRecord, capture: CaptureSwitches): Values {
  const values: Values = {}
  const { text, reasoning, calls } = response
  const clientCalls = calls.filter(({ source }) => source === 'response.message')
  const shownCalls = clientCalls.map(call => ({ id: call.id, name: call.name, arguments: call.arguments?.toString() }))
  const areCallsCut = clientCalls.some(call => call.arguments?.isCut === true)
  if (capture.toolArguments && shownCalls.length > 0) {
    values['llm.tool_calls'] = new ContentText(shownCalls, areCallsCut)
  }
  if (text !== undefined && response.hasOutput) {
    const message = {
      role: 'assistant',
      content: text.toString(),
      ...(reasoning?.isEmpty === false && { reasoning: reasoning.toString() }),
      ...(shownCalls.length > 0 && { tool_calls: shownCalls })
    }
    const isCut = text.isCut || reasoning?.isCut === true || areCallsCut
    values['llm.output_messages'] = new ContentText([message], isCut)
    if (!text.isEmpty) values['output.value'] = text.toAttribute()
  }
  return values
}

function embeddingsAttributes(
  ended: EndedRequest,
  description: EmbeddingsDescription,
  capture: CaptureSwitches
): Values {
  const { facts } = ended.closed
  return {
    'embedding.model_name': facts.model,
    'embedding.provider': facts.providerKind,
    'embedding.operation': 'embeddings',
    'embedding.input.count': description.inputCount,
    // The provider's response has exactly one vector for each text, or it is refused.
    'embedding.output.count': isFailed(ended) ? undefined : description.inputCount,
    'embedding.encoding_format': description.encodingFormat,
    'embedding.dimensions': description.dimensions,
    [ATTR_GEN_AI_REQUEST_ENCODING_FORMATS]: [description.encodingFormat],
    [ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT]: description.dimensions,
    user: description.user,
    ...capturedRequest(description, capture)
  }
}

function genAiAttributes({ request, closed, record }: EndedRequest, span: ModelSpan): Values {
  const { facts } = closed
  const { description, response, usage } = record
  const parameters = description?.type === 'chat' ? description.parameters : {}
  return {
    [ATTR_GEN_AI_OPERATION_NAME]: span.genAiOperation,
    [ATTR_GEN_AI_PROVIDER_NAME]: facts.providerKind,
    [ATTR_GEN_AI_REQUEST_MODEL]: facts.model,
    [ATTR_GEN_AI_REQUEST_TEMPERATURE]: parameters.temperature,
    [ATTR_GEN_AI_REQUEST_TOP_P]: parameters.top_p,
    [ATTR_GEN_AI_REQUEST_TOP_K]: parameters.top_k,
    [ATTR_GEN_AI_REQUEST_MAX_TOKENS]: parameters.max_tokens,
    [ATTR_GEN_AI_REQUEST_SEED]: parameters.seed,
    [ATTR_GEN_AI_REQUEST_PRESENCE_PENALTY]: parameters.presence_penalty,
    [ATTR_GEN_AI_REQUEST_FREQUENCY_PENALTY]: parameters.frequency_penalty,
    [ATTR_GEN_AI_RESPONSE_ID]: findResponseId(request, record),
    [ATTR_GEN_AI_RESPONSE_MODEL]: response.providerModel,
    [ATTR_GEN_AI_RESPONSE_FINISH_REASONS]: listFinishReasons(record),
    [ATTR_GEN_AI_USAGE_INPUT_TOKENS]: usage?.inputTokens,
    [ATTR_GEN_AI_USAGE_OUTPUT_TOKENS]: usage?.outputTokens,
    [ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS]: usage?.cacheReadTokens,
    [ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS]: usage?.reasoningTokens,
    [ATTR_GEN_AI_CONVERSATION_ID]: findConversation(record)
  }
}

/** What the span of the call to the provider has. */
export function clientAttributes(ended: EndedRequest, span: ModelSpan): Values {
  const { facts } = ended.closed
  return {
    ...genAiAttributes(ended, span),
    [ATTR_GEN_AI_REQUEST_MODEL]: facts.upstreamModel ?? facts.model,
    [ATTR_ERROR_TYPE]: ended.closed.errorType
  }
}

export function tokenAttributes(record: CallRecord): Values {
  const { usage } = record
  return { input_tokens: usage?.inputTokens, output_tokens: usage?.outputTokens, total_tokens: totalTokens(record) }
}

function totalTokens({ usage }: CallRecord): number | undefined {
  if (usage === undefined) return undefined
  const { inputTokens, outputTokens, totalTokens } = usage
  if (totalTokens !== null) return totalTokens
  return inputTokens === null || outputTokens === null ? undefined : inputTokens + outputTokens
}

/** The message only passes the filter with the main switch. */
function errorAttributes({ errorType, failure }: ClosedFacts): Values {
  return {
    error_type: errorType,
    [ATTR_ERROR_TYPE]: errorType,
    error_message: failure?.message,
    'error.message': failure?.message
  }
}

/** In the words of chat completions. A turn with a call has the reason for calls, also where the provider says another one. */
export function findFinishReason({ response }: CallRecord): string | undefined {
  const { finishReason, callCount, calls } = response
  if (finishReason === undefined) return undefined
  const hasCalls = callCount > 0 && calls.some(({ source }) => source === 'response.message')
  return finishReason === 'stop' && hasCalls ? 'tool_calls' : finishReason.replace('-', '_')
}

function listFinishReasons(record: CallRecord): string[] | undefined {
  const reason = findFinishReason(record)
  return reason === undefined ? undefined : [reason]
}

/** Of a request of the Responses protocol: the provider's thread, else the response that the request continues. */
function findConversation({ description, response }: CallRecord): string | undefined {
  if (description?.type !== 'chat' || description.protocol !== 'responses') return undefined
  return (
    response.metadata.upstream_thread_id ??
    response.conversationId ??
    description.previousResponseId?.replace(/^resp_/, '')
  )
}

/** Members that hold what a tool was given and what it returned. */
const TOOL_CONTENT: ReadonlySet<string> = new Set(['arguments', 'result'])

/** The metadata of the response without the arguments and results of tools; undefined where there is none. */
function describeResponseMetadata(metadata: Readonly<Record<string, string>>): Values | undefined {
  const entries = Object.entries(metadata).map(([name, text]) => [name, withoutToolContent(text)])
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function withoutToolContent(text: string): unknown {
  if (!text.startsWith('[')) return text
  const list = tryParseJson(text)
  if (!Array.isArray(list)) return undefined
  return list.map(item =>
    isJsonObject(item) ? Object.fromEntries(Object.entries(item).filter(([name]) => !TOOL_CONTENT.has(name))) : null
  )
}

function roundMs(durationMs: number): number {
  return Math.round(durationMs * 1000) / 1000
}
