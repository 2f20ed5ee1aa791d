// Reads the directives that a test writes into the last user prompt: `[[name]]` or `[[name:value]]`.
// README.md in this folder has a table of all directives and their effects; a test compares it with `directiveNames`.
//
// - A directive ends at the first `]]` that is not followed by another `]`, so `[[text:see [1]]]` has the value "see [1]".
//   A JSON value (it begins with `{`, `[` or `"`) ends at the end of the JSON, even if the JSON contains brackets.
// - `[[step]]` divides a prompt into steps: the first step determines the first response, the next step the response after
//   the first function result, and so on. The last step applies to every later round, unless it called a function: then
//   later rounds get the default response.
// - An unknown directive, or one with an invalid value, stays in the text.
import { readers } from './directive-readers.ts'
import { createStep, type Step } from './directive-steps.ts'

export interface Directives {
  /** The prompt without its directives, trimmed. */
  text: string
  steps: Step[]
}

const STEP_DIRECTIVE = 'step'

/** The names of all directives. */
export const directiveNames: readonly string[] = [...Object.keys(readers), STEP_DIRECTIVE]

/** Directives whose value may be JSON, each with a pattern for the text before the JSON (for `tool` the function's name). */
const jsonValueStart: Record<string, RegExp> = {
  text: /(?=")/y,
  chunks: /(?=\[)/y,
  reason: /(?=")/y,
  refusal: /(?=")/y,
  badjson: /(?=")/y,
  tool: /\s*[^\s\]{]+\s*/y
}

const opening = /\[\[([a-z0-9]+)(:|(?=\]\]))/y

/**
 * Reads the directives out of a prompt.
 * @returns the prompt without its directives, and at least one step.
 */
export function readDirectives(prompt: string): Directives {
  let start = prompt.indexOf('[[')
  const steps: Step[] = [createStep()]
  if (start === -1) return { text: prompt.trim(), steps }
  let text = ''
  let rest = 0
  while (start !== -1) {
    const found = readOne(prompt, start, steps)
    if (found !== undefined) {
      text += prompt.slice(rest, start)
      rest = found
    }
    start = prompt.indexOf('[[', found ?? start + 1)
  }
  return { text: (text + prompt.slice(rest)).trim(), steps }
}

/** Reads the directive at `start` into its step; returns the index after it, or undefined when the text is no directive. */
function readOne(prompt: string, start: number, steps: Step[]): number | undefined {
  opening.lastIndex = start
  const head = opening.exec(prompt)
  const name = head?.[1]
  if (head === null || name === undefined) return undefined
  const valueStart = start + head[0].length
  const valueEnd = head[2] === ':' ? findValueEnd(prompt, valueStart, name) : valueStart
  if (valueEnd === -1) return undefined
  const value = prompt.slice(valueStart, valueEnd)
  if (name === STEP_DIRECTIVE) {
    steps.push(createStep())
    return valueEnd + 2
  }
  const step = steps.at(-1)
  const reader = Object.hasOwn(readers, name) ? readers[name] : undefined
  if (step === undefined || reader === undefined || !reader(step, value)) return undefined
  return valueEnd + 2
}

function findValueEnd(prompt: string, valueStart: number, name: string): number {
  const head = jsonValueStart[name]
  if (head !== undefined) {
    head.lastIndex = valueStart
    const match = head.exec(prompt)
    const jsonEnd = match === null ? -1 : findJsonEnd(prompt, valueStart + match[0].length)
    if (jsonEnd !== -1) {
      const end = skipSpace(prompt, jsonEnd)
      if (prompt.startsWith(']]', end)) return end
    }
  }
  let end = prompt.indexOf(']]', valueStart)
  while (end !== -1 && prompt[end + 2] === ']') end++
  return end
}

function skipSpace(text: string, from: number): number {
  let index = from
  while (index < text.length && /\s/.test(text[index] ?? '')) index++
  return index
}

/** Returns the index after the JSON object, array or string that begins at `start`; -1 when it is missing or incomplete. */
function findJsonEnd(text: string, start: number): number {
  if (!'{["'.includes(text[start] ?? ' ')) return -1
  let depth = 0
  let isString = false
  for (let index = start; index < text.length; index++) {
    const letter = text[index]
    if (isString) {
      if (letter === '\\') index++
      else if (letter === '"') isString = false
    } else if (letter === '"') isString = true
    else if (letter === '{' || letter === '[') depth++
    else if (letter === '}' || letter === ']') depth--
    if (depth === 0 && !isString) return index + 1
  }
  return -1
}
