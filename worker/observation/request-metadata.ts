// What records and spans say about a request besides their own fields: how it ended, and which
// configuration led it where (operations.md 8.1; bridge.md 7.7).
import type { AdmissionEvidence, RouteEvidence } from '../bridge/evidence.ts'
import type { ClosedFacts, Lifecycle, RequestView } from './observer.ts'

type Values = Readonly<Record<string, unknown>>

/** The facts of the metadata that many requests have in common. */
export interface CommonFacts {
  readonly lifecycle: Lifecycle
  readonly path: string
  /** Where the name of the model comes from; undefined without a model. */
  readonly modelSource: string | undefined
  readonly evidence: RouteEvidence | undefined
}

/** The metadata of a request that ended; members without a value are undefined. */
export function describeMetadata(request: RequestView, closed: ClosedFacts): Values {
  return { ...describeCommon(readCommonFacts(request, closed)), ...describeOwn(request, closed) }
}

/** Reads them of a request that ended. */
export function readCommonFacts({ path }: RequestView, closed: ClosedFacts): CommonFacts {
  const { lifecycle, facts } = closed
  return { lifecycle, path, modelSource: findModelSource(closed), evidence: facts.evidence }
}

/** The part of the metadata that is equal for requests with equal facts. */
export function describeCommon({ lifecycle, path, modelSource, evidence }: CommonFacts): Values {
  return { lifecycle, path, model_source: modelSource, ...(evidence && describeRoute(evidence)) }
}

/** The part that differs from request to request. */
export function describeOwn(
  { clientRequestId, replayOf }: Pick<RequestView, 'clientRequestId' | 'replayOf'>,
  { facts }: ClosedFacts
): Values {
  return {
    client_request_id: clientRequestId,
    replay_of: replayOf,
    ...(facts.admission && describeAdmission(facts.admission))
  }
}

function findModelSource({ facts }: ClosedFacts): string | undefined {
  if (facts.evidence !== undefined) return 'provider_profile'
  if (facts.model === undefined) return undefined
  return facts.requestedModel === undefined ? 'default' : 'payload'
}

function describeRoute(evidence: RouteEvidence): Values {
  return {
    execution_context_schema_version: evidence.schemaVersion,
    route_reason: evidence.reason,
    config_revision: evidence.configRevision,
    profile_revision: evidence.profileRevision,
    profile_id: evidence.profileId,
    selected_model_id: evidence.publicAlias,
    capability_profile: evidence.capabilityProfile,
    loss_matrix_revision: evidence.lossMatrixRevision
  }
}

function describeAdmission(admission: AdmissionEvidence): Values {
  return {
    admission_schema_version: admission.schemaVersion,
    admission_loss_matrix_revision: admission.lossMatrixRevision,
    admission_predicates: admission.predicates,
    admission_evidence_ids: admission.evidenceIds
  }
}
