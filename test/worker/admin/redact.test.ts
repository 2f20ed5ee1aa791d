import t from 'tap'
import { readRedactedFields } from '../../../worker/admin/redact.ts'

const read = (body: string) => readRedactedFields(Buffer.from(body))

t.test('without a body, and without fields, everything is redacted', async t => {
  for (const body of ['', '{}', '{"fields":null}']) {
    t.same(read(body), ['request_body', 'request_headers', 'response_body'], body)
  }
  t.same(read('{"fields":["response_body","request_body","response_body"]}'), ['request_body', 'response_body'])
})

t.test('each wrong body has its text', async t => {
  for (const [body, code, message] of [
    ['[]', 'invalid_json', 'Expected JSON object body'],
    ['x', 'invalid_json', 'Expected JSON object body'],
    ['{"fields":"x"}', 'invalid_request', 'Expected fields to be a list of payload field names'],
    ['{"fields":[1]}', 'invalid_request', 'Expected fields to be a list of payload field names'],
    ['{"fields":["zz","metadata"]}', 'invalid_request', 'Unsupported redaction fields: metadata, zz'],
    ['{"fields":["__proto__"]}', 'invalid_request', 'Unsupported redaction fields: __proto__'],
    ['{"fields":[]}', 'invalid_request', 'At least one redaction field is required']
  ] as const) {
    t.throws(() => read(body), { code, status: 400, message }, body)
  }
  const long = JSON.stringify({ fields: Array.from({ length: 1000 }, (_, index) => `${index}`.repeat(1000)) })
  t.throws(() => read(long), { message: /^Unsupported redaction fields: .{0,3000}$/ })
})
