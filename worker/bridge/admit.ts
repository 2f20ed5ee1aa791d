// Compares what a request uses with what its alias keeps, before any I/O (bridge.md 7.3): the cell of the support matrix, and what the alias
// declares. A native route has no cell and no declaration to look up.

import { findCell, findRow, matrixRevision } from '../../shared/support/support-matrix.ts'
import type { SupportCell } from '../../shared/support/support-vocabulary.ts'
import {
  type ClientProtocol,
  type NormalizedRequest,
  type ProviderAcceptance,
  unsupportedSemantic
} from '../normalized/index.ts'
import { publicProtocolOf } from '../protocols/public-protocol.ts'
import type { AdmissionEvidence } from './evidence.ts'
import type { LeftOut } from './left-out.ts'
import { nameModel } from './name-model.ts'
import { type Requirement, requirements, scanContent } from './requirements.ts'
import type { DeclaredCapabilities, ExecutionPlan } from './resolve-route.ts'

/**
 * Refuses an alias whose cell is blocked, for every operation of its protocol. Raises `unsupported_semantic` with `param` `model`.
 * @returns the cell that decides on the request; undefined for a native route, and for a kind without published cells.
 */
export function admitRoute(
  { capabilities, providerKind, publicModel }: ExecutionPlan,
  protocol: ClientProtocol,
  lookUp: typeof findCell = findCell
): SupportCell | undefined {
  if (capabilities === undefined) return undefined
  const cell = lookUp(publicProtocolOf(protocol), providerKind)
  if (cell?.status === 'blocked') throw nameModel(unsupportedSemantic('model', cell.reasonIds[0]), publicModel)
  return cell
}

export interface AdmittedToAlias {
  /** Without what the alias does not declare. */
  request: NormalizedRequest
  /** For logs and records; absent for a kind without published cells. */
  evidence?: AdmissionEvidence
}

export interface AdmissionRoute {
  cell: SupportCell | undefined
  acceptance: Pick<ProviderAcceptance, 'features'>
  /** The provider gets the client's own body, and its wire has all that the client can ask for. */
  isSameWire?: boolean
}

/**
 * Admits a request to an alias of an external provider: what the cell does not keep or the alias does not declare is left out with a notice,
 * or refused where that would lose more than a wish (decisions.md 69). Raises `unsupported_semantic` with the client's field.
 */
export function admitToAlias(
  request: NormalizedRequest,
  capabilities: DeclaredCapabilities,
  { cell, acceptance, isSameWire = false }: AdmissionRoute,
  leftOut: LeftOut
): AdmittedToAlias {
  const content = scanContent(request)
  const verdicts = findVerdicts(capabilities, cell)
  const predicates: string[] = []
  const unmet: Array<{ path: string; requirement: Requirement; reasonId: string }> = []
  for (const [index, requirement] of requirements.entries()) {
    const path = requirement.find(request, content)
    if (path === undefined) continue
    if (requirement.keptBy !== undefined && acceptance.features[requirement.keptBy] === 'sent') continue
    const { lost, missing, predicates: asked } = verdicts[index] as Verdict
    // The row is conditional where the kind has another wire that keeps it.
    const unkept =
      asked.length > 0 && requirement.keptBy !== undefined ? `feature_refused:${requirement.keptBy}` : undefined
    const reasonId =
      (isSameWire ? undefined : (lost ?? unkept)) ??
      (missing === undefined ? undefined : `feature_not_declared:${missing}`)
    if (reasonId !== undefined) unmet.push({ path, requirement, reasonId })
    else for (const predicate of asked) if (!predicates.includes(predicate)) predicates.push(predicate)
  }
  // What is refused for a reason comes before what is merely left out.
  for (const { path, requirement, reasonId } of unmet) {
    if (requirement.omit === undefined) throw unsupportedSemantic(path, reasonId)
  }
  let sent = request
  for (const { requirement, reasonId } of isSameWire ? [] : unmet) {
    const omission = requirement.omit?.(sent)
    if (omission === undefined) continue
    for (const path of omission.paths) leftOut.add(path, reasonId)
    sent = omission.request
  }
  if (cell === undefined) return { request: sent }
  const evidence: AdmissionEvidence = {
    schemaVersion: 'gateway.bridge-admission.v1',
    publicProtocol: cell.publicProtocol,
    lossMatrixRevision: matrixRevision,
    predicates,
    evidenceIds: cell.evidenceIds
  }
  return { request: sent, evidence }
}

/** What a cell and an alias make of one requirement. */
interface Verdict {
  /** The reason of the row that does not keep it. */
  lost: string | undefined
  /**
   * The feature that the alias does not declare. This is also what a conditional row of the cell asks for: its predicate is met by the
   * features of the requirement.
   */
  missing: string | undefined
  predicates: readonly string[]
}

const verdictsByAlias = new WeakMap<DeclaredCapabilities, Map<SupportCell | undefined, readonly Verdict[]>>()

/** The verdicts in the order of `requirements`; computed once, because neither cells nor aliases change while the gateway runs. */
function findVerdicts(capabilities: DeclaredCapabilities, cell: SupportCell | undefined): readonly Verdict[] {
  const byCell = verdictsByAlias.get(capabilities) ?? new Map<SupportCell | undefined, readonly Verdict[]>()
  const known = byCell.get(cell)
  if (known !== undefined) return known
  const verdicts = requirements.map(requirement => judge(requirement, capabilities, cell))
  byCell.set(cell, verdicts)
  verdictsByAlias.set(capabilities, byCell)
  return verdicts
}

function judge(
  { features, semantics }: Requirement,
  capabilities: DeclaredCapabilities,
  cell: SupportCell | undefined
): Verdict {
  const rows = cell === undefined ? [] : semantics.map(semantic => findRow(cell, semantic))
  return {
    lost: rows.find(({ disposition }) => disposition === 'unsupported')?.reasonId,
    missing: features.find(feature => !capabilities.features.includes(feature)),
    predicates: rows.flatMap(({ capabilityPredicate }) => capabilityPredicate ?? [])
  }
}
