// The field names of the messages protocol, for errors that are found after the request was read.

import type { FieldPaths } from '../../../normalized/index.ts'

export const messagesFieldPaths: FieldPaths = Object.freeze({
  model: 'model',
  stream: 'stream',
  messages: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
  output: 'output_config.format',
  reasoning: 'thinking',
  user: 'metadata.user_id',
  metadata: 'metadata',
  additionalFields: 'extra_body',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  maxOutputTokens: 'max_tokens',
  stop: 'stop_sequences'
})
