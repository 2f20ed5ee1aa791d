import { pino } from 'pino'
import t from 'tap'
import type { ResponseStore } from '../../../shared/memory/store.ts'
import { type OpenStore, StoreOpenError } from '../../../supervisor/store/engine.ts'
import { createStoreService } from '../../../supervisor/store/service.ts'
import { waitUntil } from '../../support/processes.ts'

function createLog() {
  const lines: Array<{ event: string; operation?: string; count?: number; level: number }> = []
  return { lines, log: pino({}, { write: line => void lines.push(JSON.parse(line)) }) }
}

function createStore(methods: Partial<ResponseStore> & { purge?: () => Promise<boolean> } = {}) {
  const state = { isClosed: false, purges: 0 }
  const store = {
    purge: async () => {
      state.purges += 1
      return false
    },
    close: async () => {
      state.isClosed = true
    },
    ...methods
  } as OpenStore
  return { store, state }
}

const owner = { name: '' }

t.test('a database that cannot be used ends the start', async t => {
  const { log } = createLog()
  const open = async () => {
    throw new StoreOpenError('schema_newer', 'too new')
  }
  await t.rejects(createStoreService({ log, nowMs: () => 0, open }), { message: 'too new' })
})

t.test('a database that is away is tried again, and answers nothing in the meantime', async t => {
  const { log, lines } = createLog()
  const { store, state } = createStore({ readResponse: async () => undefined })
  let attempts = 0
  const service = await createStoreService({
    log,
    nowMs: () => 0,
    async open() {
      attempts += 1
      if (attempts < 3) throw new StoreOpenError('unreachable', 'locked')
      return store
    }
  })
  await t.rejects(service.answer('readResponse', { owner, id: 'x' }))
  t.equal(await service.totals(), undefined)
  await waitUntil(() => lines.some(({ event }) => event === 'store_opened'), 'the database is open')
  t.equal(await service.answer('readResponse', { owner, id: 'x' }), undefined)
  t.equal(lines.filter(({ event }) => event === 'store_operation_failed').length, 1, 'one warning a minute')
  await waitUntil(() => state.purges === 1, 'what is too old is removed')
  await service.close()
  t.ok(state.isClosed)
})

t.test('a failed question is no answer; its reason is logged once a minute, with a count', async t => {
  const { log, lines } = createLog()
  let nowMs = 0
  const { store } = createStore({
    totals: async () => {
      throw new Error('disk full')
    }
  })
  const service = await createStoreService({ log, nowMs: () => nowMs, open: async () => store })
  const ask = () => service.answer('totals', undefined)
  for (let count = 0; count < 3; count += 1) await t.rejects(ask(), { message: 'disk full' })
  nowMs = 60_000
  await t.rejects(ask())
  const warnings = lines.filter(({ event }) => event === 'store_operation_failed')
  t.match(warnings, [
    { operation: 'totals', count: 1, err: { message: 'disk full' } },
    { operation: 'totals', count: 3 }
  ])
  await service.close()
})

t.test('old content is removed batch by batch until none is left', async t => {
  const { log, lines } = createLog()
  let batches = 0
  const { store } = createStore({
    purge: async () => {
      batches += 1
      if (batches === 2) throw new Error('locked')
      return batches < 5
    }
  })
  const service = await createStoreService({ log, nowMs: () => 0, open: async () => store })
  await waitUntil(() => batches === 2, 'a batch that fails is left for the next time')
  t.match(lines, [{ event: 'store_operation_failed', operation: 'purge' }])
  await service.close()
})

t.test('a close during an attempt to open closes what was opened', async ({ ok }) => {
  const { log } = createLog()
  const { store, state } = createStore()
  const opened = Promise.withResolvers<OpenStore>()
  let attempts = 0
  const service = await createStoreService({
    log,
    nowMs: () => 0,
    async open() {
      attempts += 1
      if (attempts === 1) throw new StoreOpenError('unreachable', 'down')
      return opened.promise
    }
  })
  await waitUntil(() => attempts === 2, 'the second attempt')
  await service.close()
  opened.resolve(store)
  await waitUntil(() => state.isClosed, 'closed')
  ok(state.isClosed)
})
