// The support matrix of this build: 16 cells of client protocol and provider kind, each with its semantics and their evidence
// (bridge contract, section 5.5). `support-cells.ts` says what is built.
import type { JsonObject } from './json.ts'
import { compareCodePoints } from './json.ts'
import { revisionOf } from './revision.ts'
import { type BuiltProvider, builtProviders, clientVersionWindows, type Treatment } from './support-cells.ts'

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

/** The 16 cells of this build, in published order. */
export const supportMatrix: readonly SupportCell[] = Object.freeze(
  publicProtocols.flatMap(publicProtocol =>
    PROVIDER_KINDS.map(upstreamProvider => {
      const built = builtProviders[upstreamProvider]
      return built === undefined
        ? createBlockedCell(publicProtocol, upstreamProvider)
        : createBuiltCell(publicProtocol, upstreamProvider, built)
    })
  )
)

const cellsByProtocol: ReadonlyMap<PublicProtocol, ReadonlyMap<string, SupportCell>> = new Map(
  publicProtocols.map(protocol => {
    const cells = supportMatrix.filter(({ publicProtocol }) => publicProtocol === protocol)
    return [protocol, new Map(cells.map(cell => [cell.upstreamProvider, cell]))]
  })
)

/**
 * The cell of a client protocol and a provider kind. A kind that the matrix does not list, such as one that only tests register, has no
 * cell: nothing is published about it.
 */
export function findCell(publicProtocol: PublicProtocol, providerKind: string): SupportCell | undefined {
  return cellsByProtocol.get(publicProtocol)?.get(providerKind)
}

/** Whether this build executes the kind for some client protocol: false only where the matrix blocks it for all of them. */
export function isKindExecuted(providerKind: string): boolean {
  return publicProtocols.some(publicProtocol => findCell(publicProtocol, providerKind)?.status !== 'blocked')
}

/** The row of a semantic. Every cell has all of them. */
export function findRow(cell: SupportCell, semantic: SemanticName): SemanticRow {
  const row = cell.semantics.find(candidate => candidate.semantic === semantic)
  if (row === undefined) throw new Error(`The cell has no row for ${semantic}.`)
  return row
}

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

function createBuiltCell(
  publicProtocol: PublicProtocol,
  upstreamProvider: ProviderKind,
  { providerVersionWindow, cells }: BuiltProvider
): SupportCell {
  const { reasonId, evidenceIds, treatments } = cells[publicProtocol]
  return {
    publicProtocol,
    upstreamProvider,
    status: 'technical_preview',
    reasonIds: [reasonId],
    evidenceIds,
    clientVersionWindow: clientVersionWindows[publicProtocol],
    providerVersionWindow,
    semantics: semanticNames.map(semantic => createRow(semantic, treatments[semantic], evidenceIds))
  }
}

function createRow(semantic: SemanticName, treatment: Treatment, evidenceIds: readonly string[]): SemanticRow {
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
