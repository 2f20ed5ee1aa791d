// Compares what a request uses with what the wire of its provider has, before any I/O: features that it has no place for are left out with
// a notice, or refused (decisions.md 69).

import {
  findFeatureUse,
  GatewayError,
  type NormalizedRequest,
  type NormalizedTool,
  type ProviderAcceptance,
  type RequestFeature,
  requestFeatures,
  unsupportedSemantic
} from '../normalized/index.ts'
import type { LeftOut } from './left-out.ts'

const unsentFeatures = new WeakMap<ProviderAcceptance, readonly RequestFeature[]>()

/** The features that a provider ignores or refuses; computed once per provider, because only these are looked up in a request. */
function listUnsent(acceptance: ProviderAcceptance): readonly RequestFeature[] {
  const known = unsentFeatures.get(acceptance)
  if (known !== undefined) return known
  const unsent = requestFeatures.filter(
    feature => acceptance.features[feature] !== 'sent' && !JUDGED_ELSEWHERE.has(feature)
  )
  unsentFeatures.set(acceptance, unsent)
  return unsent
}

/** Tools have rules of their own. */
const JUDGED_ELSEWHERE: ReadonlySet<RequestFeature> = new Set(['hostedTools'])

/**
 * Admits a request to a provider. Raises `unsupported_semantic` with the client's field for a feature that the provider refuses.
 * @param leftOut gets the fields of the features that the provider ignores.
 * @param options.hasBody the client's table of members names additional fields one by one.
 * @returns the request without the features that are left out.
 */
export function admitFeatures(
  request: NormalizedRequest,
  acceptance: ProviderAcceptance,
  leftOut: LeftOut,
  { hasBody = false }: { hasBody?: boolean } = {}
): NormalizedRequest {
  let sent = request
  for (const feature of listUnsent(acceptance)) {
    if (feature === 'additionalFields' && hasBody) continue
    const path = findFeatureUse(request, feature)
    if (path === undefined) continue
    if (acceptance.features[feature] === 'refused') throw refuseFeature(feature, path, acceptance)
    // One member of a client is noted once: the messages protocol names the user inside of the metadata.
    if (feature !== 'user' || !isInsideMetadata(request, acceptance)) leftOut.add(path, `feature_ignored:${feature}`)
    sent = dropFeature(sent, feature)
  }
  if (sent.user !== undefined && isInsideMetadata(request, acceptance)) sent = withoutMember(sent, 'user')
  return admitTools(sent, acceptance, leftOut)
}

function refuseFeature(feature: RequestFeature, path: string, acceptance: ProviderAcceptance): GatewayError {
  const message = acceptance.refusals?.[feature]
  return new GatewayError('unsupported_semantic', {
    param: path === '' ? undefined : path,
    cause: `feature_refused:${feature}`,
    ...(message === undefined ? {} : { message })
  })
}

/** The user that a client names inside of metadata goes where the metadata goes (decisions.md 78). */
function isInsideMetadata({ user, metadata }: NormalizedRequest, { features }: ProviderAcceptance): boolean {
  return user !== undefined && metadata?.user_id === user && features.metadata === 'ignored'
}

function dropFeature(request: NormalizedRequest, feature: RequestFeature): NormalizedRequest {
  switch (feature) {
    case 'topK':
    case 'seed':
    case 'presencePenalty':
    case 'frequencyPenalty': {
      const { [feature]: _dropped, ...sampling } = request.sampling
      return { ...request, sampling }
    }
    case 'user':
    case 'metadata':
    case 'additionalFields':
      return withoutMember(request, feature)
    default:
      return request
  }
}

function withoutMember(
  request: NormalizedRequest,
  member: 'user' | 'metadata' | 'additionalFields'
): NormalizedRequest {
  const { [member]: _dropped, ...rest } = request
  return rest
}

/**
 * Leaves out the tools that no one can call there. Raises `unsupported_semantic` where they are all that an external provider could call,
 * and where the choice demands one of them.
 */
function admitTools(
  request: NormalizedRequest,
  { features, refusesLoss }: ProviderAcceptance,
  leftOut: LeftOut
): NormalizedRequest {
  const isUnsent = (tool: NormalizedTool): boolean =>
    tool.type === 'unsupported' || (tool.type === 'hosted' && features.hostedTools !== 'sent')
  const { tools, toolChoice, fieldPaths } = request
  const [first] = tools.filter(isUnsent)
  if (first === undefined || first.type === 'function') return request
  if (refusesLoss === true) {
    const isForced =
      toolChoice?.type === 'hosted' ||
      (toolChoice?.type === 'allowed' && toolChoice.mode === 'required' && toolChoice.names.length === 0)
    if (isForced) throw unsupportedSemantic(fieldPaths.toolChoice, 'hosted_tool_forced')
    const isAlone = toolChoice?.type !== 'none' && tools.every(isUnsent)
    if (isAlone) throw unsupportedSemantic(first.path ?? fieldPaths.tools, 'hosted_tool_alone')
  }
  for (const tool of tools) {
    if (tool.type === 'function' || !isUnsent(tool)) continue
    const path = tool.path ?? fieldPaths.tools
    leftOut.add(nameEntry(path), 'tool_not_on_this_wire', path)
  }
  return refusesLoss === true ? { ...request, tools: tools.filter(tool => !isUnsent(tool)) } : request
}

/** The entry of the list, where the path is that of the member which names the tool. */
function nameEntry(path: string): string {
  return path.replace(/\]\.(?:type|name)$/, ']')
}
