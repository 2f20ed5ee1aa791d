// The values of a prompt's directives as a list of steps, and the selection of the step for one round.
import type { JsonValue } from './json.ts'

export interface DirectiveCall {
  name: string
  /** Normally an object; any other JSON value is sent unchanged, to test a client with it. */
  arguments: JsonValue
}

export interface DirectiveError {
  status: number
  message: string | null
  retryAfter: string | null
  /** The error has the HTML page of a proxy instead of a JSON body. */
  isHtml: boolean
}

export interface DirectiveBuiltin {
  name: string
  status: string
  isCensored: boolean
}

/** Where a response of the chat wire has its reasoning: providers differ. */
export const reasoningForms = ['content', 'reasoning', 'both', 'details', 'encrypted', 'think'] as const
export type ReasoningForm = (typeof reasoningForms)[number]

/** Which chunks of a stream of the chat wire have usage: providers differ. */
export const usageForms = ['after', 'finish', 'every', 'first'] as const
export type UsageForm = (typeof usageForms)[number]

/** Services whose form a response of the chat wire may have: `openai/shapes.ts`. */
export const shapeNames = [
  'azure',
  'deepseek',
  'groq',
  'kimi',
  'llama.cpp',
  'mistral',
  'ollama',
  'openrouter',
  'perplexity',
  'vllm',
  'xai',
  'zhipu'
] as const
export type ShapeName = (typeof shapeNames)[number]

/** What services on the chat wire refuse and others do not: `openai/strict.ts`. */
export const strictNames = ['effort', 'limit', 'metadata', 'noeffort', 'parallel', 'reasoning', 'temperature'] as const
export type StrictName = (typeof strictNames)[number]

/** A web page that a response cites. */
export interface DirectiveCitation {
  url: string
  title: string
}

/** The directives of one response, in groups as in README.md: its content, its form, its faults, its framing. */
export interface Step {
  text?: string
  chunks?: string[]
  chunkCount?: number
  bigTextBytes?: number
  recall?: boolean
  reasoning?: string
  calls: DirectiveCall[]
  allowUndeclared?: boolean
  parallel?: boolean
  builtins: DirectiveBuiltin[]
  finishReason?: string
  usage?: { input: number; output: number; cached: number }
  noUsage?: boolean
  citations?: DirectiveCitation[]

  callInOwnDelta?: boolean
  callOnMessage?: boolean
  callsInOwnMessages?: boolean
  callPartIds?: boolean
  stringArguments?: boolean
  argumentPieceLength?: number
  noStateId?: boolean
  stateIdKey?: string
  noRole?: boolean
  createdForm?: 'string' | 'alias'
  shape?: ShapeName
  reasoningForm?: ReasoningForm
  usageForm?: UsageForm
  refusal?: string
  legacyCall?: boolean
  callInOneDelta?: boolean
  callsInterleaved?: boolean
  callsWithoutIndex?: boolean
  callHeadRepeated?: boolean
  emptyFinishReasons?: boolean
  noFinishReason?: boolean
  omit?: string[]
  extra?: boolean

  error?: DirectiveError
  flaky?: { times: number; error: DirectiveError }
  refusedMember?: { name: string; status: number }
  strict?: readonly StrictName[]
  hangAfterFrames?: number
  breakAfterFrames?: number | 'middle'
  badJson?: string
  noTerminal?: boolean
  noDone?: boolean
  badFrame?: boolean
  errorFrame?: { status: number; message: string }
  errorInBody?: DirectiveError
  redirect?: { status: number; location: string }
  malformed?: string
  contentType?: string

  slowMs?: number
  tickMs?: number
  bytesPerWrite?: number
  crlf?: boolean
  ping?: boolean
  noEventName?: boolean
  noSpace?: boolean
  multiLine?: boolean
  doneMarker?: boolean
  gzip?: boolean
  byteOrderMark?: boolean
  headers?: Record<string, string>
}

/** `[[hang]]` without a number: the response headers are not sent either. */
export const HANG_BEFORE_HEADERS = -1

/** Creates a step without directives. */
export function createStep(): Step {
  return { calls: [], builtins: [] }
}

/** Returns a step with only the members of timing, framing and service, which also apply to the rounds after a call. */
function keepFraming(step: Step): Step {
  const kept: Step = { calls: [], builtins: [] }
  for (const name of ['slowMs', 'tickMs', 'bytesPerWrite'] as const) {
    const value = step[name]
    if (value !== undefined) kept[name] = value
  }
  for (const name of [
    'crlf',
    'ping',
    'noEventName',
    'noSpace',
    'multiLine',
    'doneMarker',
    'gzip',
    'byteOrderMark'
  ] as const) {
    if (step[name] === true) kept[name] = true
  }
  if (step.headers !== undefined) kept.headers = step.headers
  // The service is the same one in every round.
  if (step.shape !== undefined) kept.shape = step.shape
  if (step.strict !== undefined) kept.strict = step.strict
  if (step.reasoningForm !== undefined) kept.reasoningForm = step.reasoningForm
  return kept
}

/**
 * Selects the step for one round.
 * @param input.round number of groups of function results after the prompt
 * @param input.isParallel true when one response may hold several calls; otherwise each call gets its own round
 */
export function selectStep(input: { steps: Step[]; round: number; isParallel: boolean }): Step {
  const rounds: Step[] = []
  for (const step of input.steps) {
    if (step.calls.length < 2 || input.isParallel || step.parallel === true) {
      rounds.push(step)
      continue
    }
    step.calls.forEach((call, index) => {
      rounds.push(index === 0 ? { ...step, calls: [call] } : { ...keepCallForm(step), calls: [call] })
    })
  }
  const last = rounds.at(-1) ?? createStep()
  const selected = rounds[input.round]
  if (selected !== undefined) return selected
  return last.calls.length === 0 ? last : keepFraming(last)
}

/** Returns the step for a later call of the same step: it keeps the form of the call, but not the text and the faults. */
function keepCallForm(step: Step): Step {
  const kept = keepFraming(step)
  const flags = [
    'callInOwnDelta',
    'callOnMessage',
    'callPartIds',
    'stringArguments',
    'noStateId',
    'allowUndeclared',
    'legacyCall',
    'callInOneDelta',
    'callsWithoutIndex',
    'callHeadRepeated'
  ] as const
  for (const name of flags) {
    if (step[name] === true) kept[name] = true
  }
  if (step.stateIdKey !== undefined) kept.stateIdKey = step.stateIdKey
  if (step.argumentPieceLength !== undefined) kept.argumentPieceLength = step.argumentPieceLength
  return kept
}
