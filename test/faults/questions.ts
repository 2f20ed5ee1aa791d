// The questions of the load, of every family, whole and streamed, and how their answers are judged.

import { randomUUID } from 'node:crypto'
import { endsWithError } from '../support/client.ts'
import { piecesOf } from './provider.ts'
import { findFault } from './upstream-faults.ts'

export interface Question {
  /** Such as `messages stream`. */
  readonly kind: string
  readonly path: string
  readonly body: string
  /** Judges a response whose body arrived whole. */
  judge(status: number, text: string): Judgement
}

/** `refused`: an error in the form of the family. */
export interface Judgement {
  readonly kind: 'right' | 'refused' | 'wrong'
  /** Of an answer that is not right. */
  readonly why: string
}

export interface QuestionOptions {
  /** Words that the provider of the suite obeys, such as `[pace 5]`. */
  readonly words?: string
  /** Characters that are added to the question. */
  readonly filler?: number
  readonly model?: string
  /** The first user's text of each question; unique unless given. */
  readonly id?: string
}

interface Family {
  path(model: string, isStream: boolean): string
  body(model: string, text: string, isStream: boolean): object
  /** The text of a finished answer, or undefined for one that is not finished. */
  readWhole(json: Loose): string | undefined
  readStream(frames: readonly Loose[]): string | undefined
  isError(json: Loose): boolean
}

// biome-ignore lint/suspicious/noExplicitAny: answers are judged by the members that they should have.
type Loose = any

const join = (texts: readonly unknown[]): string => texts.filter(text => typeof text === 'string').join('')
const isOpenAiError = ({ error }: Loose): boolean =>
  typeof error?.message === 'string' && typeof error?.type === 'string'

const families: Readonly<Record<string, Family>> = {
  completions: {
    path: () => '/v1/chat/completions',
    body: (model, content, stream) => ({ model, stream, messages: [{ role: 'user', content }] }),
    readWhole: ({ choices: [choice] }) => (choice.finish_reason === 'stop' ? choice.message.content : undefined),
    readStream(frames) {
      if (frames.at(-1) !== '[DONE]') return undefined
      const choices = frames.slice(0, -1).flatMap(frame => frame.choices)
      const isFinished = choices.some(({ finish_reason }) => finish_reason === 'stop')
      return isFinished ? join(choices.map(({ delta }) => delta?.content)) : undefined
    },
    isError: isOpenAiError
  },
  messages: {
    path: () => '/v1/messages',
    body: (model, content, stream) => ({ model, stream, max_tokens: 1000, messages: [{ role: 'user', content }] }),
    readWhole: ({ stop_reason, content }) =>
      stop_reason === 'end_turn' ? join(content.map(({ text }: Loose) => text)) : undefined,
    readStream(frames) {
      const isFinished =
        frames.at(-1)?.type === 'message_stop' && frames.some(({ delta }) => delta?.stop_reason === 'end_turn')
      return isFinished ? join(frames.map(({ delta }) => delta?.text)) : undefined
    },
    isError: ({ type, error }) => type === 'error' && typeof error?.type === 'string'
  },
  content: {
    path: (model, isStream) =>
      `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (_model, text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
    readWhole: json => readCandidates([json]),
    readStream: frames => readCandidates(frames),
    isError: ({ error }) => typeof error?.status === 'string' && typeof error?.code === 'number'
  },
  responses: {
    path: () => '/v1/responses',
    body: (model, input, stream) => ({ model, stream, input }),
    readWhole: ({ status, output }) => (status === 'completed' ? readOutput(output) : undefined),
    readStream(frames) {
      const last = frames.at(-1)
      if (last?.type !== 'response.completed') return undefined
      const text = readOutput(last.response.output)
      const deltas = frames.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)
      return join(deltas) === text ? text : undefined
    },
    isError: isOpenAiError
  }
}

function readCandidates(frames: readonly Loose[]): string | undefined {
  const candidates = frames.flatMap(frame => frame.candidates ?? [])
  if (candidates.at(-1)?.finishReason !== 'STOP') return undefined
  return join(candidates.flatMap(({ content }) => content?.parts?.map(({ text }: Loose) => text) ?? []))
}

const readOutput = (output: Loose): string =>
  join(output.flatMap(({ content = [] }: Loose) => content.map(({ text }: Loose) => text)))

const shapes = Object.keys(families).flatMap(family => [false, true].map(isStream => ({ family, isStream })))

/** How many questions have a kind of their own: the families, whole and streamed. */
export const SHAPE_COUNT = shapes.length

/** The question of this number: its kind is the next one in turn, and its text is its own. */
export function createQuestion(
  number: number,
  { words = '', filler = 0, model = 'faults', id = randomUUID() }: QuestionOptions = {}
): Question {
  const shape = shapes[number % shapes.length]
  const family = shape && families[shape.family]
  if (shape === undefined || family === undefined) throw new Error('There is no such shape.')
  const { isStream } = shape
  const text = `${id} ${words} ${'a word of a long text '.repeat(Math.ceil(filler / 22))}`
  const answer = piecesOf(text).join('')
  const expected = findFault(text)?.change?.(answer) ?? answer
  return {
    kind: `${shape.family}${isStream ? ' stream' : ''}`,
    path: family.path(model, isStream),
    body: JSON.stringify(family.body(model, text, isStream)),
    judge(status, body) {
      try {
        if (status >= 400)
          return family.isError(JSON.parse(body))
            ? { kind: 'refused', why: `${status} ${body}` }
            : wrong(`an error of no family: ${status} ${body}`)
        if (status !== 200) return wrong(`the status ${status}`)
        if (isStream && endsWithError(body)) return { kind: 'refused', why: body.slice(-300) }
        const found = isStream ? family.readStream(readFrames(body)) : family.readWhole(JSON.parse(body))
        if (found === expected) return { kind: 'right', why: '' }
        return wrong(found === undefined ? `an answer without its end: ${body.slice(-300)}` : `another text: ${found}`)
      } catch (error) {
        return wrong(`${error}: ${body.slice(0, 300)}`)
      }
    }
  }
}

function wrong(why: string): Judgement {
  return { kind: 'wrong', why }
}

function readFrames(text: string): Loose[] {
  return text.split(/\n\n/).flatMap(frame => {
    const data = frame
      .split('\n')
      .filter(line => line.startsWith('data:'))
      .map(line => line.slice(5).trim())
      .join('\n')
    if (data === '') return []
    return [data === '[DONE]' ? data : JSON.parse(data)]
  })
}
