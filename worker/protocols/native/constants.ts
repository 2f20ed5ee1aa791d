// Words and limits of the native upstream's wire that several files use, or that no recorded exchange confirms yet.

/**
 * The mode that requires a tool call; without a tool's name any tool is allowed (upstream.md 4.1,
 * decisions.md 8 and 9).
 */
export const FORCED_TOOL_MODE = 'forced'

/**
 * The v2 switch for several calls in one response: a top-level member that no recorded exchange has
 * (decisions.md 7).
 */
export const PARALLEL_TOOL_CALLS_MEMBER = 'parallel_tool_calls'

const LARGEST_V2_MODEL = /-2-Max(?![\w])/i

/** True for the only models that accept `PARALLEL_TOOL_CALLS_MEMBER` (decisions.md 7). */
export function isLargestV2Model(model: string | undefined): boolean {
  return model !== undefined && LARGEST_V2_MODEL.test(model)
}

/** Attachments of one message of the client; more are dropped and counted (completions.md 4.4). */
export const ATTACHMENTS_PER_MESSAGE_MAX = 2

/** Attachments of one request, newest messages first (completions.md 4.4). */
export const ATTACHMENTS_PER_REQUEST_MAX = 10

/** Longer values are left out of a response's metadata (completions.md 6.1). */
export const METADATA_VALUE_CHARACTERS_MAX = 512

/** Members that are options of the model on v2; given at the top they move under `model_options` (completions.md 2.4). */
export const V2_MODEL_OPTIONS: readonly string[] = [
  'preset',
  'temperature',
  'top_p',
  'max_tokens',
  'repetition_penalty',
  'update_interval',
  'unnormalized_history',
  'top_logprobs',
  'reasoning',
  'response_format'
]
