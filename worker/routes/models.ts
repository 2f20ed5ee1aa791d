// Model lists of the completions family and of router-style clients, from the shared catalog.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CatalogModel, CatalogSnapshot } from '../../shared/catalog.ts'
import { sendJson } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'
import { writeModel, writeModelInfo, writeModelInfoList, writeModelList } from '../protocols/completions/models.ts'
import type { WorkerRuntime } from '../runtime.ts'

const REFRESH_WORDS = /^(?:1|true|yes)$/i

interface ModelsQuery {
  refresh?: string | string[]
  model?: string | string[]
}

export function createModelHandlers(runtime: WorkerRuntime) {
  function readCatalog({ context, query }: FastifyRequest): Promise<CatalogSnapshot> {
    const { refresh } = query as ModelsQuery
    return runtime.catalog.read(context, { force: typeof refresh === 'string' && REFRESH_WORDS.test(refresh) })
  }

  return {
    async list(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { models } = await readCatalog(request)
      sendJson(reply, 200, {}, JSON.stringify(writeModelList(models)))
    },
    async get(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { '*': id = '' } = request.params as { '*'?: string }
      const { models } = await readCatalog(request)
      sendJson(reply, 200, {}, JSON.stringify(writeModel(findModel(models, id))))
    },
    async info(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { model } = request.query as ModelsQuery
      const { models } = await readCatalog(request)
      const body = typeof model === 'string' ? writeModelInfo(findModel(models, model)) : writeModelInfoList(models)
      sendJson(reply, 200, {}, JSON.stringify(body))
    }
  }
}

/** Raises `model_not_found`. */
function findModel(models: readonly CatalogModel[], id: string): CatalogModel {
  const found = models.find(model => model.id === id)
  if (found === undefined) throw new GatewayError('model_not_found', { param: 'model' })
  return found
}
