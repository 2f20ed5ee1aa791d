import t from 'tap'
import {
  addStreamId,
  continueBody,
  prepareBody,
  readEnd,
  readMessage,
  writeErrorEvent,
  writeRefusal
} from '../../../../worker/routes/responses-websocket/messages.ts'
import { RecentResponses } from '../../../../worker/routes/responses-websocket/recent-responses.ts'

const read = (text: string) => readMessage(Buffer.from(text))
const texts = (items: readonly Uint8Array[]) => items.map(item => Buffer.from(item).toString())

t.test('memory 19: a message becomes the body of a stream, byte for byte but for what only messages have', async t => {
  const message = read(
    '{"type":"response.create", "stream":false,"stream_id":"a","n": 1.0,"generate":true,"input":[ {"b":1e2} , 7 ]}'
  )
  t.equal(message.body.toString(), '{"n": 1.0,"input":[ {"b":1e2} , 7 ],"stream":true}')
  t.strictSame(texts(message.items), ['{"b":1e2}', '7'])
  t.match(message, { streamId: 'a', isPreparation: false, previousResponseId: undefined })
  t.strictSame(texts(read('{"type":"response.create","input":"x\\n"}').items), [
    '{"type":"message","role":"user","content":"x\\n"}'
  ])
  t.match(read('{"type":"response.create","generate":false}'), { isPreparation: true, items: [] })
})

t.test('memory 19: another message is refused', async t => {
  for (const text of ['', '[]', '{"a"', '7']) t.throws(() => read(text), { code: 'invalid_json' }, text)
  for (const text of ['{}', '{"type":"response.steer"}'])
    t.throws(() => read(text), { code: 'invalid_request', param: 'type' }, text)
  const both = '{"type":"response.create","previous_response_id":"a","conversation":"b"}'
  t.throws(() => read(both), { code: 'invalid_request', param: 'conversation' })
})

t.test('memory 19: a continued body has the history in front of its own input', async t => {
  const message = read('{"type":"response.create","previous_response_id":"resp_1","input":[{"a":1}]}')
  const body = JSON.parse(continueBody(message, [Buffer.from('{"h":1}'), Buffer.from('{"h":2}')]).toString())
  t.strictSame(body, { input: [{ h: 1 }, { h: 2 }, { a: 1 }], stream: true, store: false })
  t.strictSame(JSON.parse(prepareBody(message).toString()), { stream: true, input: '-' })
})

t.test('the last event is known by its type, not by a text that names one', async t => {
  t.equal(readEnd('{"type":"response.output_text.delta","delta":"{\\"type\\":\\"response.completed\\"}"}'), undefined)
  const response = { id: 'resp_1', status: 'completed', store: true, output: [{ a: 1 }] }
  const end = readEnd(JSON.stringify({ sequence_number: 3, type: 'response.completed', response }))
  t.match(end, { id: 'resp_1', isStored: true, isFailed: false })
  t.strictSame(texts(end?.output ?? []), ['{"a":1}'])
  t.match(readEnd('{"type":"error","error":{}}'), { isFailed: true })
  t.match(readEnd('{"type":"response.failed","response":{"id":"r","status":"failed"}}'), { isFailed: true })
})

t.test('memory 19: errors have the form of the public service', async t => {
  t.strictSame(JSON.parse(writeErrorEvent(500, { code: 'c', message: 'm' })), {
    type: 'error',
    status: 500,
    error: { type: 'server_error', code: 'c', message: 'm', param: null }
  })
  const body = JSON.stringify({
    error: { code: 'invalid_request', message: "'input[3].role' …", param: 'input[3].role' }
  })
  t.match(JSON.parse(writeRefusal(429, body, { headers: { 'retry-after': '7' }, historyLength: 2 })), {
    type: 'error',
    status: 429,
    error: { param: 'input[1].role', message: "'input[1].role' …" },
    headers: { 'retry-after': '7' }
  })
  const shown = { 'retry-after': '7', 'x-should-retry': 'false', 'x-ratelimit-remaining-requests': '0' }
  const refused = JSON.parse(writeRefusal(429, body, { headers: { ...shown, date: 'now' }, historyLength: 0 }))
  t.strictSame(refused.headers, shown, 'keys 6: the event has what the client acts on')
  t.notOk('headers' in JSON.parse(writeRefusal(400, body, { headers: { date: 'now' }, historyLength: 0 })))
  t.match(JSON.parse(writeRefusal(502, '<html>', { headers: {}, historyLength: 0 })), {
    status: 502,
    error: { type: 'server_error' }
  })
  t.equal(addStreamId('{"a":1}', 'x"'), '{"a":1,"stream_id":"x\\""}')
})

t.test('memory 19: the last responses of a connection are bounded in number and in bytes', async t => {
  const recent = new RecentResponses(100)
  const shared = Buffer.alloc(60)
  recent.keep('a', [shared])
  // Items of one chain count once.
  recent.keep('b', [shared, Buffer.alloc(30)])
  t.ok(recent.find('a') !== undefined && recent.find('b') !== undefined)
  recent.keep('c', [Buffer.alloc(90)])
  t.equal(recent.find('a'), undefined)
  t.equal(recent.find('b'), undefined)
  t.ok(recent.find('c'))
  recent.keep('d', [Buffer.alloc(101)])
  t.equal(recent.find('d'), undefined, 'one that is too large is not kept')
  for (let index = 0; index < 20; index++) recent.keep(String(index), [Buffer.alloc(1)])
  t.equal(recent.find('3'), undefined)
  t.ok(recent.find('4'))
  recent.forget('4')
  t.equal(recent.find('4'), undefined)
  t.ok(recent.find('5'))
})
