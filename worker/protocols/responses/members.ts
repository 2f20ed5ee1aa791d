// What a Responses request may ask, member by member (responses.md 2). The reader applies the classes, admission the rest.

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
import type { Parameter, ParameterTable } from '../shared/members/parameters.ts'

/** Without effect, and repeated in the response. */
const echoed: Parameter = { class: 'accepted_ignored', note: 'Repeated in the answer.' }

/** Responses (responses.md 2). A name that is not here is an additional field for the native upstream. */
export const responsesParameters = {
  model: supported,
  input: { class: 'supported', note: 'Text, or items; items that say nothing to the upstream are skipped.' },
  instructions: { class: 'supported', note: 'Stands before every other instruction.' },
  stream: supported,
  temperature: supported,
  top_p: supported,
  max_output_tokens: { class: 'supported', note: '0 counts as absent.' },
  max_tokens: { class: 'supported', note: 'Another name of max_output_tokens, which wins over it.' },
  stop: { class: 'supported', note: 'The gateway cuts the response at the first match.' },
  ...toolParameters,
  text: {
    class: 'supported',
    note: 'Its format is text, json_schema or json_object with a schema; other types are refused.'
  },
  response_format: { class: 'supported', note: 'Like text.format, which wins over it.' },
  reasoning: { class: 'supported', note: 'Its effort wins over reasoning_effort; other members are only repeated.' },
  reasoning_effort: supported,
  previous_response_id: {
    class: 'supported',
    feature: 'storedConversation',
    note: 'Continues a stored conversation of the v2 contract.'
  },
  conversation: {
    class: 'supported',
    feature: 'conversation',
    note: 'Sent to providers of the Responses wire; no effect elsewhere.'
  },
  store: {
    class: 'supported',
    note: 'Stores the conversation on the v2 contract; a setting decides what its absence means.'
  },
  ...extraMembers,
  prompt: {
    class: 'rejected',
    rejection: 'unsupported_semantic',
    note: 'A prompt that another service stores cannot be resolved.'
  },
  ...nativeFields,
  metadata: ofFeature('metadata', 'Repeated in the response.'),
  truncation: { ...echoed, harmless: ['disabled'] },
  user: ofFeature('user', 'Repeated in the response.'),
  access_programs: ignored,
  audio: ignored,
  background: { class: 'accepted_ignored', refusal: 'background_not_kept', note: 'Without a store nothing is queued.' },
  client_metadata: hint,
  container: ignored,
  context_management: ignored,
  frequency_penalty: ofFeature('frequencyPenalty', 'Repeated in the response.'),
  image: ignored,
  include: { class: 'accepted_ignored', harmless: [['reasoning.encrypted_content']] },
  logit_bias: ignored,
  logprobs: ignored,
  max_tool_calls: echoed,
  mcp_servers: ignored,
  modalities: { class: 'accepted_ignored', harmless: [['text']], refusal: 'output_modality' },
  moderation: ignored,
  n: { class: 'accepted_ignored', harmless: [1] },
  prediction: ignored,
  presence_penalty: ofFeature('presencePenalty', 'Repeated in the response.'),
  prompt_cache_key: { ...hint, ...echoed },
  prompt_cache_options: ignored,
  prompt_cache_retention: { ...hint, ...echoed },
  safety_identifier: echoed,
  seed: ofFeature('seed'),
  service_tier: { ...serviceTier, ...echoed },
  stream_options: ignored,
  top_logprobs: { ...echoed, harmless: [0] },
  web_search_options: ignored,
  ...sdkOptions
} as const satisfies ParameterTable

/** Members inside of others. */
const innerParameters = {
  'text.format': supported,
  'text.verbosity': { class: 'accepted_ignored', harmless: ['medium'] },
  'reasoning.effort': supported,
  ...reasoningWishes,
  'stream_options.include_obfuscation': ignored
} as const satisfies ParameterTable

export const responsesMembers = new Members(
  { ...responsesParameters, ...innerParameters },
  { hasAdditionalFields: true }
)
