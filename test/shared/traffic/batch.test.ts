import t from 'tap'
import {
  BatchBuilder,
  countRecordCharacters,
  type OutgoingRecord,
  restoreRecords
} from '../../../shared/traffic/batch.ts'
import { readWorkerLine } from '../../../shared/traffic/messages.ts'
import { SUMMARY_MEMBERS, type TrafficRecord } from '../../../shared/traffic/record.ts'
import { divideRecord, EMPTY_RECORD } from '../../support/outgoing-record.ts'
import * as fc from '../../support/properties.ts'

const RECORDS_MAX = 12

/** What the writer reads of a batch of these records, which have no ids before they are sent. */
function send(builder: BatchBuilder, records: readonly OutgoingRecord[], sequence = 1) {
  for (const record of records) builder.add(record, countRecordCharacters(record))
  t.equal(builder.count, records.length)
  const { characters } = builder
  const bytes = builder.finish(sequence)
  t.equal(bytes.indexOf('\n'), bytes.length - 1, 'a batch is one line')
  const line = readWorkerLine(bytes.subarray(0, -1))
  if (line?.kind !== 'batch') throw new Error('not a batch')
  t.equal(line.characters, characters)
  const restored = restoreRecords(line)
  return { line, restored, withoutIds: restored.map(({ id: _id, ...record }) => record) }
}

t.test('what many records have in common is sent once', async t => {
  const operation = '{"protocol":"openai","route":"/v1/chat/completions","method":"POST","status_code":200}'
  const metadata = '{"metadata":{"lifecycle":"request_completed","path":"/"}}'
  const createdAtMs = Date.UTC(2026, 0, 5, 10) + 123.456_5
  const outgoing: OutgoingRecord[] = [
    {
      ...EMPTY_RECORD,
      createdAtMs,
      requestId: 'r1',
      traceId: 'r1',
      latencyMs: 1.5004,
      shared: [operation, '{}', '{}', metadata]
    },
    {
      ...EMPTY_RECORD,
      createdAtMs,
      requestId: 'r2',
      traceId: 't2',
      upstreamLatencyMs: 0.007,
      shared: [operation, '{"provider":"native"}', '{}', metadata]
    },
    {
      ...EMPTY_RECORD,
      createdAtMs,
      inputTokens: 0,
      outputTokens: 5,
      shared: ['{"protocol":"gemini"}', '{}', '{}', metadata],
      others: '{"span_id":"s","metadata":{"first_token_ms":4}}'
    }
  ]
  const { line, restored, withoutIds } = send(new BatchBuilder(), outgoing, 7)
  t.equal(line.sequence, 7)
  t.equal(line.shared.length, 5)
  const common = { protocol: 'openai', route: '/v1/chat/completions', method: 'POST', status_code: 200 }
  const created_at = '2026-01-05T10:00:00.123456Z'
  const shown = { lifecycle: 'request_completed', path: '/' }
  t.same(withoutIds, [
    { created_at, request_id: 'r1', trace_id: 'r1', latency_ms: 1.5, ...common, metadata: shown },
    {
      ...{ created_at, request_id: 'r2', trace_id: 't2', latency_ms: 0, upstream_latency_ms: 0.007 },
      ...{ provider: 'native', ...common },
      metadata: shown
    },
    {
      ...{ created_at, request_id: '', trace_id: '', latency_ms: 0 },
      ...{ input_tokens: 0, output_tokens: 5, total_tokens: 5, span_id: 's', protocol: 'gemini' },
      metadata: { ...shown, first_token_ms: 4 }
    }
  ])
  const [first, second] = restored
  t.equal(Object.keys(first ?? {})[0], 'id', 'files with the records show ids first')
  t.match(first?.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  t.not(first?.id, second?.id)
  t.equal(first?.metadata, second?.metadata)
})

t.test('a batch has nothing of the one before it', async t => {
  const builder = new BatchBuilder()
  const full: OutgoingRecord = {
    ...{ createdAtMs: 1, requestId: 'r', traceId: 't', latencyMs: 1, upstreamLatencyMs: 1, inputTokens: 1 },
    outputTokens: 1,
    costNanos: 1_234_567_891,
    shared: ['{"protocol":"openai"}', '{}', '{}', '{}'],
    others: '{"span_id":"s"}'
  }
  const { restored } = send(builder, [full, full])
  t.same(
    restored.map(({ cost }) => cost),
    [1.234567891, 1.234567891]
  )
  t.equal(builder.count, 0)
  t.equal(builder.characters, 0)
  t.same(send(builder, [EMPTY_RECORD]).withoutIds, [
    { created_at: '1970-01-01T00:00:00.000000Z', request_id: '', trace_id: '', latency_ms: 0 }
  ])
})

t.test('a record costs what all its texts have, shared ones included', async t => {
  const empty = countRecordCharacters(EMPTY_RECORD)
  const record: OutgoingRecord = {
    ...EMPTY_RECORD,
    traceId: 'abc',
    shared: ['{"a":1}', '{}', '{}', '{}'],
    others: '{"b":2}'
  }
  t.equal(countRecordCharacters(record) - empty, 3 + 5 + 7)
  const { restored } = send(new BatchBuilder(), [EMPTY_RECORD])
  t.ok(empty >= JSON.stringify(restored[0]).length, 'the names and the ids of a stored record count as well')
})

t.test('records are restored however their members were divided', async t => {
  const builder = new BatchBuilder()
  const member = fc.constantFrom(...SUMMARY_MEMBERS.filter(name => name !== 'metadata' && name !== 'id'))
  const metadata = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue(), { maxKeys: 4, noNullPrototype: true })
  const count = fc.option(fc.nat(), { nil: undefined })
  const record = fc.record({
    rest: fc.dictionary(member, fc.oneof(fc.string(), fc.integer()), { maxKeys: 12, noNullPrototype: true }),
    time: fc.date({ min: new Date(0), max: new Date(Date.UTC(2100, 0)), noInvalidDate: true }),
    microseconds: fc.nat(999),
    columns: fc.record({ request_id: fc.string(), trace_id: fc.string(), latency_ms: fc.nat().map(us => us / 1000) }),
    upstreamUs: count,
    input_tokens: count,
    output_tokens: count,
    metadata
  })
  fc.assert(
    fc.property(
      fc.array(fc.tuple(record, fc.infiniteStream(fc.nat(4))), { minLength: 1, maxLength: RECORDS_MAX }),
      cases => {
        const records = cases.map(([{ rest, time, microseconds, columns, upstreamUs, ...others }]) => {
          const { input_tokens, output_tokens, metadata } = others
          const total = (input_tokens ?? 0) + (output_tokens ?? 0)
          return parse({
            ...rest,
            ...columns,
            created_at: `${time.toISOString().slice(0, -1)}${String(microseconds).padStart(3, '0')}Z`,
            upstream_latency_ms: upstreamUs === undefined ? undefined : upstreamUs / 1000,
            input_tokens,
            output_tokens,
            total_tokens: input_tokens === undefined && output_tokens === undefined ? undefined : total,
            metadata
          })
        })
        const outgoing = records.map((record, index) => {
          const shared: Array<Record<string, unknown>> = [{}, {}, {}, {}]
          const own: Record<string, unknown> = {}
          const choose = () => cases[index]?.[1].next().value ?? 0
          for (const [name, value] of Object.entries(record)) {
            // What has a column stands there as well, and is the same.
            if (name !== 'metadata') Object.assign(shared[choose()] ?? own, { [name]: value })
          }
          const ownNames = new Set(Object.keys(record.metadata).filter(() => choose() === 0))
          const pick = (isOwn: boolean) =>
            Object.fromEntries(Object.entries(record.metadata).filter(([name]) => ownNames.has(name) === isOwn))
          Object.assign(shared[3] ?? {}, { metadata: pick(false) })
          if (ownNames.size > 0) own.metadata = pick(true)
          const [operation, destination, sender, common] = shared.map(members => JSON.stringify(members))
          const { created_at, request_id, trace_id, latency_ms, upstream_latency_ms } = record
          const { input_tokens, output_tokens } = record
          const columns = { created_at, request_id, trace_id, latency_ms, upstream_latency_ms, input_tokens }
          return divideRecord(parse({ ...own, ...columns, output_tokens }), [
            operation ?? '',
            destination ?? '',
            sender ?? '',
            common ?? ''
          ])
        })
        t.same(send(builder, outgoing).withoutIds, records)
      }
    ),
    { numRuns: 50 }
  )
})

function parse(record: object): TrafficRecord {
  return JSON.parse(JSON.stringify(record)) as TrafficRecord
}

t.test('the ids of a batch grow in the order in which its requests ended', async t => {
  const records = Array.from({ length: 100 }, (_, index) => ({ ...EMPTY_RECORD, requestId: String(index) }))
  const ids = send(new BatchBuilder(), records).restored.map(({ id }) => id)
  t.equal(new Set(ids).size, records.length)
  t.same(ids, ids.toSorted())
})
