// One task for every agent: the emulator returns the calls look, run, search and report and then a final text; the agent sends a result
// for each call.

import { wireName } from './tools.ts'

export interface Call {
  id: string
  name: string
  arguments: object
}

export interface Step {
  name: string
  arguments: object
  /** The result that the agent sends back, as text. */
  output: string
  hasFailed?: boolean
  /** The result as the upstream must receive it. */
  sentResult: object
}

const look: Step = {
  name: 'read_file',
  arguments: { path: '/repo/src/sum.ts', range: { from: 1, to: 20 } },
  output: 'export const sum = (a: number, b: number) => a - b\n// «Привет 🌍»\n',
  sentResult: { result: 'export const sum = (a: number, b: number) => a - b\n// «Привет 🌍»\n' }
}
const run: Step = {
  name: 'run_shell',
  arguments: { command: ['npm', 'test'], timeout_ms: 120000, environment: { CI: '1' } },
  output: '{"exit_code":1,"output":"expected 3, got -1"}',
  sentResult: { exit_code: 1, output: 'expected 3, got -1' }
}
const search: Step = {
  name: 'web_search',
  arguments: { query: 'minus or plus' },
  output: 'no network',
  hasFailed: true,
  sentResult: { error: 'no network', is_error: true }
}

const report: Step = {
  name: 'mcp__github_enterprise_server__create_issue_with_labels_milestone_and_assignee',
  arguments: { title: 'sum subtracts', labels: ['bug'], milestone: null },
  output: '{"number":7}',
  sentResult: { number: 7 }
}

/** The calls in order. If the upstream may return several calls in one response, it returns the first two together. */
export const steps: readonly Step[] = [look, run, search, report]

export const OPENING = 'I look at the code and run the tests.'
export const THOUGHT = 'The user wants green tests.'
export const CLOSING = 'Done: it was the minus.'

const directive = ({ name, arguments: args }: Step) => `[[tool:${wireName(name)} ${JSON.stringify(args)}]]`

/** The user's text; the directives in brackets control the emulator. */
export const PROMPT =
  `Make the failing test pass. [[reason:${THOUGHT}]][[text:${OPENING}]]${directive(look)}${directive(run)}` +
  `[[step]]${directive(search)}[[step]]${directive(report)}[[step]][[text:${CLOSING}]]`

/** The step that a call belongs to. */
export function findStep(call: Call): Step {
  const step = steps.find(({ name }) => name === call.name)
  if (step === undefined) throw new Error(`A call of ${call.name} was not planned.`)
  return step
}

/** A turn as `readTurns` reads it from the body that the upstream received. */
export interface Turn {
  role: string
  text?: string
  calls?: Array<[name: string, arguments: unknown]>
  results?: Array<[name: string, result: unknown]>
}

/** A call with its result as the upstream must receive it; both under the client's name. */
export interface CallWithResult {
  name: string
  arguments: unknown
  sentResult: unknown
}

/**
 * The turns in which the upstream must receive these calls of one response, after the text before them: one message with all calls, or
 * pairs of call and result when the contract allows one call per message.
 */
export function writeCallTurns(
  calls: readonly CallWithResult[],
  options: { isParallel: boolean; text?: string }
): Turn[] {
  const groups = options.isParallel ? [calls] : calls.map(call => [call])
  return groups.flatMap((group, index): Turn[] => [
    {
      role: 'assistant',
      ...(index === 0 && options.text !== undefined ? { text: options.text } : {}),
      calls: group.map(call => [wireName(call.name), call.arguments])
    },
    ...group.map((call): Turn => ({ role: 'tool', results: [[wireName(call.name), call.sentResult]] }))
  ])
}

/** The turns after the prompt that the upstream must receive in its last round. */
export function writeExpectedTurns(options: { isParallel: boolean; tellsFailure: boolean }): Turn[] {
  const { isParallel, tellsFailure } = options
  // Only the messages family can mark a result as failed; in other families it is an ordinary result.
  const seen = steps.map(step =>
    step.hasFailed && !tellsFailure ? { ...step, sentResult: { result: step.output } } : step
  )
  return [
    ...writeCallTurns(seen.slice(0, 2), { isParallel, text: OPENING }),
    ...seen.slice(2).flatMap(step => writeCallTurns([step], { isParallel }))
  ]
}
