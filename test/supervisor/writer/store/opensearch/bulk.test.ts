import t from 'tap'
import type { TrafficRecord } from '../../../../../shared/traffic/record.ts'
import {
  partEntries,
  readBulkOutcomes,
  writeBulkEntry
} from '../../../../../supervisor/writer/store/opensearch/bulk.ts'
import * as fc from '../../../../support/properties.ts'
import { createRecord } from '../../records.ts'

const parse = (lines: string) =>
  lines
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)

t.test('an entry is the action with the id and the record with its added fields', async t => {
  const record = createRecord({ model_requested: 'asked', model_effective: 'used', status_code: 503 })
  const [action, document] = parse(writeBulkEntry(record, 'create', 'gateway-traffic').lines)
  t.strictSame(action, { create: { _index: 'gateway-traffic', _id: record.id } })
  t.strictSame(document, { ...record, '@timestamp': record.created_at, model: 'used', has_error: true })
  const [other] = parse(writeBulkEntry(record, 'index', 'plain').lines)
  t.strictSame(other, { index: { _index: 'plain', _id: record.id } })
})

t.test('the model is the effective one, else the requested one, else null', async t => {
  const modelOf = (members: Partial<TrafficRecord>) =>
    parse(writeBulkEntry(createRecord(members), 'create', 'i').lines)[1]?.model
  t.equal(modelOf({ model_requested: 'asked', model_effective: 'used' }), 'used')
  t.equal(modelOf({ model_requested: 'asked' }), 'asked')
  t.equal(modelOf({}), null)
})

const unusual = fc.constantFrom('a', '\n', '\r', '\u2028', '\ud800', '\u0000', '"', '\\')
const anyText = fc.array(unusual).map(characters => characters.join(''))

t.test('a record with any texts is one line', async () => {
  fc.assert(
    fc.property(anyText, fc.jsonValue(), (text, value) => {
      const record = createRecord({ model_requested: text, request_body_redacted: value as never })
      const { lines, bytes } = writeBulkEntry(record, 'create', 'i')
      const parsed = parse(lines)
      return (
        lines.endsWith('\n') && parsed.length === 2 && parsed[1]?.id === record.id && bytes === Buffer.byteLength(lines)
      )
    })
  )
})

t.test('parts keep the order, lose nothing and stay below the bound', async t => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 400 })), fc.integer({ min: 1, max: 1000 }), (sizes, bytesMax) => {
      const entries = sizes.map(size => writeBulkEntry(createRecord({ route: 'x'.repeat(size) }), 'create', 'i'))
      const parts = partEntries(entries, bytesMax)
      t.strictSame(parts.flat(), entries)
      return parts.every(part => part.length === 1 || part.reduce((sum, { bytes }) => sum + bytes, 0) <= bytesMax)
    })
  )
})

t.test('each status of an item has its outcome', async t => {
  const entry = writeBulkEntry(createRecord(), 'create', 'i')
  const outcome = (status: number, type: string, action: 'create' | 'index' = 'create') => {
    const item = { [action]: { _id: entry.record.id, status, ...(status > 299 && { error: { type } }) } }
    return readBulkOutcomes({ items: [item] }, [entry], action)[0]?.kind
  }
  t.equal(outcome(201, ''), 'stored')
  t.equal(outcome(409, 'version_conflict_engine_exception'), 'duplicate')
  t.equal(outcome(409, 'version_conflict_engine_exception', 'index'), 'busy')
  for (const status of [429, 500, 502, 503, 504]) t.equal(outcome(status, 'rejected_execution_exception'), 'busy')
  t.equal(outcome(400, 'mapper_parsing_exception'), 'refused')
  t.equal(outcome(413, 'too_large'), 'refused')
  t.equal(outcome(400, 'validation_exception'), 'unavailable', 'the server has as many shards as it may have')
  t.equal(outcome(403, 'cluster_block_exception'), 'unavailable', 'the disk of the server is full')
  t.equal(outcome(404, 'index_not_found_exception'), 'unavailable')
})

t.test('a response without the items that were sent is an error without their content', async t => {
  const entry = writeBulkEntry(createRecord(), 'create', 'i')
  const item = { create: { _id: entry.record.id, status: 201 } }
  const broken = [
    undefined,
    'text',
    {},
    { items: [] },
    { items: [item, item] },
    { items: [{ index: item.create }] },
    { items: [{ create: { _id: 'other', status: 201 } }] },
    { items: [{ create: { _id: entry.record.id } }] },
    { items: [null] }
  ]
  for (const body of broken) {
    t.throws(() => readBulkOutcomes(body, [entry], 'create'), { name: 'SearchServerError' }, JSON.stringify(body))
  }
})
