// What a message request may ask, member by member (messages.md 2). The reader applies the classes, admission the rest.

import {
  extraMembers,
  hint,
  ignored,
  nativeFields,
  ofFeature,
  sdkOption,
  sdkOptions,
  serviceTier,
  supported
} from '../shared/members/common-parameters.ts'
import { Members } from '../shared/members/members.ts'
import type { ParameterTable } from '../shared/members/parameters.ts'

/** Parameters of the original service and of its beta features, which have no effect here; the same for both operations. */
export const serviceParameters = {
  'anthropic-beta': ignored,
  betas: ignored,
  billing_policy: ignored,
  cache_control: hint,
  compaction: ignored,
  context_management: {
    class: 'accepted_ignored',
    // Keeps all thinking, which is what the absence of the member does.
    harmless: [{ edits: [] }, { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] }]
  },
  mcp_servers: ignored,
  speed: { class: 'accepted_ignored', harmless: ['standard'] },
  user_profile_id: ignored,
  workspace_id: ignored,
  auth_token: sdkOption,
  ...sdkOptions
} as const satisfies ParameterTable

/** Create a message (messages.md 2). A name that is not here is an additional field for the native upstream. */
export const messagesParameters = {
  model: supported,
  messages: supported,
  system: { class: 'supported', note: 'Text, or text blocks; other blocks have no effect.' },
  max_tokens: { class: 'supported', note: 'May be absent; then the configured default applies, if there is one.' },
  stream: supported,
  temperature: supported,
  top_p: supported,
  stop_sequences: { class: 'supported', note: 'The gateway itself cuts the answer before the first match.' },
  tools: {
    class: 'supported',
    note: 'Functions everywhere, search, fetch and code execution on the v2 contract; other kinds have no effect.'
  },
  tool_choice: {
    class: 'supported',
    note:
      'What a route cannot enforce is refused. disable_parallel_tool_use: false has an effect with the largest model on ' +
      'the v2 contract; true returns the first call of a response only.'
  },
  thinking: { class: 'supported', note: 'budget_tokens becomes an effort: low, from 3000 medium, from 8000 high.' },
  output_config: { class: 'supported', note: 'effort wins over the budget; format is a JSON schema.' },
  output_format: { class: 'supported', note: 'An older place of output_config.format, which wins over it.' },
  ...extraMembers,
  ...nativeFields,
  thread: {
    class: 'rejected',
    note: 'The gateway keeps no conversation: the SDK sends the whole history once it knows.'
  },
  container: ignored,
  conversation: ignored,
  diagnostics: ignored,
  fallback_credit_token: ignored,
  fallbacks: ignored,
  inference_geo: ignored,
  metadata: ofFeature('metadata'),
  service_tier: serviceTier,
  top_k: ofFeature('topK'),
  ...serviceParameters
} as const satisfies ParameterTable

/** Members inside of others. */
const innerParameters = {
  'output_config.effort': supported,
  'output_config.format': supported
} as const satisfies ParameterTable

export const messagesMembers = new Members({ ...messagesParameters, ...innerParameters }, { hasAdditionalFields: true })
