// What whole responses and streams of the Responses wire have in common: the response object and its items.
import { picture } from '../builtins.ts'
import type { ResponseContext } from '../chat-wire.ts'
import { isJsonObject } from '../json.ts'
import type { PlannedCall, ResponsePlan } from '../response-plan.ts'
import { countTokens } from '../tokens.ts'
import type { ReadResponses } from './read.ts'
import { encryptReasoning } from './reasoning.ts'

export type Item = Record<string, unknown>

/** One call on this wire: what was read, and what the response is called. */
export interface ResponsesCall {
  read: ReadResponses
  id: string
}

export function createItemId(context: ResponseContext, prefix: string): string {
  return `${prefix}_${context.createId().replaceAll('-', '')}`
}

/** The response without its output. */
export function writeHead({ createdSeconds, request }: ResponseContext, { read, id }: ResponsesCall): Item {
  const { body } = read
  const or = (name: string, fallback: unknown) => body[name] ?? fallback
  return {
    id,
    object: 'response',
    created_at: createdSeconds,
    completed_at: null,
    status: 'in_progress',
    background: false,
    error: null,
    frequency_penalty: 0,
    incomplete_details: null,
    instructions: or('instructions', null),
    max_output_tokens: or('max_output_tokens', null),
    max_tool_calls: null,
    model: request.model,
    output: [],
    parallel_tool_calls: or('parallel_tool_calls', true),
    presence_penalty: 0,
    previous_response_id: or('previous_response_id', null),
    prompt_cache_key: or('prompt_cache_key', null),
    reasoning: or('reasoning', { effort: null, summary: null }),
    safety_identifier: null,
    service_tier: 'default',
    store: read.isStored,
    temperature: or('temperature', 1),
    text: or('text', { format: { type: 'text' }, verbosity: 'medium' }),
    tool_choice: or('tool_choice', 'auto'),
    tools: listTools(body.tools),
    top_logprobs: 0,
    top_p: or('top_p', 1),
    truncation: or('truncation', 'disabled'),
    usage: null,
    user: or('user', null),
    metadata: or('metadata', {})
  }
}

/** The tools as the service repeats them: a function has every member. */
function listTools(tools: unknown): unknown[] {
  if (!Array.isArray(tools)) return []
  return tools.map(tool =>
    isJsonObject(tool) && tool.type === 'function'
      ? { description: null, parameters: null, strict: null, ...tool }
      : tool
  )
}

/** How the response ends: its status, and what made it incomplete. */
export function writeEnd({ createdSeconds, plan }: ResponseContext): Item {
  const { finishReason, usage } = plan
  const counts = usage === null ? null : writeResponsesUsage(plan)
  const word = finishReason === 'length' ? 'max_output_tokens' : finishReason
  switch (finishReason) {
    case 'stop':
    case 'function_call':
      return { status: 'completed', completed_at: createdSeconds, usage: counts }
    case 'blacklist':
      return { status: 'incomplete', incomplete_details: { reason: 'content_filter' }, usage: counts }
    default:
      return { status: 'incomplete', incomplete_details: { reason: word }, usage: counts }
  }
}

function writeResponsesUsage({ usage, reasoning }: ResponsePlan): Item | null {
  if (usage === null) return null
  const { input, output, cached } = usage
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: Math.min(output, countTokens(reasoning)) },
    total_tokens: input + output
  }
}

/** The items of the output, in order. */
export function listItems(context: ResponseContext, call: ResponsesCall): Item[] {
  const { plan } = context
  const { text, calls, runs, reasoning, step } = plan
  if (call.read.compacts) return [writeCompaction(context, call)]
  const items: Item[] = []
  if (reasoning !== '') items.push(writeReasoning(context, call))
  for (const run of runs) items.push(writeRun(context, run))
  const hasMessage = text !== '' || step.refusal !== undefined || calls.length === 0
  if (hasMessage) items.push(writeMessage(context))
  for (const one of calls) items.push(writeCall(context, call, one))
  return items
}

/** One item in place of the conversation. */
function writeCompaction(context: ResponseContext, { read }: ResponsesCall): Item {
  const texts = read.turns.map(({ text }) => text).filter(text => text !== '')
  return { id: createItemId(context, 'cmp'), type: 'compaction', encrypted_content: encryptReasoning(texts.join('\n')) }
}

function writeReasoning(context: ResponseContext, { read }: ResponsesCall): Item {
  const { reasoning } = context.plan
  return {
    id: createItemId(context, 'rs'),
    type: 'reasoning',
    summary: read.showsSummary ? [{ type: 'summary_text', text: reasoning }] : [],
    ...(read.includesEncrypted ? { encrypted_content: encryptReasoning(reasoning) } : {})
  }
}

function writeMessage(context: ResponseContext): Item {
  const { plan } = context
  const { refusal } = plan.step
  const part =
    refusal === undefined
      ? { type: 'output_text', annotations: listAnnotations(plan), logprobs: [], text: plan.text }
      : { type: 'refusal', refusal }
  return { id: createItemId(context, 'msg'), type: 'message', status: 'completed', role: 'assistant', content: [part] }
}

/** A text behind a search cites what was found. */
function listAnnotations({ runs, text }: ResponsePlan): Item[] {
  const pages = runs.flatMap(run => Object.values(run.sources ?? {}))
  return pages.map(({ url, title }) => ({
    type: 'url_citation',
    start_index: 0,
    end_index: Math.min(1, text.length),
    url,
    title
  }))
}

function writeRun(context: ResponseContext, run: ResponsePlan['runs'][number]): Item {
  const status = run.status === 'success' ? 'completed' : 'failed'
  switch (run.name) {
    case 'web_search':
      return {
        id: createItemId(context, 'ws'),
        type: 'web_search_call',
        status,
        action: {
          type: 'search',
          query: context.request.turns.at(-1)?.text.slice(0, 100) ?? '',
          sources: Object.values(run.sources ?? {}).map(({ url }) => ({ type: 'url', url }))
        }
      }
    case 'code_interpreter':
      return {
        id: createItemId(context, 'ci'),
        type: 'code_interpreter_call',
        status,
        code: 'print(42)',
        container_id: 'cntr_emulator',
        outputs: null
      }
    default:
      return {
        id: createItemId(context, 'ig'),
        type: 'image_generation_call',
        status,
        output_format: 'jpeg',
        result: picture.toString('base64')
      }
  }
}

function writeCall(context: ResponseContext, { read }: ResponsesCall, call: PlannedCall): Item {
  const head = { status: 'completed', call_id: createItemId(context, 'call').slice(0, 29), name: call.name }
  const namespace = read.tools.namespaces.get(call.name)
  const place = namespace === undefined ? {} : { namespace }
  const given = call.arguments
  const text = typeof given === 'string' ? given : JSON.stringify(given)
  if (read.tools.custom.has(call.name)) {
    const input = isJsonObject(given) && typeof given.input === 'string' ? given.input : text
    return { id: createItemId(context, 'ctc'), type: 'custom_tool_call', ...head, ...place, input }
  }
  return { id: createItemId(context, 'fc'), type: 'function_call', ...head, ...place, arguments: text }
}
