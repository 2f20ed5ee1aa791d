// From a client's bytes to the upstream's bytes in one pure step: the same for the event loop and for a pool thread.

import { admitRequest } from '../bridge/admit.ts'
import { planNativeChat } from '../bridge/plan.ts'
import type { ClientProtocol } from '../normalized/index.ts'
import { readCompletionsRequest } from '../protocols/completions/client/face.ts'
import { readContentRequest } from '../protocols/content/client/face.ts'
import type { ChatClientFace, TranslationSettings } from '../protocols/face.ts'
import { readMessagesRequest } from '../protocols/messages/client/face.ts'
import { nativeV1Acceptance, nativeV2Acceptance } from '../protocols/native/acceptance.ts'
import { writeNativeV1Request } from '../protocols/native/v1/face.ts'
import { writeNativeV2Request } from '../protocols/native/v2/face.ts'
import { readResponsesRequest } from '../protocols/responses/client/face.ts'
import { readJsonObject } from './json-body.ts'
import type { TranslatedChat, TranslationJob } from './types.ts'

const readers: Record<ClientProtocol, ChatClientFace['readRequest']> = {
  completions: readCompletionsRequest,
  responses: readResponsesRequest,
  messages: readMessagesRequest,
  content: readContentRequest
}

/**
 * Reads a chat body of a client protocol, plans where it goes and writes it on the provider's wire.
 * Raises `GatewayError` with the path of the field at fault; nothing was sent anywhere by then.
 */
export function translateChat(job: TranslationJob, settings: TranslationSettings): TranslatedChat {
  const request = readers[job.protocol](readJsonObject(job.bytes), job.context)
  const plan = planNativeChat(request, job.apiMode, settings)
  admitRequest(request, plan.wire === 'native-v2' ? nativeV2Acceptance : nativeV1Acceptance)
  const write = plan.wire === 'native-v2' ? writeNativeV2Request : writeNativeV1Request
  const written = write(request, { upstreamModel: plan.upstreamModel, settings })
  return {
    request,
    plan,
    body: Buffer.from(JSON.stringify(written.body)),
    attachments: written.attachments,
    reading: written.reading
  }
}
