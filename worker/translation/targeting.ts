// What a call to an alias with several deployments needs to be sent to any of them (decisions.md 116). It is written once, for the first
// target; the others differ in the path and in the name of the model.

import { randomUUID } from 'node:crypto'
import type { TargetRoute } from '../bridge/resolve-route.ts'
import { isJsonObject, type JsonObject, NORMALIZED_VERSION, type NormalizedRequest } from '../normalized/index.ts'
import type { ProviderFace, WrittenPost } from '../protocols/provider-face.ts'
import { clientFaces } from '../protocols/registry.ts'
import type { JsonEdits, Place } from '../protocols/shared/json/edits.ts'

/** Plain data that may cross a thread boundary. */
export interface Targeting {
  /** `describeConversation`, of a chat. */
  conversation?: string
  /** The path of the call for each target, in their order. */
  paths: readonly string[]
  /** Stands in the body in place of the model's name; absent where all targets have the same one. */
  mark?: string
  /** The name of the model on the wire for each target. */
  names?: readonly string[]
}

/** A client cannot know it, so no text of a client contains it. */
const MARK = `model-${randomUUID()}`

/** One wire names a model with its collection. */
const COLLECTION = 'models/'
const IN_COLLECTION = /^(?:models|tunedModels)\//

/** The objects that name the model of a call, on all wires: the body, one inside of it, or each request of a batch. */
const INNER_OBJECTS = ['generateContentRequest', 'generate_content_request']

interface NamedCall {
  body: JsonObject
  /** The changes of a client's own body. */
  edits?: JsonEdits | undefined
}

/** A body with a mark in it, and what the mark stands for. */
export interface MarkedBody extends Pick<Targeting, 'mark' | 'names'> {
  body: JsonObject
}

/**
 * Puts a mark in the place of the model's name, where targets have several names for it. Returns what is written in place of the body, and
 * adds the change to those of a client's own body.
 */
export function markModel({ body, edits }: NamedCall, targets: readonly TargetRoute[]): MarkedBody {
  const name = targets[0]?.upstreamModel
  if (name === undefined || targets.every(({ upstreamModel }) => upstreamModel === name)) return { body }
  const marked = { ...body }
  let isInCollection = false
  function markIn(parent: JsonObject, place: Place): void {
    const { model } = parent
    if (model !== name && model !== COLLECTION + name) return
    isInCollection = model !== name
    parent.model = MARK
    edits?.set([...place, 'model'], MARK)
  }
  markIn(marked, [])
  for (const member of INNER_OBJECTS) {
    const inner = marked[member]
    if (!isJsonObject(inner)) continue
    const copy = { ...inner }
    marked[member] = copy
    markIn(copy, [member])
  }
  if (Array.isArray(marked.requests)) {
    marked.requests = marked.requests.map((request, index) => {
      if (!isJsonObject(request)) return request
      const copy = { ...request }
      markIn(copy, ['requests', index])
      return copy
    })
  }
  const names = targets.map(({ upstreamModel: model }) =>
    isInCollection && !IN_COLLECTION.test(model) ? COLLECTION + model : model
  )
  return { body: marked, mark: MARK, names }
}

/** What of a marked body belongs to `Targeting`. */
export function pickMark({ mark, names }: Pick<Targeting, 'mark' | 'names'>): Pick<Targeting, 'mark' | 'names'> {
  return mark === undefined || names === undefined ? {} : { mark, names }
}

const pathsByTargets = new WeakMap<readonly TargetRoute[], Map<string, readonly string[]>>()

/**
 * The path of a call for each target. It follows from the profile's options, the model and the kind of the call alone, so it is computed once.
 * @param kind names the kind of the call.
 * @param write writes any call of this kind.
 */
export function listPaths(
  targets: readonly TargetRoute[],
  kind: string,
  write: (target: TargetRoute) => Pick<WrittenPost, 'path'>
): readonly string[] {
  const byKind = pathsByTargets.get(targets) ?? new Map<string, readonly string[]>()
  pathsByTargets.set(targets, byKind)
  const known = byKind.get(kind)
  if (known !== undefined) return known
  const paths = targets.map(target => write(target).path)
  byKind.set(kind, paths)
  return paths
}

/** The paths of a chat. */
export function listChatPaths(
  targets: readonly TargetRoute[],
  face: ProviderFace,
  { isStream, providerOptions }: { isStream: boolean; providerOptions: Readonly<Record<string, unknown>> }
): readonly string[] {
  return listPaths(targets, isStream ? 'stream' : 'chat', ({ profileId, upstreamModel }) =>
    face.writeChat({ ...ANY_CHAT, isStream }, { upstreamModel }, providerOptions[profileId])
  )
}

/** A chat that every wire can carry. */
const ANY_CHAT: NormalizedRequest = {
  version: NORMALIZED_VERSION,
  requestId: '',
  ...clientFaces.completions.traits,
  isStream: false,
  wantsStreamUsage: false,
  messages: [{ role: 'user', content: [{ type: 'text', text: '?' }] }],
  tools: [],
  usesLegacyFunctions: false,
  sampling: { maxOutputTokens: 1 },
  ignored: {}
}
