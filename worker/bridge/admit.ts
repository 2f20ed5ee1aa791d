// Compares what a request uses with what its route keeps, before any I/O (bridge.md 7.3): the cell of the support matrix, what
// the alias declares, and what the provider's wire has. A native route has no cell and no declaration to look up.

import { findCell, findRow, matrixRevision } from '../../shared/support-matrix.ts'
import type { SupportCell } from '../../shared/support-vocabulary.ts'
import {
  type ClientProtocol,
  findFeatureUse,
  GatewayError,
  type NormalizedRequest,
  type ProviderAcceptance,
  type RequestFeature,
  requestFeatures,
  unsupportedSemantic
} from '../normalized/index.ts'
import { publicProtocolOf } from '../protocols/public-protocol.ts'
import type { AdmissionEvidence } from './evidence.ts'
import type { LeftOut } from './left-out.ts'
import { type Requirement, requirements, scanContent } from './requirements.ts'
import type { DeclaredCapabilities, ExecutionPlan } from './resolve-route.ts'

/**
 * Refuses an alias whose cell is blocked, for every operation of its protocol. Raises `unsupported_semantic` with `param` `model`.
 * @returns the cell that decides on the request; undefined for a native route, and for a kind without published cells.
 */
export function admitRoute(
  { capabilities, providerKind }: ExecutionPlan,
  protocol: ClientProtocol,
  lookUp: typeof findCell = findCell
): SupportCell | undefined {
  if (capabilities === undefined) return undefined
  const cell = lookUp(publicProtocolOf(protocol), providerKind)
  if (cell?.status === 'blocked') throw unsupportedSemantic('model', cell.reasonIds[0])
  return cell
}

/**
 * Admits a request to an alias of an external provider: every semantic that it uses must be kept by the cell, and every feature declared by
 * the alias (7.4); its output limit must be within the declared one (7.5). Raises `unsupported_semantic` with the client's field.
 * @param route.isSameWire the provider speaks the client's protocol, so that its wire has all that the client can ask for.
 * @returns the evidence for logs and records.
 */
export function admitToAlias(
  request: NormalizedRequest,
  capabilities: DeclaredCapabilities,
  { cell, isSameWire = false }: { cell: SupportCell | undefined; isSameWire?: boolean }
): AdmissionEvidence | undefined {
  const content = scanContent(request)
  const verdicts = findVerdicts(capabilities, cell)
  const predicates: string[] = []
  let undeclared: { path: string; feature: string } | undefined
  for (const [index, requirement] of requirements.entries()) {
    const path = requirement.find(request, content)
    if (path === undefined) continue
    const { lost, missing, predicates: asked } = verdicts[index] as Verdict
    if (lost !== undefined && !isSameWire) throw unsupportedSemantic(path, lost)
    if (missing !== undefined) undeclared ??= { path, feature: missing }
    for (const predicate of asked) if (!predicates.includes(predicate)) predicates.push(predicate)
  }
  if (undeclared !== undefined) throw unsupportedSemantic(undeclared.path, `feature_not_declared:${undeclared.feature}`)
  const { maxOutputTokens } = request.sampling
  if (maxOutputTokens !== undefined && maxOutputTokens > capabilities.outputTokensMax && !isSameWire) {
    throw unsupportedSemantic(request.fieldPaths.maxOutputTokens, 'output_limit_exceeded')
  }
  if (cell === undefined) return undefined
  return {
    schemaVersion: 'gateway.bridge-admission.v1',
    publicProtocol: cell.publicProtocol,
    lossMatrixRevision: matrixRevision,
    predicates,
    evidenceIds: cell.evidenceIds
  }
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

const NOTHING_ASKED: Verdict = Object.freeze({ lost: undefined, missing: undefined, predicates: Object.freeze([]) })

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
  { features, isHistory, semantics }: Requirement,
  capabilities: DeclaredCapabilities,
  cell: SupportCell | undefined
): Verdict {
  const rows = cell === undefined ? [] : semantics.map(semantic => findRow(cell, semantic))
  const missing = features.find(feature => !capabilities.features.includes(feature))
  if (isHistory === true && missing !== undefined) return NOTHING_ASKED
  return {
    lost: rows.find(({ disposition }) => disposition === 'unsupported')?.reasonId,
    missing,
    predicates: rows.flatMap(({ capabilityPredicate }) => capabilityPredicate ?? [])
  }
}

const unsentFeatures = new WeakMap<ProviderAcceptance, readonly RequestFeature[]>()

/**
 * Admits a request to a provider. Raises `unsupported_semantic` with the client's field for a feature that the provider refuses.
 * @param leftOut gets the fields of the features that the provider ignores.
 */
export function admitRequest(request: NormalizedRequest, acceptance: ProviderAcceptance, leftOut: LeftOut): void {
  for (const feature of listUnsent(acceptance)) {
    const path = findFeatureUse(request, feature)
    if (path === undefined) continue
    if (acceptance.features[feature] === 'refused') throw refuseFeature(feature, path, acceptance)
    leftOut.add(path, `feature_ignored:${feature}`)
  }
}

/** The features that a provider ignores or refuses; computed once per provider, because only these are looked up in a request. */
function listUnsent(acceptance: ProviderAcceptance): readonly RequestFeature[] {
  const known = unsentFeatures.get(acceptance)
  if (known !== undefined) return known
  const unsent = requestFeatures.filter(feature => acceptance.features[feature] !== 'sent')
  unsentFeatures.set(acceptance, unsent)
  return unsent
}

function refuseFeature(feature: RequestFeature, path: string, acceptance: ProviderAcceptance): GatewayError {
  const message = acceptance.refusals?.[feature]
  return new GatewayError('unsupported_semantic', {
    param: path === '' ? undefined : path,
    ...(message === undefined ? {} : { message })
  })
}
