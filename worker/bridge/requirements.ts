// What a request requires of its route: for each requirement the rows of the support matrix that
// must keep it, the features that an alias must declare for it, and the client's field that asks
// for it (bridge.md 7.3 and 7.4).

import { BASE_FEATURES } from '../../shared/profile.ts'
import type { SemanticName } from '../../shared/support-vocabulary.ts'
import {
  type ContentPart,
  type FieldName,
  type FilePart,
  findNewestTurn,
  type ImagePart,
  isUserTurn,
  type NormalizedRequest,
  pathOfMedia,
  type Sampling
} from '../normalized/index.ts'

export interface Requirement {
  readonly semantics: readonly SemanticName[]
  readonly features: readonly string[]
  /** Only earlier turns ask for it: a history never fails a request, so an alias that does not declare it gets it all the same. */
  readonly isHistory?: true
  /** The path of the client's field, '' where the protocol has none; undefined when the request does not require it. */
  find(request: NormalizedRequest, content: ContentSummary): string | undefined
}

/** What the messages of a request hold, found in one pass. */
export interface ContentSummary {
  hasText: boolean
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
  { semantics: [], features: ['generation_controls'], find: findGenerationControl },
  {
    semantics: ['tool_definitions_and_call_ids'],
    features: ['function_tools'],
    find: ({ tools, fieldPaths }) => (tools.some(tool => tool.type === 'function') ? fieldPaths.tools : undefined)
  },
  {
    semantics: ['hosted_and_provider_native_tools'],
    features: [],
    find: ({ tools, fieldPaths }) => {
      const tool = tools.find(one => one.type !== 'function')
      return tool === undefined ? undefined : (tool.path ?? fieldPaths.tools)
    }
  },
  {
    semantics: ['tool_choice'],
    features: ['tool_choice'],
    find: ({ toolChoice, fieldPaths }) => (toolChoice === undefined ? undefined : fieldPaths.toolChoice)
  },
  {
    semantics: ['tool_results'],
    features: ['tool_results'],
    isHistory: true,
    find: ({ fieldPaths }, { hasResult }) => (hasResult ? fieldPaths.messages : undefined)
  },
  {
    semantics: ['parallel_tool_calls'],
    features: ['parallel_tool_calls'],
    find: request => (request.parallelToolCalls === undefined ? undefined : fieldOf(request, 'parallelToolCalls'))
  },
  {
    semantics: ['structured_output_json_schema'],
    features: ['json_schema_output'],
    find: ({ output, fieldPaths }) => (output?.type === 'json-schema' ? fieldPaths.output : undefined)
  },
  { semantics: ['reasoning_controls_and_summaries'], features: [], find: findReasoning },
  { semantics: ['previous_response_state'], features: [], find: findStoredState },
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
  const found: ContentSummary = { hasText: false, hasResult: false }
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
      // Calls and reasoning of earlier turns ask for nothing.
      return
  }
}

const GENERATION_CONTROLS: ReadonlyArray<keyof Sampling & FieldName> = [
  'temperature',
  'topP',
  'maxOutputTokens',
  'presencePenalty',
  'frequencyPenalty',
  'stop',
  'seed'
]

function findGenerationControl(request: NormalizedRequest): string | undefined {
  const control = GENERATION_CONTROLS.find(name => request.sampling[name] !== undefined)
  return control === undefined ? undefined : fieldOf(request, control)
}

/** The effort word that switches reasoning off: it asks for nothing. */
const NO_REASONING = 'none'

function findReasoning(request: NormalizedRequest): string | undefined {
  const effort = request.reasoning?.effort
  return effort === undefined || effort === NO_REASONING ? undefined : fieldOf(request, 'reasoning')
}

function findStoredState(request: NormalizedRequest): string | undefined {
  const { previousResponseId, store, background } = request.conversation ?? {}
  if (previousResponseId !== undefined) return fieldOf(request, 'previousResponse')
  if (store === true) return fieldOf(request, 'store')
  return background === true ? fieldOf(request, 'background') : undefined
}

function fieldOf({ fieldPaths }: NormalizedRequest, name: FieldName): string {
  return fieldPaths[name] ?? ''
}
