// How the span of a request is named (operations.md 11.2).

export interface LlmRoute {
  readonly spanName: string
  readonly apiFormat: 'chat_completions' | 'responses' | 'messages' | 'generate_content' | 'embeddings'
  readonly kind: 'LLM' | 'EMBEDDING'
  /** The word of `llm.operation`. */
  readonly operation: 'chat' | 'responses' | 'embeddings'
  /** The word of `gen_ai.operation.name`. */
  readonly genAiOperation: 'chat' | 'generate_content' | 'embeddings'
}

export const OTHER_SPAN_NAME = 'gateway.request'

const chat = { kind: 'LLM', operation: 'chat', genAiOperation: 'chat' } as const
const embeddings: LlmRoute = {
  spanName: 'Embeddings',
  apiFormat: 'embeddings',
  kind: 'EMBEDDING',
  operation: 'embeddings',
  genAiOperation: 'embeddings'
}
const generation: LlmRoute = {
  ...chat,
  spanName: 'Content-Generation',
  apiFormat: 'generate_content',
  genAiOperation: 'generate_content'
}

/** By the end of the route's template. */
const ROUTES: Readonly<Record<string, LlmRoute>> = {
  '/chat/completions': { ...chat, spanName: 'Chat-Completions', apiFormat: 'chat_completions' },
  '/responses': { ...chat, spanName: 'Responses-API', apiFormat: 'responses', operation: 'responses' },
  '/messages': { ...chat, spanName: 'Messages-API', apiFormat: 'messages' },
  '/embeddings': embeddings,
  '/models/{model}:generateContent': generation,
  '/models/{model}:streamGenerateContent': generation,
  '/models/{model}:embedContent': embeddings,
  '/models/{model}:batchEmbedContents': embeddings
}

const VERSIONED = /^(?:\/v[12])?(?:\/v1beta)?(\/.+)$/

/** What a route's span is called; undefined for every route that has the common name. */
export function findLlmRoute(template: string): LlmRoute | undefined {
  const operation = VERSIONED.exec(template)?.[1]
  return operation !== undefined && Object.hasOwn(ROUTES, operation) ? ROUTES[operation] : undefined
}
