// Translates a chat in one pure step each way: a client's body into a provider's body, and a large response of the provider into the
// client's body.

import { writeJsonBody } from '../../shared/json.ts'
import { planChat } from '../bridge/plan-chat.ts'
import { assertBounded } from '../normalized/index.ts'
import { clientFaces } from '../protocols/registry.ts'
import type { DescriptionOptions } from './call-description.ts'
import { readJsonObject } from './json-body.ts'
import { loadDescriptions } from './load-descriptions.ts'
import type { ChatJob, ChatResponseJob, TaskEnvironment, TranslatedChat, WrittenResponse } from './types.ts'

/**
 * Reads a chat body of a client protocol, resolves its route and writes it on the provider's wire.
 * Raises `GatewayError` with the path of the invalid field, before anything is sent to the provider.
 */
export function translateChat(job: ChatJob, { settings, faces }: TaskEnvironment): TranslatedChat {
  const { protocol, apiMode } = job
  const body = readJsonObject(job.bytes)
  const request = clientFaces[protocol].readRequest(body, { ...job.context, bytes: job.bytes })
  assertBounded(request)
  const { wireHeaders } = job.context
  const { plan, face, written, isPassed } = planChat({ protocol, apiMode, request, body, wireHeaders }, settings, faces)
  const { attachments, headers, path, reading } = written
  const relay = face.relay?.protocol === protocol ? face.relay : undefined
  const codec = isPassed ? face.passing : relay
  const bytes = codec?.reuseBody(job.bytes, body, written.body) ?? writeJsonBody(written.body)
  const call: TranslatedChat = { request, plan, path, headers, body: bytes, attachments, reading }
  if (isPassed) call.isPassed = true
  else if (relay?.acceptsResponse(request, reading) === true) call.acceptsProviderBytes = true
  return call
}

/** Like `translateChat`; where the job asks for it, the call is also described for observers. */
export function translateObservedChat(
  job: ChatJob,
  environment: TaskEnvironment
): TranslatedChat | Promise<TranslatedChat> {
  const { description } = job
  return description === undefined
    ? translateChat(job, environment)
    : addDescription(translateChat(job, environment), job.protocol, description)
}

async function addDescription(
  call: TranslatedChat,
  protocol: ChatJob['protocol'],
  options: DescriptionOptions
): Promise<TranslatedChat> {
  const { describeChat } = await loadDescriptions()
  call.description = describeChat(call.request, protocol, options)
  return call
}

/** Writes a whole response as JSON in the client's form. */
export function writeChatResponse({ protocol, response, context, completedAt }: ChatResponseJob): WrittenResponse {
  const written = clientFaces[protocol].writeResponse(response, { ...context, now: () => completedAt })
  return { body: JSON.stringify(written) }
}
