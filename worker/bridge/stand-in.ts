// A request for admission in place of one that its client face refuses to read. What a client of the provider's own wire gets wrong in its
// own protocol is the provider's to say (decisions.md 72), but what the alias declares holds all the same.

import {
  type ClientProtocol,
  type ContentPart,
  type ErrorCode,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  NORMALIZED_VERSION,
  type NormalizedRequest
} from '../normalized/index.ts'
import type { ProtocolTraits, ReadContext } from '../protocols/client-face.ts'
import type { ProviderFace, SameWireFacts } from '../protocols/provider-face.ts'
import { clientFaces, findProviderFace, type ProviderFaces } from '../protocols/registry.ts'
import { readModelAlone } from '../protocols/shared/model.ts'
import type { ExecutionPlan } from './resolve-route.ts'

/** A body that its client face refuses, and the route that decides whether it goes on all the same. */
export interface RefusedBody {
  protocol: ClientProtocol
  body: JsonObject
  context: ReadContext
  /** Resolves the route of the body's model. */
  findPlan: () => ExecutionPlan
}

/** Only what decides on admission is here. */
export interface StandIn extends NormalizedRequest {
  isStandIn: true
}

/** The errors of members that are wrong, or that the gateway does not know. */
const SHAPE_CODES: ReadonlySet<ErrorCode> = new Set([
  'invalid_request',
  'unsupported_parameter',
  'unsupported_response_format',
  'unsupported_semantic'
])

/**
 * Fields whose refusal is the gateway's own. A thread of messages is stored by one deployment, and an SDK that is told so repeats the whole
 * history.
 */
const OWN_REFUSALS: ReadonlySet<string | undefined> = new Set(['model', 'thread'])

/** The request for a body with a wrong shape whose provider speaks the client's protocol. Raises any other error again. */
export function standInFor(
  thrown: unknown,
  { protocol, body, context, findPlan }: RefusedBody,
  faces: ProviderFaces
): NormalizedRequest {
  if (!GatewayError.is(thrown) || !SHAPE_CODES.has(thrown.code) || OWN_REFUSALS.has(thrown.param)) throw thrown
  const sameWire = findSameWire(findPlan, faces)
  if (sameWire?.protocol !== protocol) throw thrown
  return createStandIn(body, sameWire.readFacts(body), clientFaces[protocol].traits, context)
}

/** Undefined for a model without a route: the wrong shape is what its client is told. */
function findSameWire(findPlan: () => ExecutionPlan, faces: ProviderFaces): ProviderFace['sameWire'] {
  try {
    return findProviderFace(faces, findPlan()).sameWire
  } catch (thrown) {
    if (GatewayError.is(thrown)) return undefined
    throw thrown
  }
}

/** The request as far as it decides on admission: its model, streaming, tools, and an image or a file. */
function createStandIn(
  body: JsonObject,
  { isStream, wantsStreamUsage, hasTools }: SameWireFacts,
  traits: ProtocolTraits,
  context: ReadContext
): StandIn {
  const { fieldPaths } = traits
  const media = findMedia(body[fieldPaths.messages])
  return {
    version: NORMALIZED_VERSION,
    isStandIn: true,
    requestId: context.requestId,
    ...traits,
    ...readModelAlone(body, context),
    isStream: context.path?.isStream ?? isStream,
    wantsStreamUsage,
    messages: media === undefined ? [] : [{ role: 'user', content: [createPart(media, fieldPaths.messages)] }],
    tools: hasTools ? [{ type: 'function', name: '', parameters: {} }] : [],
    usesLegacyFunctions: false,
    sampling: {},
    ignored: {},
    ...(context.turn !== undefined && { turn: context.turn })
  }
}

function createPart(type: Media, path: string): ContentPart {
  return { type, source: { kind: 'url', url: '' }, path }
}

type Media = 'image' | 'file'

/** Types of parts that are media, in the protocols whose parts have a type. */
const TYPES: ReadonlyMap<unknown, Media> = new Map<unknown, Media>([
  ['image', 'image'],
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['document', 'file'],
  ['file', 'file'],
  ['input_audio', 'file'],
  ['input_file', 'file']
])

/** Members of parts without a type that hold media. */
const MEMBERS = ['inlineData', 'inline_data', 'fileData', 'file_data']

/** The first image or file of a conversation. */
function findMedia(value: JsonValue | undefined): Media | undefined {
  if (Array.isArray(value)) return findFirst(value)
  if (!isJsonObject(value)) return undefined
  const own = TYPES.get(value.type)
  if (own !== undefined) return own
  return MEMBERS.some(name => isJsonObject(value[name])) ? 'image' : findFirst(Object.values(value))
}

function findFirst(values: readonly (JsonValue | undefined)[]): Media | undefined {
  for (const value of values) {
    const found = findMedia(value)
    if (found !== undefined) return found
  }
  return undefined
}
