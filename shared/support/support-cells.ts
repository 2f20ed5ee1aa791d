// The cells of the support matrix that this build can execute: what it keeps of each semantic, and
// the test suites that prove it (bridge.md 5.5). The data describes what is built and proven, not
// what is planned. A cell is `stable` when all its rows hold; that all cases of its suites are proven
// is a test.
import type { ProviderKind, PublicProtocol, SemanticName, SemanticRow } from './support-vocabulary.ts'

/** The client software that the tests run against each client protocol. */
export const clientVersionWindows: Readonly<Record<PublicProtocol, string>> = {
  anthropic_messages: 'anthropic-node==1.12.0',
  gemini_generate_content: 'google-genai-node==3.1.0',
  openai_chat_completions: 'openai-node==7.57.0',
  openai_responses: 'openai-node==7.57.0'
}

/** How this build treats a semantic; `not_in_public_protocol` when the client protocol does not have it. */
export type Treatment = SemanticRow['disposition'] | 'not_in_public_protocol'

type Treatments = Readonly<Record<SemanticName, Treatment>>

export interface BuiltCell {
  readonly reasonId: string
  /** The test suites that prove the cell, in `test/end-to-end` and `test/conformance`. */
  readonly evidenceIds: readonly string[]
  readonly treatments: Treatments
}

/** A provider kind that this build executes, with its cell for each client protocol. */
export interface BuiltProvider {
  readonly providerVersionWindow: string
  readonly cells: Readonly<Record<PublicProtocol, BuiltCell>>
}

/** The treatments on the native upstream. All four client protocols share them because one pipeline serves them. */
const nativeTreatments: Treatments = {
  cancellation: 'exact',
  disconnect: 'exact',
  files_and_images: 'conditional',
  hosted_and_provider_native_tools: 'conditional',
  malformed_upstream_stream: 'exact',
  multimodal_inputs: 'conditional',
  parallel_tool_calls: 'conditional',
  previous_response_state: 'not_in_public_protocol',
  reasoning_controls_and_summaries: 'conditional',
  roles: 'exact',
  safety_and_refusal: 'conditional',
  stop_reasons: 'exact',
  stream_lifecycle: 'exact',
  structured_output_json_schema: 'conditional',
  timeout: 'exact',
  tool_choice: 'exact',
  tool_definitions_and_call_ids: 'exact',
  tool_results: 'exact',
  usage_cache_tokens: 'exact',
  usage_input_output_tokens: 'exact',
  usage_reasoning_tokens: 'exact'
}

/**
 * The treatments on the wire of every external kind. Hosted tools belong to one wire; another leaves them out with a notice, and refuses a
 * request that is nothing else (decisions.md 69). What is kept of reasoning controls differs by wire, and the effort needs the feature of
 * the alias (decisions.md 74): chat completions gets the effort, but no summary; the Google GenAI API gets an effort as a level or a budget
 * of thinking, as the model takes it; Anthropic Messages gets effort and budget, and thoughts come back with their signatures.
 */
const externalTreatments: Treatments = { ...nativeTreatments, hosted_and_provider_native_tools: 'unsupported' }

/** On its own wire a body is passed on as it came, with the provider's own tools and every setting of its thinking (decisions.md 72). */
const sameWireTreatments = {
  hosted_and_provider_native_tools: 'conditional',
  reasoning_controls_and_summaries: 'exact'
} as const satisfies Partial<Treatments>

/**
 * A profile of the kind `chat_compatible` may have the Responses wire, which has hosted tools and keeps conversations; the effective
 * capabilities of an alias tell the difference (decisions.md 86).
 */
const chatCompatibleTreatments = {
  hosted_and_provider_native_tools: 'conditional'
} as const satisfies Partial<Treatments>

/** Creates the cells of an external kind; a cell differs from `externalTreatments` where its protocol does. */
const createCells =
  (reasonId: string) =>
  (clientSuite: string, differences: Partial<Treatments> = {}): BuiltCell => ({
    reasonId,
    evidenceIds: [clientSuite, 'CONFORMANCE-BRIDGE'],
    treatments: { ...externalTreatments, ...differences }
  })

const createChatCompatibleCell = createCells('openai_chat_completions_facade')
const createContentCompatibleCell = createCells('content_facade')
const createMessagesCompatibleCell = createCells('messages_facade')

const native: BuiltProvider = {
  providerVersionWindow: 'native-rest-v1-v2',
  cells: {
    anthropic_messages: {
      reasonId: 'cross_protocol_route',
      evidenceIds: ['CLIENT-ANTHROPIC-SDK', 'CONFORMANCE-MESSAGES'],
      treatments: nativeTreatments
    },
    gemini_generate_content: {
      reasonId: 'cross_protocol_route',
      evidenceIds: ['CLIENT-GOOGLE-GENAI-SDK', 'CONFORMANCE-CONTENT'],
      treatments: nativeTreatments
    },
    openai_chat_completions: {
      reasonId: 'baseline_native_chat_conformance',
      evidenceIds: ['CLIENT-OPENAI-SDK', 'CONFORMANCE-COMPLETIONS'],
      treatments: nativeTreatments
    },
    openai_responses: {
      reasonId: 'cross_protocol_route',
      evidenceIds: ['CLIENT-OPENAI-RESPONSES', 'CONFORMANCE-RESPONSES'],
      treatments: { ...nativeTreatments, previous_response_state: 'conditional' }
    }
  }
}

const chatCompatible: BuiltProvider = {
  providerVersionWindow: 'openai-chat-completions-v1;openai-responses-v1',
  cells: {
    anthropic_messages: createChatCompatibleCell('CLIENT-ANTHROPIC-SDK-CHAT-COMPATIBLE', chatCompatibleTreatments),
    gemini_generate_content: createChatCompatibleCell(
      'CLIENT-GOOGLE-GENAI-SDK-CHAT-COMPATIBLE',
      chatCompatibleTreatments
    ),
    openai_chat_completions: createChatCompatibleCell('CLIENT-OPENAI-SDK-CHAT-COMPATIBLE', chatCompatibleTreatments),
    openai_responses: createChatCompatibleCell('CLIENT-OPENAI-RESPONSES-CHAT-COMPATIBLE', {
      ...chatCompatibleTreatments,
      previous_response_state: 'conditional'
    })
  }
}

const contentCompatible: BuiltProvider = {
  providerVersionWindow: 'google-genai-v1beta',
  cells: {
    anthropic_messages: createContentCompatibleCell('CLIENT-ANTHROPIC-SDK-CONTENT-COMPATIBLE'),
    gemini_generate_content: createContentCompatibleCell(
      'CLIENT-GOOGLE-GENAI-SDK-CONTENT-COMPATIBLE',
      sameWireTreatments
    ),
    openai_chat_completions: createContentCompatibleCell('CLIENT-OPENAI-SDK-CONTENT-COMPATIBLE'),
    openai_responses: createContentCompatibleCell('CLIENT-OPENAI-RESPONSES-CONTENT-COMPATIBLE', {
      previous_response_state: 'unsupported'
    })
  }
}

const messagesCompatible: BuiltProvider = {
  providerVersionWindow: 'anthropic-messages-2023-06-01',
  cells: {
    anthropic_messages: createMessagesCompatibleCell('CLIENT-ANTHROPIC-SDK-MESSAGES-COMPATIBLE', sameWireTreatments),
    gemini_generate_content: createMessagesCompatibleCell('CLIENT-GOOGLE-GENAI-SDK-MESSAGES-COMPATIBLE'),
    openai_chat_completions: createMessagesCompatibleCell('CLIENT-OPENAI-SDK-MESSAGES-COMPATIBLE'),
    openai_responses: createMessagesCompatibleCell('CLIENT-OPENAI-RESPONSES-MESSAGES-COMPATIBLE', {
      previous_response_state: 'unsupported'
    })
  }
}

/** The provider kinds that this build executes; the cells of every other kind are blocked. */
export const builtProviders: Readonly<Partial<Record<ProviderKind, BuiltProvider>>> = {
  chat_compatible: chatCompatible,
  content_compatible: contentCompatible,
  messages_compatible: messagesCompatible,
  native
}
