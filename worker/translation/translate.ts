// From a client's bytes to the upstream's bytes in one pure step: the same for the event loop and for a pool thread.

import { planNativeChat } from '../bridge/plan.ts'
import { readJsonObject } from '../http/json-body.ts'
import { assertNever, type NormalizedRequest } from '../normalized/index.ts'
import { readCompletionsRequest } from '../protocols/completions/client.ts'
import type { TranslationSettings } from '../protocols/face.ts'
import { writeNativeV1Request } from '../protocols/native-v1/provider.ts'
import { writeNativeV2Request } from '../protocols/native-v2/provider.ts'
import type { TranslatedChat, TranslationJob } from './types.ts'

/**
 * Reads a chat body of a client protocol, plans where it goes and writes it on the provider's wire.
 * Raises `GatewayError` with the path of the field at fault; nothing was sent anywhere by then.
 */
export function translateChat(job: TranslationJob, settings: TranslationSettings): TranslatedChat {
  const request = readRequest(job)
  const plan = planNativeChat(request, job.apiMode, settings)
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

function readRequest(job: TranslationJob): NormalizedRequest {
  const body = readJsonObject(job.bytes)
  switch (job.protocol) {
    case 'completions':
      return readCompletionsRequest(body, { requestId: job.requestId })
    default:
      return assertNever(job.protocol)
  }
}
