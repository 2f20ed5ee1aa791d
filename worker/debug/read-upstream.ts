// Reads a whole response of a provider as its executor would, without its request.

import { randomUUID } from 'node:crypto'
import { writeJsonBody } from '../../shared/json.ts'
import {
  accumulateEvents,
  GatewayError,
  type JsonObject,
  NORMALIZED_VERSION,
  type NormalizedRequest,
  type NormalizedResponse
} from '../normalized/index.ts'
import type { ApiMode } from '../protocols/provider-face.ts'
import { findProviderFace } from '../protocols/registry.ts'
import { documentTraits } from './normalized/protocols.ts'
import { type DebugEnvironment, findServedProfile, type RouteSelection, type ServedProfile } from './selected-route.ts'

/**
 * The id of the request in place of a real one, from which clients' ids are made
 * (operations.md 10.2).
 */
const PLACEHOLDER_ID = 'normalized'

/** The smallest request for a model. */
export function createPlaceholderRequest(model: string): NormalizedRequest {
  return {
    version: NORMALIZED_VERSION,
    requestId: PLACEHOLDER_ID,
    ...documentTraits,
    model,
    isStream: false,
    wantsStreamUsage: false,
    messages: [{ role: 'user', content: [{ type: 'text', text: '.' }], form: 'text' }],
    tools: [],
    usesLegacyFunctions: false,
    sampling: {},
    ignored: {}
  }
}

interface Candidate extends ServedProfile {
  apiMode: ApiMode
}

/**
 * Reads a response with the face of the selected route, else of the model's route, else with each
 * face that the gateway serves until one can read it. Raises `invalid_request` where none can, and
 * the provider's error in a body that is one.
 */
export function readUpstreamResponse(
  response: JsonObject,
  { model, ...selection }: RouteSelection & { apiMode: ApiMode; model: string; isApiModeGiven: boolean },
  environment: DebugEnvironment
): NormalizedResponse {
  const bytes = writeJsonBody(response)
  let failure: unknown
  for (const candidate of listCandidates(model, selection, environment)) {
    try {
      return readWith(candidate, { bytes, model }, environment)
    } catch (thrown) {
      if (!GatewayError.is(thrown)) throw thrown
      failure ??= thrown
    }
  }
  if (GatewayError.is(failure) && failure.code !== 'provider_protocol_error') throw failure
  const message = 'Expected an upstream response object'
  throw new GatewayError('invalid_request', { message, cause: failure })
}

function listCandidates(
  model: string,
  { alias, profile, apiMode, isApiModeGiven }: RouteSelection & { apiMode: ApiMode; isApiModeGiven: boolean },
  { settings }: DebugEnvironment
): Candidate[] {
  const { routes } = settings
  const { aliases, dynamic } = routes
  const named = alias ?? model
  const ofModel = aliases.get(named)
  const selected =
    profile !== undefined && alias === undefined
      ? [findServedProfile(routes, profile) ?? { profileId: profile, providerKind: '' }]
      : ofModel !== undefined
        ? [ofModel]
        : [...(dynamic === undefined ? [] : [dynamic]), ...aliases.values()]
  const faces = new Map(selected.map((route: ServedProfile) => [`${route.providerKind} ${route.wire ?? ''}`, route]))
  const modes: ApiMode[] = isApiModeGiven ? [apiMode] : apiMode === 'v1' ? ['v1', 'v2'] : ['v2', 'v1']
  return [...faces.values()].flatMap(({ profileId, providerKind, wire }) =>
    modes.map(mode => ({ profileId, providerKind, apiMode: mode, ...(wire !== undefined && { wire }) }))
  )
}

function readWith(
  candidate: Candidate,
  { bytes, model }: { bytes: Uint8Array; model: string },
  { settings, faces }: DebugEnvironment
): NormalizedResponse {
  const face = findProviderFace(faces, candidate)
  const request = createPlaceholderRequest(model)
  const options = settings.providerOptions[candidate.profileId]
  const { reading } = face.writeChat(request, { upstreamModel: model }, options)
  const reader = face.createReader(reading, { status: 200, headers: {} }, { createNonce: randomUUID })
  return accumulateEvents(reader.readBody(bytes))
}
