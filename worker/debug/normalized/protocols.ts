// The client protocols in documents, and what requests have that come from none.

import type { ClientProtocol, FieldPaths } from '../../normalized/index.ts'
import type { ProtocolTraits } from '../../protocols/client-face.ts'

export interface DocumentProtocol {
  protocol: 'openai' | 'anthropic' | 'gemini'
  operation: 'chat' | 'responses'
}

/** How documents name each client protocol: the SDK's name, and the operation where an SDK has two. */
export const documentProtocols: Readonly<Record<ClientProtocol, DocumentProtocol>> = {
  completions: { protocol: 'openai', operation: 'chat' },
  responses: { protocol: 'openai', operation: 'responses' },
  messages: { protocol: 'anthropic', operation: 'chat' },
  content: { protocol: 'gemini', operation: 'chat' }
}

/** The client protocol of a document; undefined where the document names none. */
export function findDocumentProtocol({
  protocol,
  operation = 'chat'
}: {
  protocol?: string | undefined
  operation?: string | undefined
}): ClientProtocol | undefined {
  const names = Object.keys(documentProtocols) as ClientProtocol[]
  return names.find(name => {
    const known = documentProtocols[name]
    return known.protocol === protocol && known.operation === operation
  })
}

/** The names of a document's own members, for errors about a request that was written by hand. */
const fieldPaths: FieldPaths = Object.freeze({
  model: 'model',
  stream: 'stream',
  messages: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  output: 'output',
  reasoning: 'reasoning',
  uploadedFiles: 'uploaded_file_ids',
  previousResponse: 'conversation.previous_response_id',
  conversation: 'conversation.conversation_id',
  store: 'conversation.store',
  background: 'conversation.background',
  include: 'conversation.include',
  user: 'user',
  metadata: 'metadata',
  additionalFields: 'provider_state.native.additional_fields',
  temperature: 'sampling.temperature',
  topP: 'sampling.top_p',
  topK: 'sampling.top_k',
  maxOutputTokens: 'limits.max_output_tokens',
  stop: 'limits.stop',
  seed: 'sampling.seed',
  presencePenalty: 'sampling.presence_penalty',
  frequencyPenalty: 'sampling.frequency_penalty'
})

/** The traits of a request that comes from no client protocol. */
export const documentTraits: ProtocolTraits = Object.freeze({ fieldPaths, carriesFileBytes: true })
