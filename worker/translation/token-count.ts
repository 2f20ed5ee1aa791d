// Translates a token count in one pure step each way. The provider counts each text, or the gateway where the provider cannot; the sum is
// the response. A provider that speaks the client's protocol counts the client's own body.

import { admitRoute } from '../bridge/admit.ts'
import { nameModel } from '../bridge/name-model.ts'
import { listWithoutEffect } from '../bridge/note-members.ts'
import { type ExecutionPlan, readForRoute, resolveRoute, type TargetRoute } from '../bridge/resolve-route.ts'
import { unsupportedSemantic } from '../normalized/index.ts'
import type { ModelRequest } from '../protocols/client-face.ts'
import type { SameWireCodec, WrittenPost } from '../protocols/provider-face.ts'
import { findProviderFace, tokenCountFaces } from '../protocols/registry.ts'
import { editBody } from '../protocols/shared/json/spans.ts'
import { readModelAlone } from '../protocols/shared/model.ts'
import type { ResourceCall } from '../providers/types.ts'
import { type BodyWithTexts, readBodyWithTexts, readResponseJson } from './json-body.ts'
import { loadDescriptions } from './load-descriptions.ts'
import { writeBody } from './received-texts.ts'
import { listPaths, type MarkedBody, markModel, pickMark } from './targeting.ts'
import type {
  TaskEnvironment,
  TokenCountJob,
  TokenCountResponseJob,
  TranslatedTokenCount,
  WrittenResponse
} from './types.ts'

/**
 * Reads the body of a token count and writes the provider's call; without texts there is none. For
 * a provider that cannot count it resolves with the gateway's own count (decisions.md 17). Rejects
 * with `GatewayError` with the path of the invalid field, the errors of the route, and
 * `unsupported_semantic` where the profile switches counting off.
 */
export async function translateTokenCount(
  job: TokenCountJob,
  { settings, faces, estimateTokens }: TaskEnvironment
): Promise<TranslatedTokenCount> {
  const face = tokenCountFaces[job.protocol]
  const isEmpty = face.allowsEmptyBody === true && job.bytes.byteLength === 0
  const received: BodyWithTexts = isEmpty ? { body: {} } : readBodyWithTexts(job.bytes)
  const { body } = received
  const sources = { routes: settings.routes, faces, scope: job.scope }
  const findPlan = (request: ModelRequest) => resolveRoute(request, job.apiMode, sources)
  const { request, texts, extraHeaders } = readForRoute(
    () => face.read(body, job.context),
    () => findPlan(readModelAlone(body, job.context))
  )
  const plan = findPlan(request)
  admitRoute(plan, job.protocol)
  if (plan.isTokenCountOff) throw nameModel(unsupportedSemantic('model', 'token_counting_off'), plan.publicModel)
  const count = texts.length
  const described = job.description && (await describe(request, job.protocol, texts))
  const { countTokens, sameWire } = findProviderFace(faces, plan)
  const options = settings.providerOptions[plan.profileId]
  const own = sameWire?.protocol === job.protocol && !isEmpty ? sameWire.tokenCount : undefined
  const read = { plan, count, extraHeaders, requestedModel: request.model, ...described }
  const { targets } = plan
  const optionsOf = ({ profileId }: TargetRoute) => settings.providerOptions[profileId]
  if (own !== undefined) {
    const paths =
      targets &&
      listPaths(targets, 'own tokens', target =>
        own.write({}, { upstreamModel: target.upstreamModel, isStream: false }, optionsOf(target))
      )
    return { ...read, leftOut: [], ...editCount(job, own, { ...received, plan, options, paths }), isSameWire: true }
  }
  if (request.refusal !== undefined) throw request.refusal
  const { refusesUnsupported } = job.context
  const common = { ...read, leftOut: listWithoutEffect({ body, members: face.members }, { plan, refusesUnsupported }) }
  if (countTokens === undefined) {
    const estimate = await estimateTokens({ model: plan.upstreamModel, texts })
    return { ...common, estimate }
  }
  if (count === 0) return common
  const written = countTokens.write({ model: plan.upstreamModel, input: texts }, options)
  const marked: MarkedBody = targets === undefined ? { body: written.body } : markModel(written, targets)
  const call = describeCall(plan, written, written.bytes ?? writeBody(marked.body, received.texts))
  if (targets === undefined) return { ...common, call }
  const paths = listPaths(targets, 'tokens', target =>
    countTokens.write({ model: target.upstreamModel, input: [] }, optionsOf(target))
  )
  return { ...common, call, targeting: { paths, ...pickMark(marked) } }
}

type SameWireCount = NonNullable<SameWireCodec<unknown, unknown>['tokenCount']>

/** The call with the client's own body: images, tools and members of the wire count too. */
function editCount(
  { bytes, context }: TokenCountJob,
  sameWire: SameWireCount,
  {
    body,
    texts,
    plan,
    options,
    paths
  }: BodyWithTexts & { plan: ExecutionPlan; options: unknown; paths: readonly string[] | undefined }
): Pick<TranslatedTokenCount, 'call' | 'targeting'> {
  const target = { upstreamModel: plan.upstreamModel, isStream: false, wireHeaders: context.wireHeaders }
  const written = sameWire.write(body, target, options)
  const marked: MarkedBody = plan.targets === undefined ? { body: written.body } : markModel(written, plan.targets)
  const call = describeCall(plan, written, editBody(bytes, body, written.edits) ?? writeBody(marked.body, texts))
  return paths === undefined ? { call } : { call, targeting: { paths, ...pickMark(marked) } }
}

function describeCall(plan: ExecutionPlan, { method, path, headers }: WrittenPost, body: Uint8Array): ResourceCall {
  return { plan, operation: 'tokens', method, path, headers, body }
}

async function describe(
  request: ModelRequest,
  protocol: TokenCountJob['protocol'],
  texts: readonly string[]
): Promise<Pick<TranslatedTokenCount, 'description'>> {
  const { describeTokenCount } = await loadDescriptions()
  return { description: describeTokenCount(request, protocol, texts) }
}

/** Reads the provider's counts and writes their sum; the response to a client of its own wire is the provider's. Raises `provider_protocol_error` for a response that cannot be used. */
export function translateTokenCountResponse(job: TokenCountResponseJob, { faces }: TaskEnvironment): WrittenResponse {
  const { countTokens, sameWire } = findProviderFace(faces, job.plan)
  if (job.isSameWire === true && sameWire?.tokenCount !== undefined) {
    sameWire.tokenCount.read(readResponseJson(job.bytes))
    return { body: job.bytes }
  }
  if (countTokens === undefined) throw new Error('The provider of a token count has no codec for it.')
  const counts = countTokens.read(readResponseJson(job.bytes), { count: job.count })
  return writeTokenCount(job.protocol, sum(counts))
}

/** Writes the response for a known number of tokens. */
export function writeTokenCount(protocol: TokenCountJob['protocol'], totalTokens: number): WrittenResponse {
  return { body: JSON.stringify(tokenCountFaces[protocol].writeResponse(totalTokens)) }
}

/** Tells a client that the number is not the provider's. */
const ESTIMATE_HEADERS = { 'x-gateway-token-count': 'estimate' }

/** Writes the response for the gateway's own count. */
export function writeTokenEstimate(protocol: TokenCountJob['protocol'], estimate: number): WrittenResponse {
  return { ...writeTokenCount(protocol, estimate), headers: ESTIMATE_HEADERS }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
