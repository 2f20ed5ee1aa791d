import fc from 'fast-check'
import t from 'tap'
import {
  countRecordCharacters,
  type OutgoingRecord,
  restoreRecords,
  writeBatch
} from '../../../shared/traffic/batch.ts'
import { readWorkerLine } from '../../../shared/traffic/messages.ts'
import { SUMMARY_MEMBERS, type TrafficRecord } from '../../../shared/traffic/record.ts'

/** What the writer reads of a batch of these records. */
function send(records: readonly OutgoingRecord[], sequence = 1) {
  const bytes = writeBatch(sequence, records)
  t.equal(bytes.indexOf('\n'), bytes.length - 1, 'a batch is one line')
  const line = readWorkerLine(bytes.subarray(0, -1))
  if (line?.kind !== 'batch') throw new Error('not a batch')
  return { line, restored: restoreRecords(line) }
}

t.test('what many records have in common is sent once', async t => {
  const operation = '{"protocol":"openai","route":"/v1/chat/completions","method":"POST","status_code":200}'
  const metadata = '{"metadata":{"lifecycle":"request_completed","path":"/"}}'
  const outgoing = [
    { shared: [operation, metadata], own: '{"id":"1","latency_ms":1.5}' },
    { shared: [operation, metadata], own: '{"id":"2"}' },
    { shared: ['{"protocol":"gemini"}', metadata], own: '{"id":"3","metadata":{"first_token_ms":4}}' }
  ]
  const { line, restored } = send(outgoing, 7)
  t.equal(line.sequence, 7)
  t.equal(line.shared.length, 3)
  const texts = outgoing.flatMap(({ shared, own }) => [...shared, own])
  t.equal(line.characters, texts.join('').length, 'shared texts count for each record')
  const common = { protocol: 'openai', route: '/v1/chat/completions', method: 'POST', status_code: 200 }
  const shown = { lifecycle: 'request_completed', path: '/' }
  t.same(restored, [
    { id: '1', latency_ms: 1.5, ...common, metadata: shown },
    { id: '2', ...common, metadata: shown },
    { id: '3', protocol: 'gemini', metadata: { ...shown, first_token_ms: 4 } }
  ])
  t.equal(Object.keys(restored[0] ?? {})[0], 'id', 'files with the records show ids first')
})

t.test('a record costs what all its texts have, shared ones included', async t => {
  t.equal(countRecordCharacters({ shared: ['{"a":1}', '{}'], own: '{"b":2}' }), 16)
})

t.test('records are restored however their members were divided', async t => {
  const member = fc.constantFrom(...SUMMARY_MEMBERS.filter(name => name !== 'metadata'))
  const metadata = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue(), { maxKeys: 4, noNullPrototype: true })
  const record = fc.record({
    members: fc.dictionary(member, fc.oneof(fc.string(), fc.integer()), { maxKeys: 12, noNullPrototype: true }),
    metadata
  })
  fc.assert(
    fc.property(fc.array(fc.tuple(record, fc.infiniteStream(fc.nat(2))), { minLength: 1, maxLength: 12 }), cases => {
      const records = cases.map(([{ members, metadata }]) => parse({ ...members, metadata }))
      const outgoing = cases.map(([{ members, metadata }, choices]) => {
        const parts: Array<Record<string, unknown>> = [{}, {}, {}]
        const choose = (): Record<string, unknown> => parts[choices.next().value ?? 0] ?? {}
        for (const [name, value] of Object.entries(members)) choose()[name] = value
        const [first = {}, second = {}, own = {}] = parts
        const names = Object.keys(metadata)
        const ownNames = new Set(names.filter(() => choices.next().value === 0))
        const pick = (isOwn: boolean) => names.filter(name => ownNames.has(name) === isOwn)
        second.metadata = Object.fromEntries(pick(false).map(name => [name, metadata[name]]))
        if (ownNames.size > 0) own.metadata = Object.fromEntries(pick(true).map(name => [name, metadata[name]]))
        return { shared: [JSON.stringify(first), JSON.stringify(second)], own: JSON.stringify(own) }
      })
      t.same(send(outgoing).restored, records)
    }),
    { numRuns: 50 }
  )
})

function parse(record: object): TrafficRecord {
  return JSON.parse(JSON.stringify(record)) as TrafficRecord
}
