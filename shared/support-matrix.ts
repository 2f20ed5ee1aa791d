// The support matrix of this build: 16 cells of client protocol and provider kind, each with its semantics and their evidence
// (bridge contract, section 5.5). The data describes what is built and proven, not what is planned.
import type { JsonObject } from './json.ts'
import { compareCodePoints } from './json.ts'
import { revisionOf } from './revision.ts'

export const publicProtocols = [
  'anthropic_messages',
  'gemini_generate_content',
  'openai_chat_completions',
  'openai_responses'
] as const
export type PublicProtocol = (typeof publicProtocols)[number]

/** Every kind of provider, in published order. */
export const PROVIDER_KINDS = ['chat_compatible', 'content_compatible', 'messages_compatible', 'native'] as const
export type ProviderKind = (typeof PROVIDER_KINDS)[number]

export const SUPPORT_STATUSES = ['stable', 'technical_preview', 'blocked'] as const
export type SupportStatus = (typeof SUPPORT_STATUSES)[number]

/** The 21 semantics that a route keeps or loses, in published order. */
export const semanticNames = [
  'cancellation',
  'disconnect',
  'files_and_images',
  'hosted_and_provider_native_tools',
  'malformed_upstream_stream',
  'multimodal_inputs',
  'parallel_tool_calls',
  'previous_response_state',
  'reasoning_controls_and_summaries',
  'roles',
  'safety_and_refusal',
  'stop_reasons',
  'stream_lifecycle',
  'structured_output_json_schema',
  'timeout',
  'tool_choice',
  'tool_definitions_and_call_ids',
  'tool_results',
  'usage_cache_tokens',
  'usage_input_output_tokens',
  'usage_reasoning_tokens'
] as const
export type SemanticName = (typeof semanticNames)[number]

export interface SemanticRow {
  readonly semantic: SemanticName
  readonly disposition: 'exact' | 'conditional' | 'unsupported'
  readonly reasonId: string
  readonly evidenceIds: readonly string[]
  readonly capabilityPredicate: string | null
}

export interface SupportCell {
  readonly publicProtocol: PublicProtocol
  readonly upstreamProvider: ProviderKind
  readonly status: SupportStatus
  readonly reasonIds: readonly string[]
  readonly evidenceIds: readonly string[]
  readonly clientVersionWindow: string
  readonly providerVersionWindow: string
  /** All 21, sorted by name. */
  readonly semantics: readonly SemanticRow[]
}

/** The client software that the tests run against each client protocol. */
const clientVersionWindows: Readonly<Record<PublicProtocol, string>> = {
  anthropic_messages: 'anthropic-node==1.12.0',
  gemini_generate_content: 'google-genai-node==3.1.0',
  openai_chat_completions: 'openai-node==7.57.0',
  openai_responses: 'openai-node==7.57.0'
}

type Disposition = SemanticRow['disposition']

/** How this build treats a semantic; `not_in_public_protocol` when the client protocol does not have it. */
type Treatment = Disposition | 'not_in_public_protocol'

/** The treatments on the native upstream. All four client protocols share them because one pipeline serves them. */
const nativeTreatments: Readonly<Record<SemanticName, Treatment>> = {
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
  usage_reasoning_tokens: 'unsupported'
}

interface NativeCell {
  readonly reasonId: string
  /** The test suites that prove the cell, in `test/end-to-end` and `test/conformance`. */
  readonly evidenceIds: readonly string[]
  readonly treatments: Readonly<Record<SemanticName, Treatment>>
}

/** The cells that this build can execute, by client protocol. */
const nativeCells: Readonly<Record<PublicProtocol, NativeCell>> = {
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
    reasonId: 'normalized_responses_parity_incomplete',
    evidenceIds: ['CLIENT-OPENAI-RESPONSES', 'CONFORMANCE-RESPONSES'],
    treatments: { ...nativeTreatments, previous_response_state: 'conditional' }
  }
}

/** The 16 cells of this build, in published order. */
export const supportMatrix: readonly SupportCell[] = Object.freeze(
  publicProtocols.flatMap(publicProtocol =>
    PROVIDER_KINDS.map(upstreamProvider =>
      upstreamProvider === 'native'
        ? createNativeCell(publicProtocol)
        : createBlockedCell(publicProtocol, upstreamProvider)
    )
  )
)

/** Revision of the matrix of this build; it changes only between builds. */
export const matrixRevision: string = computeMatrixRevision(supportMatrix)

export function computeMatrixRevision(cells: readonly SupportCell[]): string {
  const content = { schema_version: 'gateway.bridge-loss-matrix.v1', cells: sortCells(cells).map(writeSupportCell) }
  return revisionOf(content, { keepNulls: true })
}

/** One cell in the form of the machine documents. */
export function writeSupportCell(cell: SupportCell): JsonObject {
  return {
    public_protocol: cell.publicProtocol,
    upstream_provider: cell.upstreamProvider,
    status: cell.status,
    reason_ids: cell.reasonIds,
    evidence_ids: cell.evidenceIds,
    client_version_window: cell.clientVersionWindow,
    provider_version_window: cell.providerVersionWindow,
    semantics: [...cell.semantics]
      .sort((left, right) => compareCodePoints(left.semantic, right.semantic))
      .map(row => ({
        semantic: row.semantic,
        disposition: row.disposition,
        reason_id: row.reasonId,
        evidence_ids: row.evidenceIds,
        capability_predicate: row.capabilityPredicate
      }))
  }
}

/** The row of a semantic that is lost, with the reason. */
export function createUnsupportedRow(semantic: SemanticName, reasonId: string): SemanticRow {
  return { semantic, disposition: 'unsupported', reasonId, evidenceIds: [], capabilityPredicate: null }
}

/** A cell that refuses every request. */
export function createBlockedCell(
  publicProtocol: PublicProtocol,
  upstreamProvider: ProviderKind,
  clientVersionWindow: string = clientVersionWindows[publicProtocol]
): SupportCell {
  return {
    publicProtocol,
    upstreamProvider,
    status: 'blocked',
    reasonIds: ['route_not_integrated'],
    evidenceIds: [],
    clientVersionWindow,
    providerVersionWindow: 'not-integrated',
    semantics: semanticNames.map(semantic => createUnsupportedRow(semantic, 'route_not_integrated'))
  }
}

function createNativeCell(publicProtocol: PublicProtocol): SupportCell {
  const { reasonId, evidenceIds, treatments } = nativeCells[publicProtocol]
  return {
    publicProtocol,
    upstreamProvider: 'native',
    status: 'technical_preview',
    reasonIds: [reasonId],
    evidenceIds,
    clientVersionWindow: clientVersionWindows[publicProtocol],
    providerVersionWindow: 'native-rest-v1-v2',
    semantics: semanticNames.map(semantic => createNativeRow(semantic, treatments[semantic], evidenceIds))
  }
}

function createNativeRow(semantic: SemanticName, treatment: Treatment, evidenceIds: readonly string[]): SemanticRow {
  switch (treatment) {
    case 'exact':
      return {
        semantic,
        disposition: treatment,
        reasonId: 'hermetic_facade_evidence',
        evidenceIds,
        capabilityPredicate: null
      }
    case 'conditional':
      return {
        semantic,
        disposition: treatment,
        reasonId: 'requires_reviewed_capability',
        evidenceIds,
        capabilityPredicate: `capability.${semantic}`
      }
    case 'not_in_public_protocol':
      return createUnsupportedRow(semantic, 'not_in_public_protocol')
    default:
      return createUnsupportedRow(semantic, 'semantic_not_proven')
  }
}

function sortCells(cells: readonly SupportCell[]): SupportCell[] {
  return [...cells].sort(
    (left, right) =>
      compareCodePoints(left.publicProtocol, right.publicProtocol) ||
      compareCodePoints(left.upstreamProvider, right.upstreamProvider)
  )
}
