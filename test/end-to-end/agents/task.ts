// One task for every agent: the embedded upstream looks, runs, searches, reports and is done; the agent answers each call.

import { wireName } from './tools.ts'

export interface Call {
  id: string
  name: string
  arguments: object
}

export interface Step {
  name: string
  arguments: object
  /** What the agent gives back, as text. */
  output: string
  hasFailed?: boolean
  /** The result as the upstream must receive it. */
  told: object
}

const look: Step = {
  name: 'read_file',
  arguments: { path: '/repo/src/sum.ts', range: { from: 1, to: 20 } },
  output: 'export const sum = (a: number, b: number) => a - b\n// «Привет 🌍»\n',
  told: { result: 'export const sum = (a: number, b: number) => a - b\n// «Привет 🌍»\n' }
}
const run: Step = {
  name: 'run_shell',
  arguments: { command: ['npm', 'test'], timeout_ms: 120000, environment: { CI: '1' } },
  output: '{"exit_code":1,"output":"expected 3, got -1"}',
  told: { exit_code: 1, output: 'expected 3, got -1' }
}
const search: Step = {
  name: 'web_search',
  arguments: { query: 'minus or plus' },
  output: 'no network',
  hasFailed: true,
  told: { error: 'no network', is_error: true }
}

const report: Step = {
  name: 'mcp__github_enterprise_server__create_issue_with_labels_milestone_and_assignee',
  arguments: { title: 'sum subtracts', labels: ['bug'], milestone: null },
  output: '{"number":7}',
  told: { number: 7 }
}

/** The calls in their order. Where the upstream may make several at once, the first two come together. */
export const steps: readonly Step[] = [look, run, search, report]

export const OPENING = 'I look at the code and run the tests.'
export const THOUGHT = 'The user wants green tests.'
export const CLOSING = 'Done: it was the minus.'

const directive = ({ name, arguments: args }: Step) => `[[tool:${wireName(name)} ${JSON.stringify(args)}]]`

/** The user's words; what stands in brackets tells the embedded upstream what to do. */
export const PROMPT =
  `Make the failing test pass. [[reason:${THOUGHT}]][[text:${OPENING}]]${directive(look)}${directive(run)}` +
  `[[step]]${directive(search)}[[step]]${directive(report)}[[step]][[text:${CLOSING}]]`

/** The step that a call belongs to. */
export function findStep(call: Call): Step {
  const step = steps.find(({ name }) => name === call.name)
  if (step === undefined) throw new Error(`Nobody planned a call of ${call.name}.`)
  return step
}

/** A turn as `readTurns` reads it from the body that the upstream got. */
export interface Turn {
  role: string
  text?: string
  calls?: Array<[name: string, arguments: unknown]>
  results?: Array<[name: string, result: unknown]>
}

/** A call with its result as the upstream must receive it; both under the client's name. */
export interface AnsweredCall {
  name: string
  arguments: unknown
  told: unknown
}

/**
 * The turns that these calls of one answer are upstream, behind the words before them: one message with all of them, or, on the
 * contract whose messages hold one call, pairs.
 */
export function writeCallTurns(
  calls: readonly AnsweredCall[],
  options: { isParallel: boolean; text?: string }
): Turn[] {
  const groups = options.isParallel ? [calls] : calls.map(call => [call])
  return groups.flatMap((group, index): Turn[] => [
    {
      role: 'assistant',
      ...(index === 0 && options.text !== undefined ? { text: options.text } : {}),
      calls: group.map(call => [wireName(call.name), call.arguments])
    },
    ...group.map((call): Turn => ({ role: 'tool', results: [[wireName(call.name), call.told]] }))
  ])
}

/** The turns behind the prompt that the upstream must have seen in its last round. */
export function writeExpectedTurns(options: { isParallel: boolean; tellsFailure: boolean }): Turn[] {
  const { isParallel, tellsFailure } = options
  // Only the messages family can say that a tool failed; elsewhere it is a result like any other.
  const seen = steps.map(step => (step.hasFailed && !tellsFailure ? { ...step, told: { result: step.output } } : step))
  return [
    ...writeCallTurns(seen.slice(0, 2), { isParallel, text: OPENING }),
    ...seen.slice(2).flatMap(step => writeCallTurns([step], { isParallel }))
  ]
}
