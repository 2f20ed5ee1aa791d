// What an operation of a client protocol is, as plain data. Every room of the worker that must know
// the operations reads them from here.

/**
 * The client protocol whose form a response takes; `system` is everything that belongs to no client
 * protocol.
 */
export type Family = 'completions' | 'messages' | 'content' | 'system'

/** Client protocol of a request in the words of metrics and records (operations.md 7.4). */
export type Protocol = 'openai' | 'anthropic' | 'gemini' | 'litellm' | 'system'

/** The protocol of a family, where an operation names no other. */
export const PROTOCOL_OF_FAMILY: Readonly<Record<Family, Protocol>> = {
  completions: 'openai',
  messages: 'anthropic',
  content: 'gemini',
  system: 'system'
}

/** How the span of a model call is named (operations.md 11.2). */
export interface ModelSpan {
  readonly spanName: string
  readonly apiFormat: 'chat_completions' | 'responses' | 'messages' | 'generate_content' | 'embeddings'
  readonly kind: 'LLM' | 'EMBEDDING'
  /** The word of `llm.operation`. */
  readonly operation: 'chat' | 'responses' | 'embeddings'
  /** The word of `gen_ai.operation.name`. */
  readonly genAiOperation: 'chat' | 'generate_content' | 'embeddings'
}

/** The events under which the log shows a response in DEBUG (operations.md 12). */
export interface PayloadEvents {
  readonly response: string
  readonly chunk: string
}

/**
 * The tags of client operations in the API document, in the order in which they are shown
 * (operations.md 2.6).
 */
export const CLIENT_TAGS = [
  'OpenAI / Chat Completions',
  'OpenAI / Responses',
  'OpenAI / Conversations',
  'OpenAI / Embeddings',
  'OpenAI / Models',
  'Gemini / Generate Content',
  'Gemini / Embeddings',
  'Gemini / Models',
  'Anthropic / Messages',
  'LiteLLM / Model Info'
] as const

export interface Operation<Id extends string = string> {
  /**
   * Unique. The handler, the details of the documentation and the `operationId` of the API document
   * go by it.
   */
  readonly id: Id
  /** `GET` serves `HEAD` too. Operations of several methods may share a path. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * Path below each prefix. `{name}` is one segment, `{name+}` everything to the end of the path,
   * slashes included; after `{name+}` a verb may follow: `/models/{model+}:countTokens`. Metrics
   * and logs show it without the plus sign.
   */
  readonly path: string
  /**
   * Prefixes under which the path is mounted; '' is the root. One that begins with `/v1` or `/v2`
   * selects that contract of the native upstream. Their segments are versions for the path repair;
   * a second one, as in `/v1/v1beta`, may stand behind each contract.
   */
  readonly prefixes: readonly string[]
  /**
   * The segments by which the path repair finds the operation behind foreign prefixes, such as
   * `openai/deployments`: one or two. Absent: the first segment of the path. A path that no route
   * serves has the family of its root.
   */
  readonly root?: string
  /**
   * The form of responses and errors. `by-client`: the headers of the client decide, as on the
   * shared model lists.
   */
  readonly family: Family | 'by-client'
  /** For logs and metrics, where it is not the family's. */
  readonly protocol?: Protocol
  /** Starts model work: refused while draining, and a drain waits for it. */
  readonly isModelRequest: boolean
  /** Served only where responses are stored (memory.md 4). */
  readonly needsStore?: true
  /** Absent: the span of a request has the common name. */
  readonly span?: ModelSpan
  /** Absent: the events of the family. */
  readonly payloadEvents?: PayloadEvents
  /** In the API document. */
  readonly tag: (typeof CLIENT_TAGS)[number]
  readonly summary: string
  readonly description?: string
}
