// The wire of a provider that exists for tests only: one JSON object asks, lines of JSON answer. It has text, tools and usage, and
// nothing of any real provider's form.

import type { JsonObject } from '../../../worker/normalized/index.ts'

/** Stands in front of each request: the bodies of this wire are no JSON. */
export const TOY_MARK = 'toy:'

/** Signs the requests, and is never sent. */
export const TOY_KEY = 'key-of-the-toy'

/** The content type of requests, and of responses that are no stream. */
export const TOY_WHOLE = 'application/x-toy'

export const TOY_STREAM = 'application/x-toy-stream'

export type ToyRequest = {
  model: string
  stream: boolean
  ask: ToyTurn[]
  tools: Array<{ name: string; schema: JsonObject }>
  /** The tool that must be called. */
  mustCall?: string
}

export type ToyTurn =
  | { who: 'system' | 'user' | 'model'; say: string }
  /** What the model thought before, with the seal that the provider put on it. */
  | { who: 'model'; think: string; seal: string }
  | { who: 'model'; calls: Array<{ id: string; name: string; args: JsonObject }> }
  | { who: 'tool'; id: string; result: string }

/** One line of a response. */
export type ToyLine =
  | { say: string }
  | { think: string; seal: string }
  | { call: { id: string; name: string; args: JsonObject } }
  | { end: 'stop' | 'length'; tokens: [input: number, output: number] }
  | { trouble: string; status: number }

/** What the toy model says: it repeats texts, calls the first tool that it is given, and reads tool results aloud. */
export function answerToyRequest(request: ToyRequest): ToyLine[] {
  const last = request.ask.at(-1)
  const end: ToyLine = { end: 'stop', tokens: [3, 5] }
  if (last?.who === 'tool') return [{ say: `It is ` }, { say: `${last.result}.` }, end]
  const text = last !== undefined && 'say' in last ? last.say : ''
  if (text === 'trouble') return [{ trouble: 'The toy is broken.', status: 503 }]
  if (text === 'trouble later') return [{ say: 'Well' }, { trouble: 'The toy broke.', status: 500 }]
  const [tool] = request.tools
  if (tool !== undefined) {
    const call = { id: 'toy-1', name: request.mustCall ?? tool.name, args: { city: 'Paris' } }
    return [{ think: 'A tool.', seal: 'sealed' }, { say: 'Let me look.' }, { call }, end]
  }
  return [{ say: 'You said ' }, { say: `${text}.` }, end]
}
