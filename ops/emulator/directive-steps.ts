// What the directives of a prompt ask for, step by step, and which step shapes the answer of which round.
import type { JsonValue } from './json.ts'

export interface DirectiveCall {
  name: string
  /** Usually an object; anything else is sent as it is, to see how a client takes it. */
  arguments: JsonValue
}

export interface DirectiveError {
  status: number
  message: string | null
  retryAfter: string | null
  /** An HTML page, as proxies in front of the upstream answer, in place of the JSON body. */
  isHtml: boolean
}

export interface DirectiveBuiltin {
  name: string
  status: string
  isCensored: boolean
}

/** What one answer has to be like: first what it says, then how it is written, then what happens to the connection. */
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
  omit?: string[]
  extra?: boolean

  error?: DirectiveError
  flaky?: { times: number; error: DirectiveError }
  hangAfterFrames?: number
  dieAfterFrames?: number | 'middle'
  badJson?: string
  noTerminal?: boolean
  noDone?: boolean
  badFrame?: boolean
  errorFrame?: { status: number; message: string }
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
  headers?: Record<string, string>
}

/** `[[hang]]` without a number: not even the response headers are sent. */
export const HANG_BEFORE_HEADERS = -1

export function createStep(): Step {
  return { calls: [], builtins: [] }
}

/** The members of a step that describe the connection and the framing; they also hold for rounds after a call. */
function keepFraming(step: Step): Step {
  const kept: Step = { calls: [], builtins: [] }
  for (const name of ['slowMs', 'tickMs', 'bytesPerWrite'] as const) {
    const value = step[name]
    if (value !== undefined) kept[name] = value
  }
  for (const name of ['crlf', 'ping', 'noEventName', 'noSpace', 'multiLine', 'doneMarker', 'gzip'] as const) {
    if (step[name] === true) kept[name] = true
  }
  if (step.headers !== undefined) kept.headers = step.headers
  return kept
}

/**
 * The step that shapes the answer of one round.
 * @param input.round how many function results groups the conversation holds since the prompt.
 * @param input.isParallel whether one answer may hold several calls; otherwise each call takes a round of its own.
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

/** A later call of the same step is written in the same form as the first, but the text and the faults came with that one. */
function keepCallForm(step: Step): Step {
  const kept = keepFraming(step)
  const flags = [
    'callInOwnDelta',
    'callOnMessage',
    'callPartIds',
    'stringArguments',
    'noStateId',
    'allowUndeclared'
  ] as const
  for (const name of flags) {
    if (step[name] === true) kept[name] = true
  }
  if (step.stateIdKey !== undefined) kept.stateIdKey = step.stateIdKey
  if (step.argumentPieceLength !== undefined) kept.argumentPieceLength = step.argumentPieceLength
  return kept
}
