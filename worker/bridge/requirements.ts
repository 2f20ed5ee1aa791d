// What a request requires of its route: for each requirement the rows of the support matrix that must keep it, the features that an alias
// must declare for it, the client's field that asks for it, and what happens without it (bridge.md 7.3 and 7.4, decisions.md 69 and 74).

import { BASE_FEATURES } from '../../shared/profile/profile.ts'
import type { SemanticName } from '../../shared/support/support-vocabulary.ts'
import {
  type ContentPart,
  type FieldName,
  type FilePart,
  findNewestTurn,
  type ImagePart,
  isUserTurn,
  type NormalizedRequest,
  pathOfMedia,
  type RequestFeature,
  type Sampling,
  selectCallableTools
} from '../normalized/index.ts'

export interface Requirement {
  readonly semantics: readonly SemanticName[]
  readonly features: readonly string[]
  /** A wire that sends this feature keeps the requirement, also where the cell of its kind does not (decisions.md 86). */
  readonly keptBy?: RequestFeature
  /** The path of the client's field, '' where the protocol has none; undefined when the request does not require it. */
  find(request: NormalizedRequest, content: ContentSummary): string | undefined
  /**
   * What is sent to a route that lacks it, and the fields that have no effect then. Absent: the request is refused, because its loss would
   * lose content, change the results, break a demand or lose a state.
   */
  omit?(request: NormalizedRequest): Omission
}

export interface Omission {
  request: NormalizedRequest
  /** Without those that asked for nothing. */
  paths: readonly string[]
}

/** What the messages of a request hold, found in one pass. */
export interface ContentSummary {
  hasText: boolean
  hasCall: boolean
  hasResult: boolean
  /** Media that the newest turn of the user holds itself. What else a model cannot read is described to it (decisions.md 75). */
  image?: ImagePart
  file?: FilePart
}

export const requirements: readonly Requirement[] = [
  {
    semantics: ['roles', 'stop_reasons', 'timeout', 'disconnect', 'usage_input_output_tokens'],
    features: BASE_FEATURES,
    find: ({ fieldPaths }) => fieldPaths.model
  },
  {
    semantics: [],
    features: ['text'],
    find: ({ fieldPaths }, { hasText }) => (hasText ? fieldPaths.messages : undefined)
  },
  {
    semantics: [],
    features: ['generation_controls'],
    find: request => listGenerationControls(request)[0],
    omit: request => ({ request: { ...request, sampling: {} }, paths: listGenerationControls(request) })
  },
  {
    semantics: ['tool_definitions_and_call_ids'],
    features: ['function_tools'],
    find: ({ tools, fieldPaths }) => (tools.some(tool => tool.type === 'function') ? fieldPaths.tools : undefined)
  },
  {
    // Calls of the history are kept (decisions.md 75).
    semantics: ['tool_definitions_and_call_ids'],
    features: ['function_tools'],
    find: ({ fieldPaths }, { hasCall }) => (hasCall ? fieldPaths.messages : undefined),
    omit: keep
  },
  {
    semantics: ['tool_choice'],
    features: ['tool_choice'],
    find: request => (demandsCall(request) ? request.fieldPaths.toolChoice : undefined)
  },
  {
    semantics: ['tool_choice'],
    features: ['tool_choice'],
    find: request =>
      request.toolChoice === undefined || demandsCall(request) ? undefined : request.fieldPaths.toolChoice,
    omit: request => ({ request: applyToolChoice(request), paths: [] })
  },
  {
    semantics: ['tool_results'],
    features: ['tool_results'],
    find: ({ fieldPaths }, { hasResult }) => (hasResult ? fieldPaths.messages : undefined),
    omit: keep
  },
  {
    semantics: ['parallel_tool_calls'],
    features: ['parallel_tool_calls'],
    find: request => (request.parallelToolCalls === undefined ? undefined : fieldOf(request, 'parallelToolCalls')),
    omit: omitParallelCalls
  },
  {
    semantics: ['structured_output_json_schema'],
    features: ['json_schema_output'],
    find: ({ output, fieldPaths }) => (output?.type === 'json-schema' ? fieldPaths.output : undefined)
  },
  {
    semantics: ['reasoning_controls_and_summaries'],
    features: ['reasoning_effort'],
    find: request => (request.reasoning?.effort === undefined ? undefined : fieldOf(request, 'reasoning')),
    omit: omitEffort
  },
  { semantics: ['previous_response_state'], features: [], keptBy: 'storedConversation', find: findStoredState },
  {
    semantics: ['files_and_images', 'multimodal_inputs'],
    features: ['image_references'],
    find: (_request, { image }) => (image === undefined ? undefined : pathOfMedia(image))
  },
  {
    semantics: ['files_and_images'],
    features: [],
    find: (_request, { file }) => (file === undefined ? undefined : pathOfMedia(file))
  },
  {
    semantics: ['stream_lifecycle', 'malformed_upstream_stream'],
    features: ['stream_deltas', 'stream_terminal_events'],
    find: request => (request.isStream ? fieldOf(request, 'stream') : undefined)
  }
]

/** Looks at every part of every message once. */
export function scanContent({ messages }: NormalizedRequest): ContentSummary {
  const found: ContentSummary = { hasText: false, hasCall: false, hasResult: false }
  const newestTurn = findNewestTurn(messages)
  for (const [index, message] of messages.entries()) {
    const isNewest = index >= newestTurn && isUserTurn(message)
    for (const part of message.content) scanPart(part, isNewest, found)
  }
  return found
}

function scanPart(part: ContentPart, isNewest: boolean, found: ContentSummary): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      found.hasText = true
      return
    case 'tool-call':
      found.hasCall = true
      return
    case 'tool-result':
      found.hasResult = true
      for (const inner of part.content) scanPart(inner, false, found)
      return
    case 'image':
      if (isNewest) found.image ??= part
      return
    case 'file':
      if (isNewest) found.file ??= part
      return
    default:
      // Reasoning of earlier turns asks for nothing.
      return
  }
}

function keep(request: NormalizedRequest): Omission {
  return { request, paths: [] }
}

const GENERATION_CONTROLS: ReadonlyArray<keyof Sampling & FieldName> = [
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'presencePenalty',
  'frequencyPenalty',
  'stop',
  'seed'
]

function listGenerationControls(request: NormalizedRequest): string[] {
  return GENERATION_CONTROLS.filter(name => request.sampling[name] !== undefined).map(name => fieldOf(request, name))
}

/** Whether the choice is a demand, so that without it the results are others; `auto`, `none` and an allow-list are none. */
function demandsCall({ toolChoice }: NormalizedRequest): boolean {
  switch (toolChoice?.type) {
    case 'required':
    case 'function':
    case 'hosted':
      return true
    case 'allowed':
      return toolChoice.mode === 'required'
    default:
      return false
  }
}

/** The request without its choice, whose effect the list of tools has instead (decisions.md 74). */
function applyToolChoice(request: NormalizedRequest): NormalizedRequest {
  const { toolChoice, ...rest } = request
  if (toolChoice === undefined || toolChoice.type === 'auto') return rest
  const { functions, hosted } = selectCallableTools(request.tools, toolChoice)
  return { ...rest, tools: [...functions, ...hosted] }
}

/** A client that refuses several calls gets the first call of a response from the gateway itself (decisions.md 38). */
function omitParallelCalls(request: NormalizedRequest): Omission {
  const { parallelToolCalls, ...rest } = request
  return { request: rest, paths: parallelToolCalls === 'requested' ? [fieldOf(request, 'parallelToolCalls')] : [] }
}

/** The effort word that switches reasoning off: it asks for nothing where no effort is sent. */
const NO_REASONING = 'none'

function omitEffort(request: NormalizedRequest): Omission {
  const { effort, budgetTokens: _budget, ...wishes } = request.reasoning ?? {}
  return {
    request: { ...request, reasoning: wishes },
    paths: effort === NO_REASONING ? [] : [fieldOf(request, 'reasoning')]
  }
}

function findStoredState(request: NormalizedRequest): string | undefined {
  const { previousResponseId, store } = request.conversation ?? {}
  if (previousResponseId !== undefined) return fieldOf(request, 'previousResponse')
  return store === true ? fieldOf(request, 'store') : undefined
}

function fieldOf({ fieldPaths }: NormalizedRequest, name: FieldName): string {
  return fieldPaths[name] ?? ''
}
