// What a chat completion may ask, member by member (completions.md 2). The reader applies the classes, admission the rest.

import { toolParameters } from '../shared/completions-family/tool-use.ts'
import {
  extraMembers,
  hint,
  ignored,
  nativeFields,
  ofFeature,
  reasoningWishes,
  sdkOptions,
  serviceTier,
  supported
} from '../shared/members/common-parameters.ts'
import { Members } from '../shared/members/members.ts'
import type { ParameterTable } from '../shared/members/parameters.ts'

/** Parameters of chat completions (completions.md 2). A parameter that is not listed becomes an additional field. */
export const chatParameters = {
  model: supported,
  messages: supported,
  stream: supported,
  stream_options: { class: 'supported', note: 'include_usage is honoured, other members have no effect.' },
  temperature: supported,
  top_p: supported,
  max_tokens: { class: 'supported', note: 'Has priority over max_completion_tokens.' },
  max_completion_tokens: supported,
  max_output_tokens: { class: 'supported', note: 'Another name of max_tokens, with priority over it.' },
  stop: { class: 'supported', note: 'The gateway cuts the response at the first match.' },
  ...toolParameters,
  response_format: {
    class: 'supported',
    note: 'text, json_schema and json_object with a schema; other types are refused.'
  },
  reasoning_effort: supported,
  reasoning: { class: 'supported', note: 'Its effort has priority over reasoning_effort.' },
  ...extraMembers,
  ...nativeFields,
  audio: ignored,
  background: ignored,
  container: ignored,
  conversation: ignored,
  frequency_penalty: ofFeature('frequencyPenalty'),
  include: ignored,
  logit_bias: ignored,
  logprobs: ignored,
  max_tool_calls: ignored,
  mcp_servers: ignored,
  metadata: ofFeature('metadata', 'Not repeated in the response.'),
  modalities: { class: 'accepted_ignored', harmless: [['text']], refusal: 'output_modality' },
  moderation: ignored,
  n: { class: 'accepted_ignored', harmless: [1], note: 'The response always has exactly one choice.' },
  prediction: ignored,
  presence_penalty: ofFeature('presencePenalty'),
  previous_response_id: ignored,
  prompt_cache_key: hint,
  prompt_cache_options: ignored,
  prompt_cache_retention: hint,
  safety_identifier: ignored,
  seed: ofFeature('seed'),
  service_tier: serviceTier,
  store: ignored,
  top_logprobs: { class: 'accepted_ignored', harmless: [0] },
  truncation: { class: 'accepted_ignored', harmless: ['disabled'] },
  user: ofFeature('user'),
  verbosity: { class: 'accepted_ignored', harmless: ['medium'] },
  web_search_options: ignored,
  ...sdkOptions
} as const satisfies ParameterTable

/** Members inside of others. */
const innerParameters = {
  'stream_options.include_usage': supported,
  'stream_options.include_obfuscation': ignored,
  'reasoning.effort': supported,
  ...reasoningWishes
} as const satisfies ParameterTable

export const completionsMembers = new Members({ ...chatParameters, ...innerParameters }, { hasAdditionalFields: true })
