// Model lists from the catalog, in the form of the client's family.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CatalogModel, CatalogSnapshot } from '../../shared/catalog/catalog.ts'
import type { OperationHandlers, PathParameters } from '../http/mount-operations.ts'
import { sendJson } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'
import * as completions from '../protocols/completions/client/models.ts'
import * as content from '../protocols/content/client/models.ts'
import { readModelId } from '../protocols/content/client/path.ts'
import * as messages from '../protocols/messages/client/models.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

const REFRESH_WORDS = /^(?:1|true|yes)$/i

type ModelOperation =
  | 'listModels'
  | 'getModel'
  | 'listContentModels'
  | 'getContentModel'
  | 'listTunedModels'
  | 'getModelInfo'

/** The family of the request decides the form of lists and models (bridge.md 6.3). */
export function createModelHandlers(runtime: WorkerRuntime): OperationHandlers<ModelOperation> {
  function readCatalog({ context }: FastifyRequest): Promise<CatalogSnapshot> {
    const { refresh } = context.query
    return runtime.catalog.read(context, { force: typeof refresh === 'string' && REFRESH_WORDS.test(refresh) })
  }

  async function list(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    send(reply, writeList(request, await readCatalog(request)))
  }

  async function get(request: FastifyRequest, reply: FastifyReply, { model = '' }: PathParameters): Promise<void> {
    send(reply, writeOne(request, await readCatalog(request), model))
  }

  return {
    listModels: list,
    getModel: get,
    listContentModels: list,
    getContentModel: get,
    listTunedModels: (_request, reply) => send(reply, content.writeTunedModelList()),
    async getModelInfo(request, reply) {
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
