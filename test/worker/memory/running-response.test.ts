import t from 'tap'
import { readCurrentResponse } from '../../../worker/memory/running-response.ts'
import { FakeStore } from './fake-store.ts'

const ID = 'resp_1'
const OWNED = { owner: { name: '' }, id: ID }

function start(status: string, body: object, isBackground = true) {
  const store = new FakeStore()
  const record = { id: ID, status, isBackground, output: [], body: Buffer.from(JSON.stringify(body)) }
  store.records.set(ID, record as never)
  const item = { id: 'msg_1', type: 'message', status: 'in_progress', content: [] }
  const events = [
    { type: 'response.created' },
    { type: 'response.output_item.added', output_index: 0, item },
    ...Array.from({ length: 600 }, () => ({ type: 'response.odd' })),
    { type: 'response.output_item.added', output_index: 1, item: { id: 'rs_1', type: 'reasoning', summary: [] } }
  ]
  store.events = events.map((event, sequenceNumber) => ({ sequenceNumber, json: Buffer.from(JSON.stringify(event)) }))
  const read = async () => {
    const found = await readCurrentResponse({ ...store, readResponse, readEvents: store.readEvents.bind(store) }, OWNED)
    return found && { ...found, body: parse(found.body), output: found.output.map(({ json }) => parse(json)) }
  }
  async function readResponse() {
    return store.records.get(ID)
  }
  return { store, read }
}

function parse(json: Uint8Array) {
  return JSON.parse(Buffer.from(json).toString())
}

t.test('a running response has what was generated (memory.md 4)', async t => {
  const { read } = start('in_progress', { id: ID, status: 'queued', error: null, output: [] })
  t.match(await read(), {
    status: 'in_progress',
    body: { status: 'in_progress', error: null },
    output: [{ id: 'msg_1', status: 'in_progress' }, { id: 'rs_1' }]
  })
})

t.test('a response whose runner is gone has failed, with what was generated', async t => {
  const { read } = start('failed', { id: ID, status: 'queued', error: null, output: [] })
  t.match(await read(), {
    status: 'failed',
    body: { status: 'failed', error: { code: 'server_error' } },
    output: [{ id: 'msg_1', status: 'incomplete' }, { id: 'rs_1' }]
  })
})

t.test('a response that has ended is its record', async t => {
  const body = { id: ID, status: 'failed', error: { code: 'rate_limit_exceeded' }, output: [] }
  const { read, store } = start('failed', body)
  t.same(await read(), { id: ID, status: 'failed', isBackground: true, body, output: [] })
  t.equal(store.reads, 0)
  store.records.clear()
  t.equal(await read(), undefined)
  t.equal((await start('completed', { status: 'completed' }, false).read())?.status, 'completed')
})

t.test('a response that ends between the two questions is read again', async t => {
  const { read, store } = start('in_progress', { id: ID, status: 'queued' })
  const readEvents = store.readEvents.bind(store)
  store.readEvents = async question => {
    store.records.set(ID, {
      id: ID,
      status: 'completed',
      isBackground: true,
      output: [],
      body: Buffer.from('{}')
    } as never)
    return readEvents(question)
  }
  t.match(await read(), { status: 'completed', body: {} })
})
