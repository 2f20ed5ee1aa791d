// Changes the parts of a response of the chat wire, so that a shape states only what a service does in another way.
import { randomBytes } from 'node:crypto'
import type { ResponseContext } from './chat-wire.ts'
import type { Step } from './directive-steps.ts'
import type { Frame } from './frame.ts'

/** The JSON that the wire wrote itself a moment before: its members are known. */
// biome-ignore lint/suspicious/noExplicitAny: the members of the wire are nested, and each shape changes others.
export type Loose = Record<string, any>

/** A chunk of a stream. */
export interface Chunk {
  payload: Loose
  kind: Frame['kind']
}

export interface ChatShape {
  /** Directives that the service implies; those of the prompt win. */
  step?: Partial<Step>
  /** Gives a whole response the form of the service. */
  whole?: (body: Loose, context: ResponseContext) => Loose
  /** The same for all chunks of a stream. */
  stream?: (chunks: readonly Chunk[], context: ResponseContext) => Chunk[]
}

/** The object without these members. */
export function omit(object: Loose, ...names: string[]): Loose {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

/** The object without members that are null. */
export function withoutNull(object: Loose): Loose {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
}

export function mapChoices(body: Loose, map: (choice: Loose) => Loose): Loose {
  return { ...body, choices: body.choices.map(map) }
}

export function mapMessage(choice: Loose, map: (message: Loose) => Loose): Loose {
  return { ...choice, message: map(choice.message) }
}

/** Maps the calls of a message or of a delta that has some. */
export function mapCalls(message: Loose, map: (call: Loose, index: number) => Loose): Loose {
  return Array.isArray(message.tool_calls) ? { ...message, tool_calls: message.tool_calls.map(map) } : message
}

/** Maps the deltas of a stream; `index` counts its chunks. */
export function mapChunks(chunks: readonly Chunk[], map: (delta: Loose, index: number) => Loose): Chunk[] {
  return chunks.map(({ payload, kind }, index) => ({
    payload: mapChoices(payload, choice => ({ ...choice, delta: map(choice.delta, index) })),
    kind
  }))
}

/** An id of this many letters and digits. */
export function shortId(length: number): string {
  return randomBytes(length).toString('hex').slice(0, length)
}
