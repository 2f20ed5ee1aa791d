// Reads the directives that a test writes into the last user prompt: `[[name]]` or `[[name:value]]`.
// The table of all of them, with their meaning, is README.md beside this file; `directiveNames` is the same list and a test
// compares the two.
//
// - A directive ends at the first run of closing brackets (`]]` that no further `]` follows), so `[[text:see [1]]]` reads
//   as "see [1]". A value that is JSON (it begins with `{`, `[` or `"`) ends where the JSON ends, whatever it holds.
// - `[[step]]` divides a prompt into steps: the first step shapes the first answer, the next one the answer that follows
//   the first function result, and so on. The last step answers every later round; if it called a function, the rounds
//   after it get the default answer.
// - What is not a known directive with a usable value stays in the text.
import { readers } from './directive-readers.ts'
import { createStep, type Step } from './directive-steps.ts'

export interface Directives {
  /** The prompt without its directives, trimmed. */
  text: string
  steps: Step[]
}

const STEP_DIRECTIVE = 'step'

/** Every directive name that a prompt can hold. */
export const directiveNames: readonly string[] = [...Object.keys(readers), STEP_DIRECTIVE]

/** Directives whose value may be JSON, and the text that may stand before it (the name of the function). */
const jsonValueStart: Record<string, RegExp> = {
  text: /(?=")/y,
  chunks: /(?=\[)/y,
  reason: /(?=")/y,
  badjson: /(?=")/y,
  tool: /\s*[^\s\]{]+\s*/y
}

const opening = /\[\[([a-z0-9]+)(:|(?=\]\]))/y

/**
 * Reads the directives out of a prompt.
 * @returns the remaining text and at least one step.
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

/** Reads the directive at `start`; returns the index behind it, or nothing when there is none. */
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

/** Index behind the JSON object, array or string that begins at `start`, or -1 when none is complete there. */
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
