// The table of the operations of all client protocols. Routes, drain gate, families, path repair,
// spans, payload log and API document read it; nothing else lists operations.
//
// To add an operation:
//  1. Add its entry here. What an entry may say is described in `operation.ts`.
//  2. Give it a handler under its id in `worker/routes/operation-handlers.ts`. A chat, a token count
//     and embeddings have factories for that (`routes/chat.ts`, `token-count.ts`, `embeddings.ts`);
//     they take the reader and the writer of the protocol: its client face in
//     `worker/protocols/<protocol>/client/`.
//  3. Describe its body and its responses under its id in `worker/docs/operations/client.ts`.
// The type check fails until 2 and 3 are done. A GET path without parameters also belongs into
// `shared/fixed-paths.ts`, because a start must know which paths are taken; a test compares both.
// `test/worker/operations/toy-operation.test.ts` shows a whole operation.

import type { ModelSpan, Operation } from './operation.ts'
import { storedOperations } from './stored.ts'

/** The root, and the two contracts of the native upstream. */
const CONTRACT_PREFIXES = ['', '/v1', '/v2'] as const
/** SDKs append `/v1beta`, also to a base URL that already has a version. */
const BETA_PREFIXES = ['/v1beta', '/v1/v1beta', '/v2/v1beta'] as const
const CONTENT_PREFIXES = [...CONTRACT_PREFIXES, ...BETA_PREFIXES] as const

const chat = { kind: 'LLM', operation: 'chat', genAiOperation: 'chat' } as const
const generation: ModelSpan = {
  ...chat,
  spanName: 'Content-Generation',
  apiFormat: 'generate_content',
  genAiOperation: 'generate_content'
}
const embeddings: ModelSpan = {
  spanName: 'Embeddings',
  apiFormat: 'embeddings',
  kind: 'EMBEDDING',
  operation: 'embeddings',
  genAiOperation: 'embeddings'
}

const chatCompletion = {
  span: { ...chat, spanName: 'Chat-Completions', apiFormat: 'chat_completions' },
  tag: 'OpenAI / Chat Completions'
} as const
const embedding = {
  span: embeddings,
  payloadEvents: { response: 'embeddings_response', chunk: 'stream_chunk' },
  tag: 'OpenAI / Embeddings'
} as const

const modelCall = { method: 'POST', isModelRequest: true } as const
const lookup = { method: 'GET', isModelRequest: false } as const
const completions = { ...modelCall, prefixes: CONTRACT_PREFIXES, family: 'completions' } as const
const messages = { ...modelCall, prefixes: CONTRACT_PREFIXES, family: 'messages', tag: 'Anthropic / Messages' } as const
const content = { ...modelCall, prefixes: CONTENT_PREFIXES, family: 'content' } as const

/** Azure's clients name the model in the path; a model in the body is another name of the same. */
const deployment = { ...completions, root: 'openai/deployments' } as const

const BY_CLIENT =
  'The headers of the client select the form: `anthropic-version` or `anthropic-beta` the messages form, `x-goog-api-key` or ' +
  '`x-goog-api-client` the content form, anything else the completions form.'

export const operations = [
  {
    ...completions,
    ...chatCompletion,
    id: 'createChatCompletion',
    path: '/chat/completions',
    summary: 'Create a chat completion'
  },
  {
    ...deployment,
    ...chatCompletion,
    id: 'createDeploymentChatCompletion',
    path: '/openai/deployments/{model}/chat/completions',
    summary: 'Create a chat completion of the model in the path'
  },
  {
    ...completions,
    id: 'createResponse',
    path: '/responses',
    span: { ...chat, spanName: 'Responses-API', apiFormat: 'responses', operation: 'responses' },
    payloadEvents: { response: 'responses_api_response', chunk: 'responses_stream_chunk' },
    tag: 'OpenAI / Responses',
    summary: 'Create a response'
  },
  ...storedOperations,
  {
    ...completions,
    id: 'countResponseInputTokens',
    path: '/responses/input_tokens',
    tag: 'OpenAI / Responses',
    summary: 'Count the input tokens of a response'
  },
  {
    ...completions,
    id: 'compactResponse',
    path: '/responses/compact',
    span: { ...chat, spanName: 'Responses-API', apiFormat: 'responses', operation: 'responses' },
    payloadEvents: { response: 'responses_api_response', chunk: 'responses_stream_chunk' },
    tag: 'OpenAI / Responses',
    summary: 'Replace a conversation by a summary of it'
  },
  {
    ...completions,
    ...embedding,
    id: 'createEmbedding',
    path: '/embeddings',
    summary: 'Create embeddings'
  },
  {
    ...deployment,
    ...embedding,
    id: 'createDeploymentEmbedding',
    path: '/openai/deployments/{model}/embeddings',
    summary: 'Create embeddings by the model in the path'
  },
  {
    ...content,
    id: 'generateContent',
    path: '/models/{model+}:generateContent',
    span: generation,
    tag: 'Gemini / Generate Content',
    summary: 'Generate content'
  },
  {
    ...content,
    id: 'streamGenerateContent',
    path: '/models/{model+}:streamGenerateContent',
    span: generation,
    tag: 'Gemini / Generate Content',
    summary: 'Generate content as a stream'
  },
  {
    ...content,
    id: 'countTokens',
    path: '/models/{model+}:countTokens',
    tag: 'Gemini / Generate Content',
    summary: 'Count tokens'
  },
  {
    ...content,
    id: 'embedContent',
    path: '/models/{model+}:embedContent',
    span: embeddings,
    tag: 'Gemini / Embeddings',
    summary: 'Embed one content'
  },
  {
    ...content,
    id: 'batchEmbedContents',
    path: '/models/{model+}:batchEmbedContents',
    span: embeddings,
    tag: 'Gemini / Embeddings',
    summary: 'Embed several contents'
  },
  {
    ...messages,
    id: 'createMessage',
    path: '/messages',
    span: { ...chat, spanName: 'Messages-API', apiFormat: 'messages' },
    summary: 'Create a message'
  },
  { ...messages, id: 'countMessageTokens', path: '/messages/count_tokens', summary: 'Count the tokens of a message' },
  {
    ...lookup,
    id: 'listModels',
    path: '/models',
    prefixes: CONTRACT_PREFIXES,
    family: 'by-client',
    tag: 'OpenAI / Models',
    summary: 'List models',
    description: BY_CLIENT
  },
  {
    ...lookup,
    id: 'getModel',
    path: '/models/{model+}',
    prefixes: CONTRACT_PREFIXES,
    family: 'by-client',
    tag: 'OpenAI / Models',
    summary: 'Get a model',
    description: BY_CLIENT
  },
  {
    ...lookup,
    id: 'listContentModels',
    path: '/models',
    prefixes: BETA_PREFIXES,
    family: 'content',
    tag: 'Gemini / Models',
    summary: 'List models'
  },
  {
    ...lookup,
    id: 'getContentModel',
    path: '/models/{model+}',
    prefixes: BETA_PREFIXES,
    family: 'content',
    tag: 'Gemini / Models',
    summary: 'Get a model'
  },
  {
    ...lookup,
    id: 'listTunedModels',
    path: '/tunedModels',
    prefixes: CONTENT_PREFIXES,
    family: 'content',
    tag: 'Gemini / Models',
    summary: 'List tuned models',
    description: 'Always empty: the gateway has no tuned models.'
  },
  {
    ...lookup,
    id: 'getModelInfo',
    path: '/model/info',
    prefixes: CONTRACT_PREFIXES,
    family: 'completions',
    protocol: 'litellm',
    tag: 'LiteLLM / Model Info',
    summary: 'Models in the form of LiteLLM'
  }
] as const satisfies readonly Operation[]

export type OperationId = (typeof operations)[number]['id']
