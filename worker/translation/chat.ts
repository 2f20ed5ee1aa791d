// Translates a chat in one pure step each way: a client's body into a provider's body, and a large response of the provider into the
// client's body.

import { nameModel } from '../bridge/name-model.ts'
import { planChat } from '../bridge/plan-chat.ts'
import { readForRoute, resolveRoute } from '../bridge/resolve-route.ts'
import { standInFor } from '../bridge/stand-in.ts'
import { assertBounded, type JsonObject, type NormalizedRequest } from '../normalized/index.ts'
import { importOnce } from '../performance/import-once.ts'
import type { ReadContext } from '../protocols/client-face.ts'
import { clientFaces, findProviderFace } from '../protocols/registry.ts'
import { editBody } from '../protocols/shared/json/spans.ts'
import { readModelAlone } from '../protocols/shared/model.ts'
import type { ChatCall } from '../providers/types.ts'
import { describeConversation } from '../targets/conversation.ts'
import { readBodyWithTexts } from './json-body.ts'
import { loadDescriptions } from './load-descriptions.ts'
import { writeBody } from './received-texts.ts'
import { dropWrittenParts } from './request-summary.ts'
import { listChatPaths, type MarkedBody, markModel, pickMark } from './targeting.ts'
import type { ChatJob, ChatResponseJob, TaskEnvironment, TranslatedChat, WrittenResponse } from './types.ts'

/**
 * Reads a chat body of a client protocol, resolves its route and writes it on the provider's wire.
 * Raises `GatewayError` with the path of the invalid field, before anything is sent to the provider.
 */
export function translateChat(job: ChatJob, { settings, faces }: TaskEnvironment): TranslatedChat {
  const { protocol, apiMode } = job
  const { body, texts } = readBodyWithTexts(job.bytes)
  const request = readChat(job, body, { settings, faces }, { ...job.context, bytes: job.bytes })
  const { wireHeaders, compactionKey, refusesUnsupported } = job.context
  const bodyBytes = job.bytes.byteLength
  const { scope } = job
  const read = { protocol, apiMode, scope, request, body, bodyBytes, wireHeaders, compactionKey, refusesUnsupported }
  const { plan, written, edits, leftOut } = planChat(read, settings, faces)
  const { attachments, headers, path, reading } = written
  const { targets } = plan
  const marked: MarkedBody =
    targets === undefined ? { body: written.body } : markModel({ body: written.body, edits }, targets)
  const edited = edits === undefined ? written.bytes : editBody(job.bytes, body, edits)
  const bytes = edited ?? writeBody(marked.body, texts)
  const isSameWire = edits !== undefined
  const facts = describeDelivery(request, isSameWire)
  const call: TranslatedChat = { request, ...facts, plan, path, headers, body: bytes, attachments, reading }
  if (targets !== undefined) {
    const { isStream } = request
    call.targeting = {
      conversation: describeConversation(request, body),
      paths: listChatPaths(targets, findProviderFace(faces, plan), {
        isStream,
        providerOptions: settings.providerOptions
      }),
      ...pickMark(marked)
    }
  }
  if (leftOut.length > 0) call.leftOut = leftOut
  if (isSameWire) call.isSameWire = true
  if (refusesUnsupported === true || plan.capabilities?.refusesUnsupported === true) call.refusesUnsupported = true
  return call
}

/**
 * What an executor has to know of a request. A provider on the client's own wire got the client's
 * own options, so the gateway applies none of them a second time.
 */
export function describeDelivery(
  { isStream, sampling, parallelToolCalls }: NormalizedRequest,
  isSameWire: boolean
): Pick<ChatCall, 'isStream' | 'stops' | 'keepsFirstCallOnly'> {
  if (isSameWire) return { isStream, stops: NO_STOPS }
  const stops = sampling.stop?.filter(stop => stop !== '') ?? NO_STOPS
  return parallelToolCalls === 'refused' ? { isStream, stops, keepsFirstCallOnly: true } : { isStream, stops }
}

const NO_STOPS: readonly string[] = []

/**
 * Reads a parsed body. Raises `GatewayError` with the path of the invalid field, and before that for a model that leads nowhere. A wrong
 * shape on its way to a provider of the client's own wire is the provider's to refuse (decisions.md 72): then only what decides on admission
 * is read.
 */
export function readChat(
  { protocol, apiMode, scope, context: given }: Pick<ChatJob, 'protocol' | 'apiMode' | 'scope' | 'context'>,
  body: JsonObject,
  { settings, faces }: Pick<TaskEnvironment, 'settings' | 'faces'>,
  context: ReadContext = given
): NormalizedRequest {
  const { routes } = settings
  const findPlan = () => resolveRoute(readModelAlone(body, context), apiMode, { routes, faces, scope })
  let request: NormalizedRequest
  try {
    request = readForRoute(
      () => readNamed(() => clientFaces[protocol].readRequest(body, context), body, context),
      findPlan
    )
  } catch (thrown) {
    return standInFor(thrown, { protocol, body, context, findPlan }, faces)
  }
  assertBounded(request)
  return request
}

/** Names the model in a refusal that a reader raises. */
function readNamed(read: () => NormalizedRequest, body: JsonObject, context: ReadContext): NormalizedRequest {
  try {
    return read()
  } catch (thrown) {
    throw nameModel(thrown, readModelAlone(body, context).model)
  }
}

/**
 * Like `translateChat`; where the job asks for it, the call is also described for observers, and its tokens are estimated. Its request
 * has only what the writer of the response needs.
 */
export function translateObservedChat(
  job: ChatJob,
  environment: TaskEnvironment
): TranslatedChat | Promise<TranslatedChat> {
  const { description, estimatesTokens } = job
  const call = translateChat(job, environment)
  if (description !== undefined || estimatesTokens === true) return addFacts(call, job)
  dropWrittenParts(call.request)
  return call
}

const loadEstimates = importOnce(() => import('../limits/estimate-tokens.ts'))

/** What is wanted of the request besides its call. */
async function addFacts(
  call: TranslatedChat,
  { protocol, description, estimatesTokens, bytes }: ChatJob
): Promise<TranslatedChat> {
  // Before anything is waited for: the bytes may be moved to the provider.
  const bodyBytes = bytes.byteLength
  if (description !== undefined) {
    const { describeChat } = await loadDescriptions()
    call.description = describeChat(call.request, protocol, description)
  }
  if (estimatesTokens === true) {
    const { estimateChat } = await loadEstimates()
    const { outputTokensMax } = call.plan.capabilities ?? {}
    call.tokenEstimate = estimateChat(call.request, { bodyBytes, outputTokensMax })
  }
  dropWrittenParts(call.request)
  return call
}

/** Writes a whole response as JSON in the client's form. */
export function writeChatResponse({ protocol, response, context, completedAt }: ChatResponseJob): WrittenResponse {
  const written = clientFaces[protocol].writeResponse(response, { ...context, now: () => completedAt })
  return { body: JSON.stringify(written) }
}
