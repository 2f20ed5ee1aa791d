// Writes the response object: a whole response, and the same object in the first and last events of a stream (responses.md 4).

import {
  assertNever,
  type FinishReason,
  type JsonObject,
  type NormalizedResponse,
  type NormalizedUsage
} from '../../../normalized/index.ts'
import type { ResponseContext } from '../../client-face.ts'
import { selectMetadata } from '../../shared/completions-family/metadata.ts'
import type { ClosingStatus } from './blocks.ts'
import { writeEcho } from './echo.ts'
import { OutputMachine, replayItems } from './output.ts'
import type { EmitItemEvent } from './output-list.ts'
import type {
  ResponsesCompacted,
  ResponsesEcho,
  ResponsesFailure,
  ResponsesOutputItem,
  ResponsesResponse,
  ResponsesUsage
} from './schema.ts'
import { writeResponseId } from './stored-conversation.ts'
import { SummaryOutput } from './summary-output.ts'

/**
 * Writes a whole response. It equals the response in the last event of a stream of the same events
 * (field-lessons.md F3), but for the ids of a provider that has ids of its own: a stream shows its
 * first id before the provider has said anything (bridge.md 8.4 and 8.5).
 */
export function writeResponsesResponse(response: NormalizedResponse, context: ResponseContext): ResponsesResponse {
  const { finish, metadata, usage } = response
  return createResponseWriter(
    context,
    readEchoText(context) ?? writeEcho(context.request)
  )({
    ...writeOutput(response, context),
    metadata,
    usage,
    end: { type: 'finish', reason: finish.reason }
  })
}

/** What turns the events of a response into its output items. */
type Output = Pick<OutputMachine, 'items' | 'listPartial' | 'push' | 'finish' | 'fail'>

export function createOutput(
  { request, seal }: ResponseContext,
  options: { emit?: EmitItemEvent; responseKey?: string | undefined }
): Output {
  if (request.compacts === undefined) return new OutputMachine(request, options)
  const { requestId } = request
  const { emit, responseKey = requestId } = options
  return new SummaryOutput({ requestId, responseKey, emit, seal: seal ?? withoutKey })
}

/** Where nothing reads the summary back: an example of a response. */
function withoutKey(): string {
  return ''
}

function writeOutput(
  { conversationId, finish, identity, items, state }: NormalizedResponse,
  context: ResponseContext
): Pick<ResponseParts, 'id' | 'output'> {
  const output = createOutput(context, { responseKey: identity?.id })
  for (const event of replayItems(items)) output.push(event)
  output.finish(mapStatus(finish.reason), state)
  return { id: writeResponseId(context.request, conversationId ?? identity?.id), output: output.items }
}

/** Writes the response of the operation that summarizes a conversation (memory.md 5). */
export function writeCompactedResponse(response: NormalizedResponse, context: ResponseContext): ResponsesCompacted {
  const { id, output } = writeOutput(response, context)
  const usage = writeUsage(response.usage ?? NO_USAGE)
  return { id, object: 'response.compaction', created_at: context.createdAt, output, usage }
}

/** The SDK's type has no null here. */
const NO_USAGE: NormalizedUsage = {
  inputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
  totalTokens: null
}

/** The form of the operation for a provider's own response to the wish for a summary. */
export function passResponsesResponse(bytes: Uint8Array, { request, createdAt }: ResponseContext): Uint8Array {
  if (request.compacts !== 'object') return bytes
  const { id, created_at: created, output, usage } = JSON.parse(Buffer.from(bytes).toString('utf8')) as JsonObject
  const compacted = { id, object: 'response.compaction', created_at: created ?? createdAt, output, usage }
  return Buffer.from(JSON.stringify(compacted))
}

function readEchoText({ request }: ResponseContext): ResponsesEcho | undefined {
  const { text } = request.echo ?? {}
  return text === undefined ? undefined : JSON.parse(`{${text}}`)
}

/** How a response ended. */
export type ResponseEnd = { type: 'finish'; reason: FinishReason } | { type: 'failure'; failure: ResponsesFailure }

export interface ResponseParts {
  id: string
  output: ResponsesOutputItem[]
  metadata: Record<string, string>
  usage: NormalizedUsage | null
  /** Undefined in the first events of a stream. */
  end: ResponseEnd | undefined
}

/** Writes the response objects of one stream, which differ only in their parts. */
export interface ResponseTextWriter {
  /** JSON of a response, without its end where there is an `echoText`. */
  write(parts: ResponseParts): string
  /** Members that follow in every response, as JSON without the braces. */
  readonly echoText: string | undefined
}

/** Creates the writer of one stream. `echoText` is set for a request that was read in a thread. */
export function createResponseTextWriter(
  context: ResponseContext,
  stringify: (value: object) => string
): ResponseTextWriter {
  const { text: echoText } = context.request.echo ?? {}
  if (echoText === undefined) {
    const write = createResponseWriter(context, writeEcho(context.request))
    return { echoText, write: parts => stringify(write(parts)) }
  }
  const write = createResponseWriter(context, {})
  return { echoText, write: parts => stringify(write(parts)).slice(0, -1) }
}

/** Creates a writer of response objects that differ only in their parts. */
function createResponseWriter<Echo extends object>(
  context: ResponseContext,
  echo: Echo
): (parts: ResponseParts) => Omit<ResponsesResponse, keyof ResponsesEcho> & Echo {
  const { createdAt, model, request } = context
  return ({ id, output, metadata, usage, end }) => {
    const status = writeStatus(end)
    return {
      id,
      object: 'response',
      created_at: createdAt,
      completed_at: status === 'completed' ? (context.now?.() ?? createdAt) : null,
      status,
      error: end?.type === 'failure' ? end.failure : null,
      incomplete_details: end?.type === 'finish' ? writeIncompleteDetails(end.reason) : null,
      model,
      output,
      usage: writeUsage(usage),
      metadata: selectMetadata({ ...request.metadata, ...metadata }),
      ...echo
    }
  }
}

/** The status of a response, and of its last item: incomplete when the provider cut the response. */
export function mapStatus(reason: FinishReason): ClosingStatus {
  switch (reason) {
    case 'stop':
    case 'tool-calls':
      return 'completed'
    case 'length':
    case 'content-filter':
    case 'cancelled':
      return 'incomplete'
    default:
      return assertNever(reason)
  }
}

/** Null when the provider reported no usage. Unknown counts are 0, because the SDK's type has no null for them. */
export function writeUsage(usage: NormalizedUsage): ResponsesUsage
export function writeUsage(usage: NormalizedUsage | null): ResponsesUsage | null
export function writeUsage(usage: NormalizedUsage | null): ResponsesUsage | null {
  if (usage === null) return null
  const inputTokens = usage.inputTokens ?? 0
  const outputTokens = usage.outputTokens ?? 0
  const cachedTokens = usage.cacheReadTokens ?? 0
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: usage.cacheWriteTokens ?? 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.totalTokens ?? inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens }
  }
}

/** The status of a response that has ended in this way; `in_progress` before its end. */
export function writeStatus(end: ResponseEnd | undefined): ResponsesResponse['status'] {
  if (end === undefined) return 'in_progress'
  return end.type === 'failure' ? 'failed' : mapStatus(end.reason)
}

function writeIncompleteDetails(reason: FinishReason): ResponsesResponse['incomplete_details'] {
  if (reason === 'length') return { reason: 'max_output_tokens' }
  return reason === 'content-filter' ? { reason: 'content_filter' } : null
}
