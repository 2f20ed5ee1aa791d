// Writes a non-streaming response in the family's form, and the parts of it that the stream writer shares (completions.md 6).

import {
  type FinishReason,
  findCarriedState,
  flattenToolName,
  type GeneratedFile,
  type HostedToolItem,
  type JsonObject,
  type NormalizedRequest,
  type NormalizedResponse,
  type NormalizedUsage,
  type OutputItem,
  type ResponseIdentity,
  type ToolCallItem,
  type UrlCitation
} from '../../../normalized/index.ts'
import type { ResponseContext } from '../../client-face.ts'
import { listFreeFormNames } from '../../shared/completions-family/free-form-tools.ts'
import { selectMetadata } from '../../shared/completions-family/metadata.ts'
import { isShownAsLine, writeFileLines } from '../../shared/media/generated-files.ts'
import { readFreeFormInput } from '../../shared/tools/free-form-input.ts'
import { NO_ARGUMENTS } from '../../shared/tools/tool-arguments.ts'
import { type StateCarrier, writeDetails, writeExtraContent } from './provider-state.ts'
import type {
  CompletionsAnnotation,
  CompletionsExtensions,
  CompletionsFile,
  CompletionsFinishReason,
  CompletionsMessage,
  CompletionsResponse,
  CompletionsToolCall,
  CompletionsToolExecution,
  CompletionsUsage
} from './schema.ts'

/**
 * Writes a response. It equals the accumulated chunks of the stream writer for the same events
 * (field-lessons.md B3).
 */
export function writeCompletionsResponse(response: NormalizedResponse, context: ResponseContext): CompletionsResponse {
  const { usesLegacyFunctions } = context.request
  const calls = response.items.filter(item => item.type === 'tool-call')
  const metadata = writeMetadata(response.metadata)
  const usage = writeUsage(response.usage)
  const fingerprint = writeFingerprint(context, response.identity)
  const written: CompletionsResponse = {
    id: writeCompletionId(context, response.identity),
    object: 'chat.completion',
    created: writeCreatedAt(context, response.identity),
    model: context.model,
    choices: [
      {
        index: 0,
        message: writeMessage(response, calls, context.request),
        logprobs: null,
        finish_reason: mapFinishReason(response.finish.reason, { callCount: calls.length, usesLegacyFunctions })
      }
    ],
    ...(usage === undefined ? {} : { usage }),
    ...(fingerprint === undefined ? {} : { system_fingerprint: fingerprint })
  }
  if (metadata !== undefined) written.metadata = metadata
  return written
}

/** The provider's own id of the response where it has one for its clients. */
export function writeCompletionId(context: ResponseContext, identity: ResponseIdentity | undefined): string {
  return identity?.id ?? `chatcmpl-${context.requestId}`
}

export function writeCreatedAt(context: ResponseContext, identity: ResponseIdentity | undefined): number {
  return identity?.createdAt ?? context.createdAt
}

/** The provider's own fingerprint; undefined for a provider that names its responses and has none (decisions.md 81). */
export function writeFingerprint(context: ResponseContext, identity: ResponseIdentity | undefined): string | undefined {
  return identity === undefined ? `fp_${context.requestId}` : identity.fingerprint
}

/**
 * Maps to the family's finish reason. Agents run tools only on the reason for calls
 * (field-lessons.md A6): a turn with a call gets it even when the provider reports a plain stop,
 * and a turn without a call never gets it, because agents would wait for the call.
 */
export function mapFinishReason(
  reason: FinishReason,
  turn: { callCount: number; usesLegacyFunctions: boolean }
): CompletionsFinishReason {
  if (reason === 'length') return 'length'
  if (reason === 'content-filter') return 'content_filter'
  if (turn.callCount === 0) return 'stop'
  return turn.usesLegacyFunctions ? 'function_call' : 'tool_calls'
}

/** Returns undefined when the provider reported no usage. The details are always numbers, because the SDK's types do not allow null there. */
export function writeUsage(usage: NormalizedUsage | null): CompletionsUsage | undefined {
  if (usage === null) return undefined
  const promptTokens = usage.inputTokens ?? 0
  const completionTokens = usage.outputTokens ?? 0
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: usage.totalTokens ?? promptTokens + completionTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cacheReadTokens ?? 0,
      ...(usage.cacheWriteTokens === null ? {} : { cache_write_tokens: usage.cacheWriteTokens })
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 }
  }
}

/** Selects the metadata that the family's limits allow; undefined when there is none. */
export function writeMetadata(metadata: Record<string, string>): Record<string, string> | undefined {
  const shown = selectMetadata(metadata)
  return Object.keys(shown).length === 0 ? undefined : shown
}

/** Writes a citation of a text block that begins at `offset` in the whole content. */
export function writeAnnotation(citation: UrlCitation, offset: number): CompletionsAnnotation {
  return {
    type: 'url_citation',
    url_citation: {
      start_index: offset + citation.startIndex,
      end_index: offset + citation.endIndex,
      url: citation.url,
      title: citation.title
    }
  }
}

/** Writes hosted tool runs and files as members that extend the family's message; empty members are omitted. */
function writeExtensions(items: readonly OutputItem[]): CompletionsExtensions {
  const executions: CompletionsToolExecution[] = []
  const files: CompletionsFile[] = []
  /** The latest value of each member of any run. */
  const inlineData = new Map<string, JsonObject[string]>()
  for (const item of items) {
    if (item.type === 'hosted-tool') {
      executions.push(writeExecution(item))
      for (const [name, value] of Object.entries(item.inlineData ?? {})) inlineData.set(name, value)
    } else if (item.type === 'file') files.push(writeFile(item.file))
  }
  return {
    ...(executions.length === 0 ? {} : { tool_executions: executions }),
    ...(files.length === 0 ? {} : { files }),
    ...(inlineData.size === 0 ? {} : { inline_data: Object.fromEntries(inlineData) })
  }
}

/** A run of a hosted tool, as far as it is shown. */
export type ShownRun = Pick<HostedToolItem, 'name' | 'status' | 'secondsLeft' | 'isCensored'>

export function writeExecution({ name, status, secondsLeft, isCensored }: ShownRun): CompletionsToolExecution {
  const execution: CompletionsToolExecution = { name, status: status.replace('-', '_') }
  const isOver = status === 'completed' || status === 'failed'
  if (secondsLeft !== undefined && !isOver) execution.seconds_left = secondsLeft
  if (isCensored !== undefined) execution.censored = isCensored
  return execution
}

export function writeFile({ fileId, mediaType, target, url, base64 }: GeneratedFile): CompletionsFile {
  const file: CompletionsFile = { id: fileId }
  if (mediaType !== undefined) file.mime = mediaType
  if (target !== undefined) file.target = target
  if (url !== undefined) file.url = url
  if (base64 !== undefined) file.content = base64
  return file
}

function writeMessage(
  { items, state }: Pick<NormalizedResponse, 'items' | 'state'>,
  calls: readonly ToolCallItem[],
  request: NormalizedRequest
): CompletionsMessage {
  let content = ''
  const annotations: CompletionsAnnotation[] = []
  const listedFiles: GeneratedFile[] = []
  for (const item of items) {
    if (item.type === 'file' && isShownAsLine(item.file)) listedFiles.push(item.file)
    if (item.type !== 'text') continue
    for (const citation of item.citations) annotations.push(writeAnnotation(citation, content.length))
    content += item.text
  }
  // Fast path: most responses are a single text.
  if (
    items.length === 1 &&
    annotations.length === 0 &&
    items[0]?.type === 'text' &&
    items[0].state === undefined &&
    findCarriedState(state) === undefined
  ) {
    return { role: 'assistant', content, refusal: null }
  }
  content += writeFileLines(listedFiles, request, content !== '')
  const refusal = joinTexts(items, 'refusal', '')
  const reasoning = joinTexts(items, 'reasoning', '\n')
  const details = writeDetails([...listCarriers(items), { state }])
  const hasOtherContent = calls.length > 0 || refusal !== ''
  return {
    role: 'assistant',
    content: content === '' && hasOtherContent ? null : content,
    refusal: refusal === '' ? null : refusal,
    ...writeCalls(calls, request),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(details === undefined ? {} : { reasoning_details: details }),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...writeExtensions(items)
  }
}

function listCarriers(items: readonly OutputItem[]): StateCarrier[] {
  let callsBefore = 0
  return items.map(item => {
    if (item.type === 'tool-call') callsBefore++
    if (item.type === 'reasoning') return { reasoning: item.text, state: item.state, callsBefore }
    return item.type === 'text' ? { state: item.state, owner: 'previous-text' } : { state: undefined }
  })
}

function writeCalls(
  calls: readonly ToolCallItem[],
  { tools, usesLegacyFunctions }: NormalizedRequest
): Pick<CompletionsMessage, 'tool_calls' | 'function_call'> {
  const first = calls[0]
  if (first === undefined) return {}
  // The legacy form can hold only one call.
  if (usesLegacyFunctions) return { function_call: writeFunctionCall(first) }
  const freeForms = listFreeFormNames(tools)
  return { tool_calls: calls.map(call => writeToolCall(call, freeForms)) }
}

function writeToolCall(call: ToolCallItem, freeForms: ReadonlySet<string> | undefined): CompletionsToolCall {
  const { id } = call
  const name = flattenToolName(call)
  const written: CompletionsToolCall =
    freeForms?.has(name) === true
      ? { id, type: 'custom', custom: { name, input: readFreeFormInput(call.arguments) } }
      : { id, type: 'function', function: writeFunctionCall(call) }
  const extra = writeExtraContent(call.state)
  if (extra !== undefined) written.extra_content = extra
  return written
}

function writeFunctionCall(call: ToolCallItem): { name: string; arguments: string } {
  return { name: flattenToolName(call), arguments: call.arguments === '' ? NO_ARGUMENTS : call.arguments }
}

function joinTexts(items: readonly OutputItem[], type: 'refusal' | 'reasoning', separator: string): string {
  return items.flatMap(item => (item.type === type && item.text !== '' ? [item.text] : [])).join(separator)
}
