// The stored responses for operators (operations.md 9.8). Loaded only with the admin API and a store; every route needs the admin key, and
// every action is audited.
import type { FastifyInstance } from 'fastify'
import type { ThreadsAnswer, TurnsAnswer } from '../../shared/admin-answers.ts'
import type { ResponseStore } from '../../shared/memory/store.ts'
import { createAudit } from '../admin/audit.ts'
import {
  LIST_NAMES,
  readThreadId,
  readThreadsQuery,
  readTurnsLimit,
  showThread,
  showTurn,
  TURN_NAMES
} from '../admin/threads.ts'
import { GatewayError } from '../normalized/index.ts'
import { adminRoute, sendDocument } from './admin-route.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

const ROOT = '/_admin/threads'

type ThreadsRuntime = Pick<WorkerRuntime, 'settings' | 'log' | 'fingerprint' | 'clock' | 'writer'>

export function registerThreadRoutes(app: FastifyInstance, runtime: ThreadsRuntime, store: ResponseStore): void {
  const audit = createAudit({ ...runtime, connection: runtime.writer, nowMs: runtime.clock.nowMs })

  app.route({
    ...adminRoute('GET', ROOT, LIST_NAMES),
    handler: async ({ context }, reply) => {
      const { before, limit, cursor } = readThreadsQuery(context.query)
      await audit.run(context, { action: 'thread_list' }, async result => {
        const page = await store.listThreads({ before, limit })
        result.rows = page.threads.length
        const answer: ThreadsAnswer = {
          data: page.threads.map(showThread),
          limit,
          cursor,
          next_cursor: page.cursor ?? null
        }
        sendDocument(reply, answer)
      })
    }
  })

  app.route({
    ...adminRoute('GET', `${ROOT}/:id`, TURN_NAMES),
    handler: async ({ context, params }, reply) => {
      const id = readThreadId((params as { id: string }).id)
      const limit = readTurnsLimit(context.query)
      await audit.run(context, { action: 'thread_read', target: id }, async result => {
        const read = await store.readThread({ id, limit: limit + 1 })
        const turns = read.slice(0, limit)
        // A conversation may have no turn yet; a chain that has none is gone.
        if (turns.length === 0 && !id.startsWith('conv_')) throw new GatewayError('thread_not_found')
        result.rows = turns.length
        const answer: TurnsAnswer = { data: turns.map(showTurn), limit, has_more: read.length > limit }
        sendDocument(reply, answer)
      })
    }
  })
}
