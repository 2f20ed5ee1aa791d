import t from 'tap'
import { summarize, type TrafficSummary } from '../../../shared/traffic/query.ts'
import { CSV_COLUMNS, CSV_HEADER, writeCsvRow } from '../../../worker/admin/csv.ts'
import { createRecord } from '../../supervisor/writer/records.ts'
import * as fc from '../../support/properties.ts'

function summaryWith(members: Partial<TrafficSummary>): TrafficSummary {
  return { ...summarize(createRecord()), ...members }
}

t.test('the header has the 31 columns of the contract', async t => {
  t.equal(
    CSV_HEADER,
    'id,created_at,request_id,trace_id,span_id,protocol,route,method,status_code,model_requested,model_effective,provider,' +
      'upstream_status_code,latency_ms,upstream_latency_ms,input_tokens,output_tokens,total_tokens,error_type,api_key_hash,' +
      'has_request_body,has_response_body,api_key_name,cost,currency,alias,profile_id,error_code,error_field,is_stream,first_content_ms\r\n'
  )
  t.equal(CSV_COLUMNS.length, 31)
})

t.test('null is empty, booleans are words, times have an offset, and only what needs quotes has them', async t => {
  const id = '0198c0de-0000-7000-8000-000000000000'
  const row = writeCsvRow(summaryWith({ id, trace_id: 'a,"b"\r\n', latency_ms: 12, has_request_body: true }))
  t.equal(
    row,
    `${id},2026-01-05T10:00:00.123456+00:00,request,"a,""b""\r\n",,openai,/v1/chat/completions,POST,200,,,,,12,,,,,,,True,False,,,,,,,,False,\r\n`
  )
})

t.test('keys 17: a cost is a number with its currency', async t => {
  t.ok(writeCsvRow(summaryWith({ cost: 0.001234567, currency: 'USD' })).endsWith(',0.001234567,USD,,,,,False,\r\n'))
})

t.test('a cell that a spreadsheet would run is a text', async t => {
  for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '\0', '\u0085', '\uff1d', '\uff0b', '\uff0d', '\uff20']) {
    const [, , cell] = writeCsvRow(summaryWith({ request_id: `${start}1+1` })).split(',')
    t.equal(cell, /[\r\n]/.test(start) ? `"'${start}1+1"` : `'${start}1+1`)
  }
  const quoted = writeCsvRow(summaryWith({ request_id: '=HYPERLINK("http://x","y")' }))
  t.ok(quoted.includes(',"\'=HYPERLINK(""http://x"",""y"")",'))
})

t.test('a row with any cells is read back as these cells', async () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.anyCharacter }), { minLength: 4, maxLength: 4 }), texts => {
      const [request_id = '', trace_id = '', model_requested = '', error_type = ''] = texts
      const row = writeCsvRow(summaryWith({ request_id, trace_id, model_requested, error_type }))
      const cells = readRow(row)
      const expected = texts.map(text =>
        /^(?:[=+\-@\uff1d\uff0b\uff0d\uff20]|\p{Cc})/u.test(text) ? `'${text}` : text
      )
      const read = ['request_id', 'trace_id', 'model_requested', 'error_type'].map(
        name => cells[CSV_COLUMNS.indexOf(name as never)]
      )
      return cells.length === 31 && expected.every((text, index) => read[index] === text)
    })
  )
})

/** A reader of RFC 4180. */
function readRow(row: string): string[] {
  const cells: string[] = []
  let at = 0
  for (;;) {
    let cell = ''
    if (row[at] === '"') {
      at += 1
      for (;;) {
        const quote = row.indexOf('"', at)
        cell += row.slice(at, quote)
        at = quote + 1
        if (row[at] !== '"') break
        cell += '"'
        at += 1
      }
    } else {
      const end = /[,\r]/.exec(row.slice(at))?.index ?? 0
      cell = row.slice(at, at + end)
      at += end
    }
    cells.push(cell)
    if (row[at] !== ',') return cells
    at += 1
  }
}
