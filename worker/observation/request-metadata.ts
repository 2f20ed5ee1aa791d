// What records and spans say about a request besides their own fields: how it ended, and which configuration led it where (operations
// contract, section 8.1; bridge contract, section 7.7).
import type { AdmissionEvidence, RouteEvidence } from '../bridge/evidence.ts'
import type { ClosedFacts, RequestView } from './observer.ts'

type Values = Readonly<Record<string, unknown>>

/** The metadata of a request that ended; members without a value are undefined. */
export function describeMetadata(
  request: RequestView,
  closed: ClosedFacts
): Values & { readonly lifecycle: string; readonly path: string } {
  const { evidence, admission } = closed.facts
  return {
    lifecycle: closed.lifecycle,
    path: request.path,
    client_request_id: request.clientRequestId,
    replay_of: request.replayOf,
    model_source: findModelSource(closed),
    ...(evidence && describeRoute(evidence)),
    ...(admission && describeAdmission(admission))
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
