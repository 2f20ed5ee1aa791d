// Mounts the Responses operation. The gateway stores no responses, so it has no routes that retrieve one (responses.md 1).

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mountOperation } from '../http/route-traits.ts'
import { ATTACHMENT_IDS_HEADER } from '../protocols/responses/client/attachment-ids.ts'
import { responsesFace } from '../protocols/responses/client/face.ts'
import { createChatHandler } from './chat.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export function registerResponsesRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  const storesByDefault = runtime.settings.responsesStoreDefault
  const create = createChatHandler(runtime, {
    protocol: 'responses',
    face: responsesFace,
    needsFinalId: isReadByStreamHelper
  })
  mountOperation(app, {
    method: 'POST',
    path: '/responses',
    family: 'completions',
    isModelRequest: true,
    handler: (request, reply) =>
      create(request, reply, { attachmentIds: readAttachmentIdsHeader(request), storesByDefault })
  })
}

/** The SDK's stream helper names itself in a header; it refuses a response whose id changes (ADR 2026-11-21-ids-of-streamed-responses). */
function isReadByStreamHelper(request: FastifyRequest): boolean {
  return request.headers['x-stainless-helper-method'] === 'stream'
}

function readAttachmentIdsHeader(request: FastifyRequest): string | undefined {
  const header = request.headers[ATTACHMENT_IDS_HEADER]
  return Array.isArray(header) ? header.join(',') : header
}
