// The keys of clients for operators (keys.md 5). Loaded only with the admin API; every route needs the admin key. Not audited: they show no
// record and no content, and a page asks again and again.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type KeysInForce, showKey, showKeys } from '../admin/keys.ts'
import { GatewayError } from '../normalized/index.ts'
import { adminRoute, sendDocument } from './admin-route.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

const ROOT = '/_admin/keys'

type KeysRuntime = Pick<WorkerRuntime, 'keyRing' | 'listKeyUsage' | 'clock'>

export function registerKeyRoutes(app: FastifyInstance, { keyRing, listKeyUsage, clock }: KeysRuntime): void {
  async function read({ context }: FastifyRequest): Promise<KeysInForce> {
    const { keySet, ownNames } = keyRing
    // Without a keys file no key has a limit.
    const usages = keySet === undefined ? [] : await listKeyUsage?.(context.signal)
    return { keySet, ownNames, usages, nowMs: clock.nowMs() }
  }

  app.route({
    ...adminRoute('GET', ROOT),
    handler: async (request, reply) => sendDocument(reply, showKeys(await read(request)))
  })

  app.route({
    ...adminRoute('GET', `${ROOT}/:name`),
    handler: async (request, reply) => {
      const { name = '' } = request.params as { name?: string }
      // The router lets a parameter be empty, but that is no path of its own.
      if (name === '') throw new GatewayError('unknown_url')
      sendDocument(reply, showKey(await read(request), name))
    }
  })
}
