// The operations of the content family, without its models. Their URLs hold the model: its id may
// contain slashes and colons.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HeldFrame } from '../http/event-stream.ts'
import type { OperationHandler, OperationHandlers } from '../http/mount-operations.ts'
import { contentArrayFace, contentFace } from '../protocols/content/client/face.ts'
import { readPathModel } from '../protocols/content/client/path.ts'
import { CONTENT_ARRAY_MEDIA_TYPE } from '../protocols/content/client/stream.ts'
import { createChatHandler, type OutsideBody } from './chat.ts'
import { createEmbeddingsHandler } from './embeddings.ts'
import { createTokenCountHandler } from './token-count.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

type ContentOperation =
  | 'generateContent'
  | 'streamGenerateContent'
  | 'countTokens'
  | 'embedContent'
  | 'batchEmbedContents'

/**
 * The SDKs of Python and Go take a comment for a broken event, and the older one of JavaScript an empty line as well. Spaces in front of
 * JSON mean nothing to any of them (content.md 5.2).
 */
const BEGUN_EVENT: HeldFrame = { start: 'data: ', more: ' ', rest: '{}\n\n' }

type Handle = (request: FastifyRequest, reply: FastifyReply, outside: OutsideBody) => Promise<void>

export function createContentHandlers(runtime: WorkerRuntime): OperationHandlers<ContentOperation> {
  const protocol = 'content'
  const generate = createChatHandler(runtime, { protocol, face: contentFace, keepAliveText: BEGUN_EVENT })
  const generateArray = createChatHandler(runtime, {
    protocol,
    face: contentArrayFace,
    keepAliveText: null,
    streamType: CONTENT_ARRAY_MEDIA_TYPE
  })
  const stream: Handle = (request, reply, outside) =>
    (request.context.query.alt === 'json' ? generateArray : generate)(request, reply, outside)
  return {
    generateContent: withModel(generate),
    streamGenerateContent: withModel(stream, { isStream: true }),
    countTokens: withModel(createTokenCountHandler(runtime, protocol)),
    embedContent: withModel(createEmbeddingsHandler(runtime, 'embedContent')),
    batchEmbedContents: withModel(createEmbeddingsHandler(runtime, 'batchEmbedContents'))
  }
}

/** Gives a handler the model of the path, and whether the operation streams. */
function withModel(handle: Handle, { isStream } = { isStream: false }): OperationHandler {
  return (request, reply, { model = '' }) => handle(request, reply, { path: { model: readPathModel(model), isStream } })
}
