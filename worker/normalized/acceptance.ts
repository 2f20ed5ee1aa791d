// What a provider does with the parts of a request that not every wire has, as a declaration that admission compares with the
// request before any I/O.

import type { FilePart, ImagePart } from './content.ts'
import type { FieldName } from './field-paths.ts'
import type { JsonObject } from './json.ts'
import { findNewestTurn, isUserTurn } from './newest-turn.ts'
import type { NormalizedRequest } from './request.ts'

/** The path of the client's field that requests a feature; undefined when the request does not use it. */
type FindUse = (request: NormalizedRequest) => string | undefined

const featureUses = {
  topK: request => useOf(request, 'topK', request.sampling.topK),
  seed: request => useOf(request, 'seed', request.sampling.seed),
  // A penalty of 0 is none: frameworks send it for a parameter that their caller did not set.
  presencePenalty: request => useOf(request, 'presencePenalty', request.sampling.presencePenalty || undefined),
  frequencyPenalty: request => useOf(request, 'frequencyPenalty', request.sampling.frequencyPenalty || undefined),
  user: request => useOf(request, 'user', request.user),
  metadata: request => useOf(request, 'metadata', request.metadata),
  // Any summary is a wish to see the reasoning (decisions.md 78).
  reasoningSummary: ({ reasoning }) => {
    if (reasoning?.summary !== undefined) return 'reasoning.summary'
    return reasoning?.generateSummary === undefined ? undefined : 'reasoning.generate_summary'
  },
  additionalFields: request => useOf(request, 'additionalFields', findMember(request.additionalFields)),
  uploadedFiles: request => {
    const attached = request.messages.find(message => message.uploadedFiles !== undefined)
    return attached?.uploadedFiles?.path ?? useOf(request, 'uploadedFiles', request.uploadedFileIds)
  },
  storedConversation: ({ conversation, fieldPaths }) => {
    if (conversation?.previousResponseId !== undefined) return fieldPaths.previousResponse ?? ''
    return conversation?.store === true ? (fieldPaths.store ?? '') : undefined
  },
  conversation: request => useOf(request, 'conversation', request.conversation?.conversationId),
  hostedTools: ({ tools, fieldPaths }) => {
    const hosted = tools.find(tool => tool.type === 'hosted')
    return hosted === undefined ? undefined : (hosted.path ?? fieldPaths.tools)
  },
  images: request => findPartPath(request, 'image'),
  files: request => findPartPath(request, 'file')
} satisfies Record<string, FindUse>

/** A part of a request that some wires have and others do not. */
export type RequestFeature = keyof typeof featureUses

export const requestFeatures = Object.keys(featureUses) as readonly RequestFeature[]

/** `sent` upstream, `ignored` without effect, or `refused` with an error that names the client's field. */
export type FeatureAcceptance = 'sent' | 'ignored' | 'refused'

/** What one provider face does with every feature. One frozen constant per face. */
export interface ProviderAcceptance {
  readonly features: Readonly<Record<RequestFeature, FeatureAcceptance>>
  /**
   * What cannot be left out without losing content, results or a state is refused, and so is what the client's protocol forbids
   * (decisions.md 69). Absent for the native upstream, where the specification lists what is ignored (specification.md 4.6).
   */
  readonly refusesLoss?: true
  /** The error message for a refused feature, when it is more exact than that the route cannot express it. */
  readonly refusals?: Readonly<Partial<Record<RequestFeature, string>>>
}

/** @returns the path of the client's field that requests the feature, '' when its name is unknown; undefined when it is not requested. */
export function findFeatureUse(request: NormalizedRequest, feature: RequestFeature): string | undefined {
  return featureUses[feature](request)
}

/** The path of the member that holds an image or a file, where the client face names it, else that of the part. */
export function pathOfMedia({ path, member }: ImagePart | FilePart): string {
  return member === undefined ? path : `${path}.${member}`
}

function useOf(request: NormalizedRequest, field: FieldName, value: unknown): string | undefined {
  return value === undefined ? undefined : (request.fieldPaths[field] ?? '')
}

/** A member that asks for something: SDKs send null for a parameter that the caller did not set. */
function findMember(fields: JsonObject | undefined): unknown {
  for (const name in fields) if (fields[name] !== null) return fields[name]
  return undefined
}

/** Only what the newest turn of the user holds itself: a writer describes other media that it cannot send (decisions.md 75). */
function findPartPath({ messages }: NormalizedRequest, type: 'image' | 'file'): string | undefined {
  for (let index = findNewestTurn(messages); index < messages.length; index++) {
    const message = messages[index]
    if (message === undefined || !isUserTurn(message)) continue
    const part = message.content.find(part => part.type === type)
    if (part?.type === 'image' || part?.type === 'file') return pathOfMedia(part)
  }
  return undefined
}
