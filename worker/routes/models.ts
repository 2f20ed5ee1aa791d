// Model lists from the catalog, in the form of the client's family.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CatalogModel, CatalogSnapshot } from '../../shared/catalog.ts'
import { sendJson } from '../http/respond.ts'
import { mountOperation } from '../http/route-traits.ts'
import { GatewayError } from '../normalized/index.ts'
import * as completions from '../protocols/completions/client/models.ts'
import * as content from '../protocols/content/client/models.ts'
import { findOperation, readModelId } from '../protocols/content/client/path.ts'
import * as messages from '../protocols/messages/client/models.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

const REFRESH_WORDS = /^(?:1|true|yes)$/i

/** Mounts the model routes that all families share; the client's headers decide the form (bridge.md 6.3). */
export function registerModelRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  const { list, get, info } = createModelHandlers(runtime)
  const shared = { method: 'GET', family: 'by-client', isModelRequest: false } as const
  mountOperation(app, { ...shared, path: '/models', handler: list })
  mountOperation(app, {
    ...shared,
    path: '/models/*',
    template: '/models/{model}',
    readOperation: findOperation,
    handler: get
  })
  mountOperation(app, { ...shared, family: 'completions', protocol: 'litellm', path: '/model/info', handler: info })
}

export function createModelHandlers(runtime: WorkerRuntime) {
  function readCatalog({ context }: FastifyRequest): Promise<CatalogSnapshot> {
    const { refresh } = context.query
    return runtime.catalog.read(context, { force: typeof refresh === 'string' && REFRESH_WORDS.test(refresh) })
  }

  return {
    async list(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      send(reply, writeList(request, await readCatalog(request)))
    },
    async get(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { '*': id = '' } = request.params as { '*'?: string }
      send(reply, writeOne(request, await readCatalog(request), id))
    },
    async info(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { model } = request.context.query
      const { models } = await readCatalog(request)
      const isOne = typeof model === 'string'
      send(reply, isOne ? completions.writeModelInfo(findModel(models, model)) : completions.writeModelInfoList(models))
    }
  }
}

function writeList({ context }: FastifyRequest, { models, inventoryRevision }: CatalogSnapshot): object {
  switch (context.family) {
    case 'messages':
      return messages.writeModelPage(models, messages.readModelPageQuery(context.query))
    case 'content':
      return content.writeContentModelList(models, { inventoryRevision, query: context.query })
    default:
      return completions.writeModelList(models)
  }
}

function writeOne({ context }: FastifyRequest, { models }: CatalogSnapshot, id: string): object {
  switch (context.family) {
    case 'messages':
      return messages.writeModel(findModel(models, id))
    case 'content':
      return content.writeContentModel(findModel(models, readModelId(id) ?? ''))
    default:
      return completions.writeModel(findModel(models, id))
  }
}

/** Raises `model_not_found`. */
function findModel(models: readonly CatalogModel[], id: string): CatalogModel {
  const found = models.find(model => model.id === id)
  if (found === undefined) throw new GatewayError('model_not_found', { param: 'model' })
  return found
}

function send(reply: FastifyReply, body: object): void {
  sendJson(reply, 200, {}, JSON.stringify(body))
}
