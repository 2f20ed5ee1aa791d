// Rows that the parameter tables of several operations have in common.

import type { JsonObject, RequestFeature } from '../../../normalized/index.ts'
import type { Parameter, ParameterTable } from './parameters.ts'

export const supported: Parameter = { class: 'supported' }
export const ignored: Parameter = { class: 'accepted_ignored' }
/** A hint without effect on the content of a response: no provider refuses it. */
export const hint: Parameter = { class: 'accepted_ignored', harmless: 'any' }

/** A parameter that not every provider has: each declares whether it sends or ignores it. */
export function ofFeature(feature: RequestFeature, note?: string): Parameter {
  const sent = 'Sent to a provider that has it; left out for others.'
  return { class: 'supported', feature, note: note === undefined ? sent : `${sent} ${note}` }
}

/** The tier of the service that a client wants to pay for. */
export const serviceTier: Parameter = { class: 'accepted_ignored', harmless: ['auto', 'default'] }

const additionalField: Parameter = {
  class: 'supported',
  isAdditionalField: true,
  note: 'Sent to the provider under its own name; the same name in a literal extra_body wins.'
}

/** Options of the native upstream that clients send beside the members of their own protocol. */
export const nativeFields = {
  flags: additionalField,
  function_ranker: additionalField,
  profanity_check: additionalField,
  repetition_penalty: additionalField,
  storage: additionalField,
  update_interval: additionalField
} as const satisfies ParameterTable

/** Members of `reasoning` besides the effort (decisions.md 78). */
export const reasoningWishes = {
  'reasoning.summary': ofFeature('reasoningSummary'),
  'reasoning.generate_summary': ofFeature('reasoningSummary', 'The older name of reasoning.summary.'),
  'reasoning.context': { class: 'accepted_ignored', harmless: ['auto'] }
} as const satisfies ParameterTable

/** Members that SDKs add to a body besides those of the protocol. */
export const extraHeaders: Parameter = {
  class: 'supported',
  note: 'Headers for the upstream, where the header policy allows them.'
}
export const extraQuery: Parameter = {
  class: 'accepted_ignored',
  harmless: 'any',
  note: 'No query parameter is ever forwarded.'
}

export const extraMembers = {
  extra_body: {
    class: 'supported',
    feature: 'additionalFields',
    note: 'Additional fields for the provider. Refused unless it is an object.'
  },
  additional_fields: {
    class: 'supported',
    feature: 'additionalFields',
    note: 'Like extra_body, and wins over it.'
  },
  extra_headers: extraHeaders,
  extra_query: extraQuery
} as const satisfies ParameterTable

export const sdkOption: Parameter = { class: 'not_applicable', note: 'An option of the SDK, not of the request.' }

/** Options of SDKs that clients put into the body by mistake. */
export const sdkOptions = {
  base_url: sdkOption,
  api_key: sdkOption,
  timeout: sdkOption,
  max_retries: sdkOption,
  proxy: sdkOption,
  http_client: sdkOption
} as const satisfies ParameterTable

/** Member of `metadata` that marks a request which the gateway replays (operations.md 9.5). */
export const REPLAY_MARK = 'gateway_replay'

/** The client's own metadata: services refuse the mark of a replay. Undefined where it has nothing else. */
export function dropReplayMark(metadata: JsonObject): JsonObject | undefined {
  const { [REPLAY_MARK]: mark, ...own } = metadata
  if (mark === undefined) return metadata
  return Object.keys(own).length === 0 ? undefined : own
}
