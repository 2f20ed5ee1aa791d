// The operation of the Responses protocol. The gateway stores no responses, so it has none that
// retrieves one (responses.md 1).

import type { FastifyRequest } from 'fastify'
import type { OperationHandlers } from '../http/mount-operations.ts'
import { ATTACHMENT_IDS_HEADER } from '../protocols/responses/client/attachment-ids.ts'
import { responsesFace } from '../protocols/responses/client/face.ts'
import { createChatHandler } from './chat.ts'
import { createTokenCountHandler } from './token-count.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export function createResponsesHandlers(
  runtime: WorkerRuntime
): OperationHandlers<'createResponse' | 'countResponseInputTokens'> {
  const storesByDefault = runtime.settings.responsesStoreDefault === true
  const create = createChatHandler(runtime, {
    protocol: 'responses',
    face: responsesFace,
    needsFinalId: isReadByStreamHelper
  })
  const countTokens = createTokenCountHandler(runtime, 'responses')
  return {
    createResponse: (request, reply) =>
      create(request, reply, { attachmentIds: readAttachmentIdsHeader(request), storesByDefault }),
    countResponseInputTokens: (request, reply) => countTokens(request, reply)
  }
}

/**
 * The SDK's stream helper names itself in a header; it refuses a response whose id changes (ADR
 * 2026-11-21-ids-of-streamed-responses).
 */
function isReadByStreamHelper(request: FastifyRequest): boolean {
  return request.headers['x-stainless-helper-method'] === 'stream'
}

function readAttachmentIdsHeader(request: FastifyRequest): string | undefined {
  const header = request.headers[ATTACHMENT_IDS_HEADER]
  return Array.isArray(header) ? header.join(',') : header
}
