import { inspect } from 'node:util'
import t from 'tap'
import type { TrafficRecord } from '../../../../../shared/traffic/record.ts'
import { RecordsRefusedError } from '../../../../../supervisor/writer/sink.ts'
import { SEARCH_SCHEMA_VERSION } from '../../../../../supervisor/writer/store/opensearch/template.ts'
import * as fc from '../../../../support/properties.ts'
import { createRecord, createRecords } from '../../records.ts'
import { createSink, idsOf, startSink, storedIds } from './support.ts'

t.test(
  'the first write installs policy, template and data stream, in this order, and the next one asks for the template alone',
  async t => {
    const { server, sink } = await startSink(t)
    const records = createRecords(3)
    await sink.write(records.slice(0, 2))
    t.strictSame(
      server.calls.map(({ method, path }) => `${method} ${path}`),
      [
        'GET /_plugins/_ism/policies/gateway-traffic-policy',
        'PUT /_plugins/_ism/policies/gateway-traffic-policy',
        'GET /_index_template/gateway-traffic-template',
        'PUT /_index_template/gateway-traffic-template',
        'GET /_data_stream/gateway-traffic',
        'PUT /_data_stream/gateway-traffic',
        'POST /_bulk'
      ]
    )
    await sink.write(records.slice(2))
    t.strictSame(
      server.calls.slice(7).map(({ method, path }) => `${method} ${path}`),
      ['GET /_index_template/gateway-traffic-template', 'POST /_bulk']
    )
    t.equal(server.calls.at(-1)?.headers['content-encoding'], 'gzip')
    t.strictSame(storedIds(server), idsOf(records))
    t.same([...server.dataStreams.keys()], ['gateway-traffic'])
    const template = server.templates.get('gateway-traffic-template') as Record<string, Record<string, unknown>>
    t.match(template, {
      index_patterns: ['gateway-traffic'],
      data_stream: {},
      _meta: { schema_version: SEARCH_SCHEMA_VERSION }
    })
    t.match(template.template?.mappings, { dynamic: false, properties: { request_body_redacted: { enabled: false } } })
  }
)

t.test('a second gateway changes nothing that stands, and a newer version stays', async t => {
  const { server, sink } = await startSink(t)
  await sink.write(createRecords(1))
  const callsBefore = server.calls.length
  const second = createSink(t, server)
  await second.sink.write(createRecords(1))
  t.strictSame(
    server.calls.slice(callsBefore).map(({ method }) => method),
    ['GET', 'GET', 'GET', 'POST']
  )
  const newer = { ...server.templates.get('gateway-traffic-template'), _meta: { schema_version: 99 } }
  server.putTemplate('gateway-traffic-template', newer)
  await createSink(t, server).sink.write(createRecords(1))
  t.equal(server.templates.get('gateway-traffic-template'), newer)
  server.putTemplate('gateway-traffic-template', { ...newer, _meta: {} })
  await createSink(t, server).sink.write(createRecords(1))
  t.match(server.templates.get('gateway-traffic-template'), { _meta: { schema_version: SEARCH_SCHEMA_VERSION } })
})

t.test('another retention replaces the policy', async t => {
  const { server, sink } = await startSink(t)
  await sink.write(createRecords(1))
  await createSink(t, server, { retentionDays: 7 }).sink.write(createRecords(1))
  const { policy } = server.policies.get('gateway-traffic-policy') ?? {}
  t.match(policy, {
    states: [
      {
        actions: [{ rollover: { min_index_age: '1d', min_size: '25gb' } }],
        transitions: [{ conditions: { min_index_age: '7d' } }]
      },
      { actions: [{ delete: {} }] }
    ],
    ism_template: [{ index_patterns: ['gateway-traffic'] }]
  })
})

t.test('a server without policies stores the records, with a warning', async t => {
  const { server, sink, lines } = await startSink(t, {}, { hasNoPolicies: true })
  await sink.write(createRecords(2))
  t.equal(server.documents().length, 2)
  t.match(lines.join(''), 'search_policy_not_installed')
})

t.test('without a data stream the records are indexed, with neither stream nor policy', async t => {
  const { server, sink } = await startSink(t, { isDataStream: false, index: 'plain' })
  const records = createRecords(2)
  server.failNext('_data_stream', 400)
  await sink.write(records)
  await sink.write(records)
  t.equal(server.dataStreams.size, 0)
  t.equal(server.policies.size, 0)
  t.strictSame([...server.templates.keys()], ['plain-template'])
  t.strictSame(
    server.documents().map(({ index }) => index),
    ['plain', 'plain']
  )
})

t.test(
  'an index where the settings want a data stream, and the other way round, is an outage that says so',
  async t => {
    const { server, sink } = await startSink(t)
    server.createIndex('gateway-traffic')
    await t.rejects(sink.write(createRecords(1)), { name: 'SearchServerError', message: /data stream/ })
    server.reset()
    server.createDataStream('gateway-traffic')
    const { sink: other } = createSink(t, server, { isDataStream: false })
    await t.rejects(other.write(createRecords(1)), { name: 'SearchServerError', message: /is a data stream/ })
  }
)

t.test('an index that exists is one at the second start too', async t => {
  const { server, sink } = await startSink(t, { isDataStream: false })
  await sink.write(createRecords(1))
  await createSink(t, server, { isDataStream: false }).sink.write(createRecords(1))
  t.strictSame(
    server.documents().map(({ index }) => index),
    ['gateway-traffic', 'gateway-traffic']
  )
})

t.test('gateways with names of one prefix live on one server, beside the templates of older versions', async t => {
  const { server, sink } = await startSink(t, { index: 'team' })
  server.putTemplate('team-template', {
    index_patterns: ['team*'],
    priority: 200,
    data_stream: {},
    _meta: { schema_version: 2 }
  })
  const { sink: blue } = createSink(t, server, { index: 'team-blue' })
  await blue.write(createRecords(1))
  await sink.write(createRecords(1))
  t.strictSame([...server.dataStreams.keys()].sort(), ['team', 'team-blue'])
  t.match(server.templates.get('team-template'), { index_patterns: ['team'] })
})

t.test('a stream or a template that is gone is made again before the next write', async t => {
  for (const isDataStream of [true, false]) {
    const { server, sink } = await startSink(t, { isDataStream })
    await sink.write(createRecords(1))
    server.reset()
    const records = createRecords(2)
    await sink.write(records)
    t.strictSame(storedIds(server), idsOf(records))
    t.match(server.templates.get('gateway-traffic-template'), { template: { mappings: { dynamic: false } } })
    t.equal(server.dataStreams.has('gateway-traffic'), isDataStream)
  }
})

t.test('the error has the reason of the server', async t => {
  const { server, sink } = await startSink(t)
  server.putTemplate('own', { index_patterns: ['gateway-*'], priority: 201 })
  await t.rejects(sink.write(createRecords(1)), {
    message:
      /the index template with 400 \(illegal_argument_exception\): index template \[gateway-traffic-template\] has index patterns/
  })
  server.reset()
  server.failItem = () => ({ status: 403, type: 'cluster_block_exception' })
  await t.rejects(sink.write(createRecords(1)), { message: /403 cluster_block_exception: as the test wants/ })
})

t.test('records that are stored already count as stored', async t => {
  const { server, sink } = await startSink(t)
  const records = createRecords(4)
  await sink.write(records.slice(0, 3))
  await sink.write(records)
  t.strictSame(storedIds(server), idsOf(records))
})

t.test('busy items are sent again alone', async t => {
  const { server, sink } = await startSink(t)
  const records = createRecords(5)
  const busy = new Map([
    [records[1]?.id, 2],
    [records[3]?.id, 1]
  ])
  server.failItem = id => {
    const left = busy.get(id) ?? 0
    busy.set(id, left - 1)
    return left > 0 ? { status: 429, type: 'rejected_execution_exception' } : undefined
  }
  await sink.write(records)
  t.strictSame(
    server.bulkBodies.map(body => body.trimEnd().split('\n').length / 2),
    [5, 2, 1]
  )
  t.strictSame(storedIds(server), idsOf(records))
})

t.test('refused records are named, and all others are stored', async t => {
  const { server, sink } = await startSink(t)
  const records = createRecords(5)
  const bad = createRecord({ created_at: 'yesterday' })
  const error = await sink.write([...records, bad]).then(
    () => undefined,
    (error: unknown) => error
  )
  t.ok(error instanceof RecordsRefusedError)
  t.strictSame([...((error as RecordsRefusedError).refusedIds ?? [])], [bad.id])
  t.match((error as Error).cause, { message: /400 mapper_parsing_exception/ })
  t.strictSame(storedIds(server), idsOf(records))
})

t.test('a value out of the range of its field, or a long text, refuses no record', async t => {
  const { server, sink } = await startSink(t)
  const records = [
    createRecord({ input_tokens: 2 ** 40, latency_ms: 1e300 }),
    createRecord({ model_requested: 'm'.repeat(100_000) }),
    createRecord({ request_body_redacted: 'text', response_body_redacted: [1, { a: 'b' }] })
  ]
  await sink.write(records)
  t.equal(server.documents().length, records.length)
})

t.test('a server that takes no documents is an outage', async t => {
  const { server, sink } = await startSink(t)
  const records = createRecords(2)
  for (const [status, type] of [
    [403, 'cluster_block_exception'],
    [503, 'unavailable_shards_exception']
  ] as const) {
    server.failItem = () => ({ status, type })
    await t.rejects(sink.write(records), { name: 'SearchServerError', message: new RegExp(`${status} ${type}`) })
  }
  server.failItem = () => undefined
  await sink.write(records)
  t.equal(server.documents().length, 2)
})

t.test('calls that fail as a whole are outages, and nothing is stored twice afterwards', async t => {
  const { server, sink } = await startSink(t, { timeoutMs: 1000 })
  const records: TrafficRecord[] = []
  for (const failure of [503, 429, 500, 'cut', 'lost', 'half', 'silent', 'garbage', 'text'] as const) {
    const batch = createRecords(3)
    records.push(...batch)
    server.failNext('_bulk', failure)
    await t.rejects(sink.write(batch), { name: 'SearchServerError' }, String(failure))
  }
  await sink.write(records)
  t.strictSame(storedIds(server), idsOf(records))
})

t.test('a response without an end, also a compressed one, is an outage and is not gathered', async t => {
  const { server, sink } = await startSink(t)
  const records: TrafficRecord[] = []
  for (const failure of ['endless', 'bomb'] as const) {
    const batch = createRecords(2)
    records.push(...batch)
    server.failNext('_bulk', failure)
    await t.rejects(sink.write(batch), { name: 'SearchServerError', message: /answered with more than/ }, failure)
  }
  await sink.write(records)
  t.strictSame(storedIds(server), idsOf(records))
})

t.test('a record of a call without a response is not stored twice, even when the data stream rolls over', async t => {
  const { server, sink } = await startSink(t)
  const records = createRecords(3)
  await sink.write(createRecords(1))
  server.failNext('_bulk', 'lost')
  await t.rejects(sink.write(records), { name: 'SearchServerError' })
  server.rollOver('gateway-traffic')
  await sink.write([...records, ...createRecords(2)])
  t.equal(server.documents().length, 6)
  t.equal(new Set(storedIds(server)).size, 6)
  const searches = () => server.calls.filter(({ path }) => path.includes('_search')).length
  t.equal(searches(), 1)
  await sink.write(createRecords(1))
  t.equal(searches(), 1, 'later batches are not searched')
})

t.test('every step of the installation may fail and is repeated', async t => {
  const { server, sink } = await startSink(t)
  const records = createRecords(1)
  for (const path of ['_ism', '_index_template', '_data_stream']) {
    server.failNext(path, 503)
    await t.rejects(sink.write(records), { name: 'SearchServerError' }, path)
    server.failNext(path, 'cut')
    await t.rejects(sink.write(records), { name: 'SearchServerError' }, path)
  }
  await sink.write(records)
  t.strictSame(storedIds(server), idsOf(records))
})

t.test('a new server at the same address gets its template before the records', async t => {
  const { server, sink } = await startSink(t)
  await sink.write(createRecords(1))
  await server.stop()
  server.reset()
  await t.rejects(sink.write(createRecords(1)), { name: 'SearchServerError', message: /cannot be reached/ })
  await server.start()
  await sink.write(createRecords(2))
  t.equal(server.documents().length, 2)
  t.equal(server.templates.size, 1)
})

t.test('a call has a bound of bytes, and one that is too large for the server is halved', async t => {
  const { server, sink } = await startSink(t, {}, { bodyBytesMax: 1_000_000 })
  const large = () => createRecord({ request_body_redacted: 'x'.repeat(300_000) })
  const records = Array.from({ length: 40 }, large)
  await sink.write(records)
  t.strictSame(storedIds(server), idsOf(records))
  const tooLarge = createRecord({ request_body_redacted: 'x'.repeat(1_000_001) })
  const error = await sink.write([...records, tooLarge]).catch((error: unknown) => error)
  t.strictSame([...((error as RecordsRefusedError).refusedIds ?? [])], [tooLarge.id])
  t.ok(server.calls.every(({ body }) => body.length < 6_000_000))
})

t.test('user and password are sent, also when only one of them is set', async t => {
  for (const auth of [{ username: 'user', password: 'pass:word' }, { password: 'only' }, { username: 'only' }]) {
    const { server, sink } = await startSink(t, auth, auth)
    await sink.write(createRecords(1))
    t.equal(server.documents().length, 1)
  }
})

t.test('an error shows neither the password nor a record', async t => {
  const auth = { username: 'user', password: 'canary-password' }
  const { server, sink } = await startSink(t, { ...auth, timeoutMs: 200 }, { ...auth, password: 'other' })
  const record = createRecord({ request_body_redacted: 'canary-body' })
  const errors: unknown[] = []
  const write = () => sink.write([record]).catch((error: unknown) => errors.push(error))
  await write()
  server.failNext('', 'cut')
  await write()
  server.failNext('', 'silent')
  await write()
  await server.stop()
  await write()
  t.equal(errors.length, 4)
  for (const error of errors) t.notMatch(inspect(error, { depth: 9, showHidden: true }), /canary/)
})

t.test(
  'for any mix of item outcomes, each record ends once: stored, refused, or in a batch that is sent again',
  async t => {
    const statuses = fc.constantFrom(201, 201, 429, 503, 400, 403, 409)
    const { server, sink } = await startSink(t)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(statuses, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 }),
        async plans => {
          const records = plans.map(() => createRecord())
          const left = new Map(records.map(({ id }, index) => [id, [...(plans[index] ?? [])]]))
          server.failItem = id => {
            const status = left.get(id)?.shift() ?? 201
            return status === 201 ? undefined : { status, type: 'some_exception' }
          }
          const refused: string[] = []
          let written: string[] = []
          for (let waiting = records; waiting.length > 0; ) {
            try {
              await sink.write(waiting)
              written = written.concat(waiting.map(({ id }) => id))
              break
            } catch (error) {
              if (!(error instanceof RecordsRefusedError)) continue
              const { refusedIds } = error
              if (refusedIds === undefined) throw error
              refused.push(...refusedIds)
              written = written.concat(waiting.map(({ id }) => id).filter(id => !refusedIds.has(id)))
              waiting = []
            }
          }
          server.failItem = () => undefined
          t.strictSame([...written, ...refused].sort(), idsOf(records))
          // The fake answers 409 for records that it does not have; all others that count as stored are there.
          const stored = new Set(storedIds(server))
          const said409 = new Set(records.filter((_, index) => plans[index]?.includes(409)).map(({ id }) => id))
          t.ok(written.every(id => stored.has(id) || said409.has(id)))
        }
      ),
      { numRuns: 50 }
    )
  }
)
