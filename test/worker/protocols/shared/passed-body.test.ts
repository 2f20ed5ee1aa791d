import t from 'tap'
import type { JsonObject } from '../../../../worker/normalized/index.ts'
import { dropOwnMembers, reusePassedBody } from '../../../../worker/protocols/shared/passed-body.ts'

/** The bytes that go on for a client's text; undefined when the body is written anew. */
function reuse(text: string | Buffer, change: (body: JsonObject) => JsonObject = renamed): string | undefined {
  const bytes = Buffer.from(text)
  const received = JSON.parse(bytes.toString()) as JsonObject
  return asText(reusePassedBody(bytes, { received, written: change(received), member: 'model' }))
}

const asText = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString())
const renamed = (body: JsonObject): JsonObject => ({ ...body, model: 'exact' })

t.test('the bytes of a body go on with the model renamed and every other member as it is', async t => {
  for (const text of [
    '{"model":"alias","unknown":[1.50,1e3,"\\ud83d",{"model":"alias"}]}',
    '\n { "messages" : [ ] ,\t"model" : "al\\u0069as" }\r\n',
    '{"model":"alias","big":12345678901234567890,"text":"ä\\n😀"}'
  ]) {
    t.equal(reuse(text), text.replace(/"al(i|\\u0069)as"/, '"exact"'))
  }
})

t.test('a body in which more has changed, or that parsers may read in two ways, is written anew', async t => {
  const text = '{"model":"alias","a":{"b":1}}'
  t.equal(
    reuse(text, ({ model: _model, ...rest }) => rest),
    undefined
  )
  t.equal(
    reuse(text, body => ({ ...renamed(body), a: { b: 1 } })),
    undefined
  )
  t.equal(
    reuse(text, body => ({ ...renamed(body), more: 1 })),
    undefined
  )
  for (const twice of [
    '{"model":"alias","a":1,"a":2}',
    '{"model":"x","model":"alias"}',
    '{"model":"alias","a":[{"b":1,"b":2}]}',
    '{"mod\\u0065l":"x","model":"alias"}',
    '{"mod\\u0065l":"alias"}'
  ]) {
    t.equal(reuse(twice), undefined, twice)
  }
  t.equal(reuse(Buffer.from('{"model":"alias","a":"\xff"}', 'latin1')), undefined, 'invalid UTF-8')
  const marked = Buffer.from(`\ufeff${text}`)
  const received = JSON.parse(text) as JsonObject
  t.equal(reusePassedBody(marked, { received, written: renamed(received), member: 'model' }), undefined)
})

t.test('a body whose wire names the model elsewhere goes on as it is', async t => {
  const pass = (text: string, written?: JsonObject) => {
    const received = JSON.parse(text) as JsonObject
    return asText(reusePassedBody(Buffer.from(text), { received, written: written ?? received }))
  }
  t.equal(pass(' {"contents": [ ], "n":1.0}'), ' {"contents": [ ], "n":1.0}')
  t.equal(pass('{"contents":[],"a":1}', { contents: [] }), undefined)
  t.equal(pass('{"contents":[],"contents":[]}'), undefined)
})

t.test('members of the gateway are taken out, and refused where they ask for something', async t => {
  const body: JsonObject = { model: 'alias', unknown: { api_key: 'x' }, metadata: { timeout: 1 } }
  t.equal(dropOwnMembers(body), body)
  t.strictSame(dropOwnMembers({ ...body, extra_body: {}, extra_headers: null, extra_query: {}, api_key: null }), body)
  for (const [name, value] of Object.entries({
    extra_body: { a: 1 },
    additional_fields: { a: 1 },
    extra_headers: { 'x-a': '1' },
    extra_query: { a: '1' },
    api_key: 'secret',
    auth_token: 'secret',
    base_url: 'http://example',
    timeout: 5,
    max_retries: 1,
    proxy: 'http://example',
    http_client: {}
  })) {
    t.throws(() => dropOwnMembers({ ...body, [name]: value }), { code: 'unsupported_semantic', param: name })
  }
})
