// Mounts the content family. Its URLs hold the model and, after a colon, the operation. Ids may contain slashes and colons, so one
// pattern matches everything after `/models/`, and the codec splits it.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendJson } from '../http/respond.ts'
import { mountOperation, readWildcard } from '../http/route-traits.ts'
import { assertNever } from '../normalized/index.ts'
import { contentArrayFace, contentFace } from '../protocols/content/client/face.ts'
import { writeTunedModelList } from '../protocols/content/client/models.ts'
import { findOperation, readOperationPath } from '../protocols/content/client/path.ts'
import { CONTENT_ARRAY_MEDIA_TYPE } from '../protocols/content/client/stream.ts'
import { createChatHandler } from './chat.ts'
import { createEmbeddingsHandler } from './embeddings.ts'
import { createModelHandlers } from './models.ts'
import { createTokenCountHandler } from './token-count.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** The last two are for SDKs that append `/v1beta` to a base URL that already has a version. */
const BETA_PREFIXES = ['/v1beta', '/v1/v1beta', '/v2/v1beta']
const PREFIXES = ['', '/v1', '/v2', ...BETA_PREFIXES]

export function registerContentRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  const protocol = 'content'
  const generate = createChatHandler(runtime, { protocol, face: contentFace })
  const generateArray = createChatHandler(runtime, {
    protocol,
    face: contentArrayFace,
    keepAliveText: null,
    streamType: CONTENT_ARRAY_MEDIA_TYPE
  })

  const count = createTokenCountHandler(runtime, protocol)
  const embed = createEmbeddingsHandler(runtime, 'embedContent')
  const embedBatch = createEmbeddingsHandler(runtime, 'batchEmbedContents')

  function operate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { model, operation } = readOperationPath(readWildcard(request))
    const outside = { path: { model, isStream: false } }
    switch (operation) {
      case 'generateContent':
        return generate(request, reply, outside)
      case 'streamGenerateContent': {
        const isArray = request.context.query.alt === 'json'
        return (isArray ? generateArray : generate)(request, reply, { path: { model, isStream: true } })
      }
      case 'countTokens':
        return count(request, reply, outside)
      case 'embedContent':
        return embed(request, reply, outside)
      case 'batchEmbedContents':
        return embedBatch(request, reply, outside)
      default:
        return assertNever(operation)
    }
  }

  const family = 'content'
  mountOperation(app, {
    method: 'POST',
    path: '/models/*',
    template: '/models/{model}',
    readOperation: findOperation,
    prefixes: PREFIXES,
    family,
    isModelRequest: true,
    handler: operate
  })
  const models = createModelHandlers(runtime)
  mountBeta(app, '/models', models.list)
  mountBeta(app, '/models/*', models.get)
  mountOperation(app, {
    method: 'GET',
    path: '/tunedModels',
    prefixes: PREFIXES,
    family,
    isModelRequest: false,
    handler: (_request, reply) => send(reply, writeTunedModelList())
  })
}

/** Mounts a model route under the prefixes that only this family has. */
function mountBeta(
  app: FastifyInstance,
  path: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>
): void {
  const template = path.replace('*', '{model}')
  const readOperation = path.endsWith('*') ? findOperation : undefined
  const route = {
    method: 'GET',
    path,
    template,
    readOperation,
    family: 'content',
    isModelRequest: false,
    handler
  } as const
  mountOperation(app, { ...route, prefixes: BETA_PREFIXES })
}

function send(reply: FastifyReply, body: object): void {
  sendJson(reply, 200, {}, JSON.stringify(body))
}
