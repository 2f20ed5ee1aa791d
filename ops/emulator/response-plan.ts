// Plans a response (text, calls, tool runs, finish reason, usage) from a request and the directives in its prompt.
// The plan does not depend on the wire: v1, v2 and the chat-completions wire each write it in their own form.
import { assertNever } from './assert.ts'
import { type BuiltinRun, isRequested, runBuiltin } from './builtins.ts'
import { type ChatRequest, type Conversation, readConversation } from './chat-request.ts'
import type { DirectiveBuiltin, Step } from './directive-steps.ts'
import { selectStep } from './directive-steps.ts'
import { readDirectives } from './directives.ts'
import { isJsonObject, type JsonValue } from './json.ts'
import { exampleOfRegex } from './regex-example.ts'
import { exampleOfSchema } from './schema-example.ts'
import { countTokens, cutToTokens, splitEvenly, splitIntoDeltas } from './tokens.ts'

export interface PlannedCall {
  name: string
  arguments: JsonValue
}

export interface PlannedUsage {
  input: number
  output: number
  cached: number
}

export interface ResponsePlan {
  step: Step
  reasoning: string
  text: string
  /** The pieces in which a stream sends the text. */
  deltas: string[]
  calls: PlannedCall[]
  runs: BuiltinRun[]
  /** A finish reason of the native wire: `stop`, `length`, `function_call`, `blacklist`, … */
  finishReason: string
  /** The text of the request that ended the response. */
  stopSequence: string | null
  usage: PlannedUsage | null
}

export interface PlanInput {
  request: ChatRequest
  conversation: Conversation
  /** The prompt without directives. */
  prompt: string
  step: Step
}

const ECHO_LENGTH_MAX = 1000
const RESULT_LENGTH_MAX = 2000
/** Cached prompt tokens in the usage of v1, as recorded; v2 reports 0. */
const CACHED_TOKENS_V1 = 2
const BIG_TEXT_LINE = 'The quick brown fox jumps over the lazy dog and then walks home slowly. '

/** Reads the directives of a request and selects the step for this round. */
export function readPlanInput(request: ChatRequest): PlanInput {
  const conversation = readConversation(request.turns)
  const { text, steps } = readDirectives(conversation.prompt)
  const step = selectStep({ steps, round: conversation.round, isParallel: request.allowsParallelCalls })
  return { request, conversation, prompt: text, step }
}

/** Plans a response. Deterministic: the same request always gives the same plan. */
export function planResponse(input: PlanInput): ResponsePlan {
  const { request, conversation, step } = input
  const wanted = planCalls(input)
  const runs = planRuns(input, wanted.length > 0)
  const planned = planText(input, { calls: wanted, runs })
  const isCut = planned.isGenerated && request.tokensMax !== null && countTokens(planned.text) > request.tokensMax
  const whole = isCut ? cutToTokens(planned.text, request.tokensMax ?? 0) : planned.text
  const stop = findStop(whole, request.stops ?? [])
  const text = stop === undefined ? whole : whole.slice(0, stop.index)
  // Calls come behind the text, so a response that ends in its text has none.
  const calls = stop === undefined ? wanted : []
  const reasoning = step.reasoning ?? (request.wantsReasoning ? planReasoning(input) : '')
  const naturalReason = calls.length > 0 ? 'function_call' : isCut && stop === undefined ? 'length' : 'stop'
  return {
    step,
    reasoning,
    text,
    deltas: request.isStream ? cutPieces(planDeltas(whole, step), text.length) : [],
    calls,
    runs,
    finishReason: step.finishReason ?? naturalReason,
    stopSequence: stop?.text ?? null,
    usage: step.noUsage === true ? null : (step.usage ?? countUsage({ request, conversation, calls, text, reasoning }))
  }
}

/** Finds the first place in a text where one of these texts begins. */
function findStop(text: string, stops: readonly string[]): { index: number; text: string } | undefined {
  const found = stops.map(stop => ({ index: text.indexOf(stop), text: stop })).filter(({ index }) => index !== -1)
  return found.sort((one, other) => one.index - other.index)[0]
}

/** The first `length` letters of a text that is cut into pieces. */
function cutPieces(pieces: string[], length: number): string[] {
  let left = length
  return pieces.flatMap(piece => {
    const kept = piece.slice(0, left)
    left -= kept.length
    return kept === '' && piece !== '' ? [] : [kept]
  })
}

function planCalls({ request, step }: PlanInput): PlannedCall[] {
  const { choice, functions } = request
  if (choice.kind === 'none') return []
  if (step.calls.length > 0 && (functions.length > 0 || step.allowUndeclared === true)) {
    return request.allowsParallelCalls || step.parallel === true ? step.calls : step.calls.slice(0, 1)
  }
  switch (choice.kind) {
    case 'auto':
    case 'builtin':
      return []
    case 'any': {
      const first = functions[0]
      return first === undefined ? [] : [{ name: first.name, arguments: exampleArguments(first.parameters) }]
    }
    case 'function': {
      const declared = functions.find(entry => entry.name === choice.name)
      const example = exampleArguments(declared?.parameters ?? {})
      return [{ name: choice.name, arguments: { ...example, ...choice.partialArguments } }]
    }
    default:
      return assertNever(choice)
  }
}

function exampleArguments(parameters: JsonValue): { [key: string]: JsonValue } {
  const example = exampleOfSchema(parameters)
  return isJsonObject(example) ? example : {}
}

function planRuns({ request, conversation, prompt, step }: PlanInput, hasCalls: boolean): BuiltinRun[] {
  // The runs of a wire without built-in tools of its own are those of directives.
  if (request.dialect === 'messages') return step.builtins.map(tool => runBuiltin(tool, prompt))
  if (request.dialect !== 'v2' && request.dialect !== 'responses') return []
  const { choice, builtins, functions } = request
  const named = (name: string): DirectiveBuiltin => ({ name, status: 'success', isCensored: false })
  let tools = step.builtins
  if (tools.length === 0 && !hasCalls) {
    if (choice.kind === 'builtin') tools = [named(choice.name)]
    else if (choice.kind === 'any' && functions.length === 0) tools = builtins.slice(0, 1).map(named)
    else if (choice.kind === 'auto' && conversation.round === 0) {
      tools = builtins.filter(name => isRequested(name, prompt)).map(named)
    }
  }
  return tools.map(tool => runBuiltin(tool, prompt))
}

/** Plans the text. The request's token limit applies to generated text only; the text of a directive is never cut. */
function planText(
  input: PlanInput,
  made: { calls: PlannedCall[]; runs: BuiltinRun[] }
): { text: string; isGenerated: boolean } {
  const { request, conversation, step } = input
  const directiveText = readDirectiveText(step)
  if (directiveText !== undefined) return { text: directiveText, isGenerated: false }
  if (made.calls.length > 0) return { text: '', isGenerated: false }
  if (request.output.kind !== 'text') return { text: writeFormatted(request), isGenerated: false }
  if (step.recall === true) return { text: recallPrompts(conversation), isGenerated: true }
  if (made.runs.length > 0) return { text: made.runs.map(run => run.text).join('\n\n'), isGenerated: true }
  if (conversation.results.length > 0) return { text: describeResults(conversation), isGenerated: true }
  return { text: echo(input), isGenerated: true }
}

function readDirectiveText(step: Step): string | undefined {
  if (step.chunks !== undefined) return step.chunks.join('')
  if (step.text !== undefined) return step.text
  if (step.bigTextBytes !== undefined) {
    const { bigTextBytes } = step
    return BIG_TEXT_LINE.repeat(Math.ceil(bigTextBytes / BIG_TEXT_LINE.length)).slice(0, bigTextBytes)
  }
  if (step.chunkCount === undefined) return undefined
  return Array.from({ length: step.chunkCount }, (_, index) => `word${index + 1}`).join(' ')
}

function writeFormatted({ output }: ChatRequest): string {
  switch (output.kind) {
    case 'json':
      return JSON.stringify(exampleOfSchema(output.schema), null, 4)
    case 'regex':
      return exampleOfRegex(output.regex)
    case 'text':
      return ''
    default:
      return assertNever(output)
  }
}

function recallPrompts({ earlierPrompts }: Conversation): string {
  if (earlierPrompts.length === 0) return 'I remember nothing before this.'
  const quotes = earlierPrompts.map(text => `"${readDirectives(text).text}"`).join(', then ')
  return `Before this you wrote: ${quotes}.`
}

function describeResults({ results }: Conversation): string {
  const sentences = results.map(({ name, value }) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `The function ${name} returned ${shorten(text, RESULT_LENGTH_MAX)}.`
  })
  return sentences.join(' ')
}

function echo({ prompt, conversation }: PlanInput): string {
  const quote =
    prompt === '' ? 'There was no user text in this request.' : `You wrote: "${shorten(prompt, ECHO_LENGTH_MAX)}".`
  const { fileCount } = conversation
  const files = fileCount === 0 ? '' : ` It came with ${fileCount === 1 ? 'one file' : `${fileCount} files`}.`
  return `${quote}${files} I am the embedded upstream: I only repeat what reaches me, so this answer shows that the whole path works.`
}

function planReasoning({ prompt }: PlanInput): string {
  return `The user says "${shorten(prompt, 200)}". Repeating it is the right thing to do.`
}

function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)}…`
}

function planDeltas(text: string, step: Step): string[] {
  if (step.chunks !== undefined) return step.chunks
  if (step.chunkCount !== undefined) {
    return step.text === undefined ? text.split(/(?<= )/) : splitEvenly(text, step.chunkCount)
  }
  return splitIntoDeltas(text)
}

function countUsage(made: {
  request: ChatRequest
  conversation: Conversation
  calls: PlannedCall[]
  text: string
  reasoning: string
}): PlannedUsage {
  let output = countTokens(made.text) + countTokens(made.reasoning)
  for (const call of made.calls) output += countTokens(call.name) + countTokens(JSON.stringify(call.arguments))
  return {
    input: countInput(made.request, made.conversation),
    output: Math.max(1, output),
    cached: made.request.dialect === 'v1' ? CACHED_TOKENS_V1 : 0
  }
}

const FUNCTION_TOKENS = 20

/** The tokens of a request. */
export function countInput({ functions }: ChatRequest, { tokens }: Conversation): number {
  return tokens + functions.length * FUNCTION_TOKENS
}
