// The support matrix of this build: 16 cells of client protocol and provider kind, each with its
// semantics and their evidence (bridge.md 5.5). `support-cells.ts` says what is built.
import type { JsonObject } from '../json.ts'
import { compareCodePoints } from '../json.ts'
import { revisionOf } from '../revision.ts'
import { type BuiltProvider, builtProviders, clientVersionWindows, type Treatment } from './support-cells.ts'
import {
  PROVIDER_KINDS,
  type ProviderKind,
  type PublicProtocol,
  publicProtocols,
  type SemanticName,
  type SemanticRow,
  type SupportCell,
  semanticNames
} from './support-vocabulary.ts'

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
  const semantics = semanticNames.map(semantic => createRow(semantic, treatments[semantic], evidenceIds))
  return {
    publicProtocol,
    upstreamProvider,
    status: semantics.every(isHeld) ? 'stable' : 'technical_preview',
    reasonIds: [reasonId],
    evidenceIds,
    clientVersionWindow: clientVersionWindows[publicProtocol],
    providerVersionWindow,
    semantics
  }
}

/** Whether the route loses nothing of this semantic that its client protocol has (bridge.md 5.5). */
function isHeld({ disposition, reasonId }: SemanticRow): boolean {
  return disposition !== 'unsupported' || reasonId === 'not_in_public_protocol'
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
