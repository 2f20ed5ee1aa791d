// Compares what a request uses with what its route keeps, before any I/O (contracts/bridge.md 7.3): the cell of the support matrix, what
// the alias declares, and what the provider's wire has. A native route has no cell and no declaration to look up.

import { findCell, findRow, matrixRevision, type SupportCell } from '../../shared/support-matrix.ts'
import {
  type ClientProtocol,
  findFeatureUse,
  GatewayError,
  type NormalizedRequest,
  type ProviderAcceptance,
  pathOfMedia,
  type RequestFeature,
  requestFeatures,
  unsupportedSemantic
} from '../normalized/index.ts'
import { publicProtocolOf } from '../protocols/public-protocol.ts'
import type { AdmissionEvidence } from './evidence.ts'
import type { DeclaredCapabilities, ExecutionPlan } from './resolve-route.ts'
import { type ContentUses, scanContent, type Use, uses } from './uses.ts'

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
 * @returns the evidence for logs and records.
 */
export function admitToAlias(
  request: NormalizedRequest,
  capabilities: DeclaredCapabilities,
  cell: SupportCell | undefined
): AdmissionEvidence | undefined {
  const content = scanContent(request)
  const requested = uses.flatMap(use => {
    const path = use.find(request, content)
    return path === undefined ? [] : [{ use, path }]
  })
  if (cell !== undefined) for (const { use, path } of requested) assertKept(use, path, cell)
  for (const { use, path } of requested) assertDeclared(use, path, capabilities)
  assertImagesUsual(content)
  const { maxOutputTokens } = request.sampling
  if (maxOutputTokens !== undefined && maxOutputTokens > capabilities.outputTokensMax) {
    throw unsupportedSemantic(request.fieldPaths.maxOutputTokens, 'output_limit_exceeded')
  }
  return cell === undefined ? undefined : createAdmissionEvidence(cell, requested)
}

function assertKept({ semantics }: Use, path: string, cell: SupportCell): void {
  for (const semantic of semantics) {
    const row = findRow(cell, semantic)
    if (row.disposition === 'unsupported') throw unsupportedSemantic(path, row.reasonId)
  }
}

/** This is also what a conditional row of the cell asks for: its predicate is met by the features of the use. */
function assertDeclared({ features }: Use, path: string, capabilities: DeclaredCapabilities): void {
  const missing = features.find(feature => !capabilities.features.includes(feature))
  if (missing !== undefined) throw unsupportedSemantic(path, `feature_not_declared:${missing}`)
}

function assertImagesUsual({ unusualImage }: ContentUses): void {
  if (unusualImage !== undefined) throw unsupportedSemantic(pathOfMedia(unusualImage), 'image_not_expressed')
}

function createAdmissionEvidence(cell: SupportCell, requested: ReadonlyArray<{ use: Use }>): AdmissionEvidence {
  const predicates = requested.flatMap(({ use }) =>
    use.semantics.flatMap(semantic => findRow(cell, semantic).capabilityPredicate ?? [])
  )
  return {
    schemaVersion: 'gateway.bridge-admission.v1',
    publicProtocol: cell.publicProtocol,
    lossMatrixRevision: matrixRevision,
    predicates: [...new Set(predicates)],
    evidenceIds: cell.evidenceIds
  }
}

/** One shared list: nearly all requests use no feature that their provider ignores. */
const NOTHING_IGNORED: readonly RequestFeature[] = Object.freeze([])

const unsentFeatures = new WeakMap<ProviderAcceptance, readonly RequestFeature[]>()

/**
 * Admits a request to a provider. Raises `unsupported_semantic` with the client's field for a feature that the provider refuses.
 * @returns the features that the request uses and the provider ignores.
 */
export function admitRequest(request: NormalizedRequest, acceptance: ProviderAcceptance): readonly RequestFeature[] {
  let ignored: RequestFeature[] | undefined
  for (const feature of listUnsent(acceptance)) {
    const path = findFeatureUse(request, feature)
    if (path === undefined) continue
    if (acceptance.features[feature] === 'refused') throw refuseFeature(feature, path, acceptance)
    ignored ??= []
    ignored.push(feature)
  }
  return ignored ?? NOTHING_IGNORED
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
