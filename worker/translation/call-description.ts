// What a request asks for, as plain data for observers: names, counts and settings, and content only where it was asked for. It may cross
// a thread boundary, so everything in it is bounded.

import type { ClientProtocol, JsonObject, JsonValue } from '../normalized/index.ts'
import type { TokenCountProtocol } from '../protocols/registry.ts'

/** Which content a description holds. */
export interface DescriptionOptions {
  /** The messages, or the texts of an embeddings request. */
  readonly messages: boolean
  /** The declared tools with their schemas. */
  readonly tools: boolean
  /** Members of the body that the protocol does not define. */
  readonly extensions: boolean
  /** About how many characters of JSON text each of them may take. */
  readonly charactersMax: number
}

/** Content, cut at a bound. */
export interface Captured {
  readonly value: JsonValue
  /** Something at its end is missing. */
  readonly isCut: boolean
}

interface CommonDescription {
  /** The model as the client wrote it; undefined when it named none. */
  readonly requestedModel: string | undefined
}

export interface ChatDescription extends CommonDescription {
  readonly type: 'chat'
  readonly protocol: ClientProtocol
  readonly isStream: boolean
  readonly messageCount: number
  readonly toolCount: number
  /** Of the first tools: the function's name, or the client's own word for another tool. */
  readonly toolNames: readonly string[]
  /** As the client meant it: `auto`, `none`, `required`, or an object that names functions. */
  readonly toolChoice: JsonValue | undefined
  /** The generation settings, in snake case. */
  readonly parameters: JsonObject
  /** `text`, `json_object` or `json_schema`. */
  readonly responseFormat: string | undefined
  /** The response that the request continues, as the client wrote it. */
  readonly previousResponseId: string | undefined
  /** The provider's stored conversation that the request continues. */
  readonly threadId: string | undefined
  readonly messages?: Captured
  readonly tools?: Captured
  readonly extensions?: Captured
}

export interface EmbeddingsDescription extends CommonDescription {
  readonly type: 'embeddings'
  readonly inputCount: number
  readonly encodingFormat: string
  readonly dimensions: number | undefined
  readonly user: string | undefined
  readonly messages?: Captured
}

export interface TokenCountDescription extends CommonDescription {
  readonly type: 'token-count'
  readonly protocol: TokenCountProtocol
  readonly inputCount: number
}

export type CallDescription = ChatDescription | EmbeddingsDescription | TokenCountDescription

export const NO_CONTENT: DescriptionOptions = { messages: false, tools: false, extensions: false, charactersMax: 0 }

/** What satisfies all of these options; at least one is given. */
export function combineDescriptionOptions(options: readonly DescriptionOptions[]): DescriptionOptions {
  return {
    messages: options.some(({ messages }) => messages),
    tools: options.some(({ tools }) => tools),
    extensions: options.some(({ extensions }) => extensions),
    charactersMax: Math.max(...options.map(({ charactersMax }) => charactersMax))
  }
}
