import t from 'tap'
import type { TrafficRecord } from '../../../../../shared/traffic/record.ts'
import { createRecord, createRecords } from '../../records.ts'
import { startSink } from './support.ts'

const METADATA = { manual_redaction: { fields: ['request_body'], redacted_at: '2026-01-06T00:00:00.000000Z' } }
const ALL = ['request_body', 'request_headers', 'response_body'] as const

const createWhole = (members: Partial<TrafficRecord> = {}) =>
  createRecord({
    request_headers_redacted: { a: 'header-text' },
    request_body_redacted: { b: 'request-text' },
    response_body_redacted: 'response-text',
    error_message: 'error-text',
    ...members
  })

t.test('a redaction empties the chosen fields of the document and nothing else', async t => {
  for (const isDataStream of [true, false]) {
    const { server, sink } = await startSink(t, { isDataStream })
    const records = [createWhole(), createWhole()]
    await sink.write(records)
    const { id } = records[0] as TrafficRecord
    t.equal(await sink.redact(id, ['request_body'], METADATA), true)
    const [redacted, other] = server.documents().map(({ source }) => source)
    const { request_body_redacted, error_message, metadata, ...rest } = records[0] as TrafficRecord
    t.match(redacted, { ...rest, metadata: { ...metadata, ...METADATA }, has_error: false })
    t.notMatch(JSON.stringify(redacted), /request-text|error-text/)
    t.match(other, records[1], 'the other document stays')
    t.equal(await sink.redact(id, ALL, METADATA), true)
    t.notMatch(JSON.stringify(server.documents()[0]), /-text/)
  }
})

t.test('headers alone leave the error message', async t => {
  const { server, sink } = await startSink(t)
  const record = createWhole()
  await sink.write([record])
  await sink.redact(record.id, ['request_headers'], METADATA)
  t.match(server.documents()[0]?.source, { error_message: 'error-text', response_body_redacted: 'response-text' })
})

t.test('members that look like those of a prototype stay what they are', async t => {
  const { server, sink } = await startSink(t)
  const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
  const record = createWhole({ response_body_redacted: JSON.parse(text) })
  await sink.write([record])
  t.equal(await sink.redact(record.id, ['request_body'], METADATA), true)
  const { source } = server.documents()[0] ?? {}
  t.equal(JSON.stringify(source?.response_body_redacted), text)
  t.notOk(Object.hasOwn(Object.prototype, 'polluted'))
})

t.test('a document in an index that the data stream has left is found', async t => {
  const { server, sink } = await startSink(t)
  const record = createWhole()
  await sink.write([record])
  server.rollOver('gateway-traffic')
  await sink.write(createRecords(1))
  t.equal(await sink.redact(record.id, ALL, METADATA), true)
  t.notMatch(JSON.stringify(server.documents()), /-text/)
})

t.test('a document that changes meanwhile is redacted in its new form', async t => {
  const { server, sink } = await startSink(t)
  const record = createWhole()
  await sink.write([record])
  let changes = 2
  server.beforeReplace = id => {
    if (changes > 0) server.touch(id)
    changes -= 1
  }
  t.equal(await sink.redact(record.id, ALL, METADATA), true)
  t.equal(changes, -1)
  t.notMatch(JSON.stringify(server.documents()), /-text/)
  server.beforeReplace = id => server.touch(id)
  await t.rejects(sink.redact(record.id, ALL, METADATA), { name: 'SearchServerError', message: /changed/ })
})

t.test('a record that is not stored yet is redacted when it arrives', async t => {
  const { server, sink } = await startSink(t)
  const record = createWhole()
  t.equal(await sink.redact(record.id, ['request_body'], METADATA), false)
  t.equal(await sink.redact(record.id, ['response_body'], METADATA), false)
  await sink.write([record])
  t.notMatch(JSON.stringify(server.documents()), /request-text|response-text|error-text/)
  t.match(server.documents()[0]?.source, { metadata: METADATA, request_headers_redacted: { a: 'header-text' } })
})

t.test('a redaction while the server is down is a failure, and the waiting record comes without its content', async t => {
  const { server, sink } = await startSink(t)
  const record = createWhole()
  await server.stop()
  await t.rejects(sink.redact(record.id, ALL, METADATA), { name: 'SearchServerError' })
  await server.start()
  await sink.write([record])
  t.notMatch(JSON.stringify(server.documents()), /-text/)
})

t.test('a redaction while the batch of its record is sent reaches the document', async t => {
  const { server, sink } = await startSink(t)
  const record = createWhole()
  let redaction: Promise<boolean> | undefined
  let answers = 2
  // The document is sent with its content, and stored only after the redaction has searched for it.
  server.failItem = id => {
    redaction ??= sink.redact(id, ALL, METADATA)
    answers -= 1
    return answers > 0 ? { status: 429, type: 'rejected_execution_exception' } : undefined
  }
  await sink.write([record])
  await redaction
  t.equal(server.documents().length, 1)
  t.notMatch(JSON.stringify(server.documents()), /-text/)
})

t.test('a record that an earlier call has stored without a response is redacted too', async t => {
  const { server, sink } = await startSink(t)
  const record = createWhole()
  await sink.write(createRecords(1))
  server.failNext('_bulk', 'lost')
  await t.rejects(sink.write([record]))
  server.failNext('_refresh', 503)
  await t.rejects(sink.redact(record.id, ALL, METADATA))
  await sink.write([record])
  t.equal(server.documents().length, 2)
  t.notMatch(JSON.stringify(server.documents()), /-text/)
})
