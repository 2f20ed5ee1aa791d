// Faults on demand: errors, cut and malformed streams, missing responses; and how client disconnects are counted.
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { planStream } from '../../../ops/emulator/stream-writer.ts'
import { joinTextV1, joinTextV2, openChat, readFrames, readPayloads, startClient } from './support.ts'

const stream = { stream: true }

t.test('the error directive sets status, body and retry-after', async t => {
  const { chatV1, chatV2 } = await startClient(t)
  const limited = await chatV1('[[error:429 retry=2]]')
  t.equal(limited.status, 429)
  t.equal(limited.headers['retry-after'], '2')
  t.same(JSON.parse(limited.text), { status: 429, message: 'Too Many Requests' })
  const named = await chatV2('[[error:422 message=no "such" thing]]', stream)
  t.same(JSON.parse(named.text), { status: 422, message: 'no "such" thing' })
  const html = await chatV1('[[error:502]]')
  t.equal(html.status, 502)
  t.equal(html.headers['content-type'], 'text/html')
  t.match(html.text, /<h1>502 Bad Gateway<\/h1>/)
  t.equal((await chatV1('[[error:204]]')).text, '')
})

t.test('a flaky prompt fails the given number of times, succeeds once, and then starts again', async t => {
  const { chatV1 } = await startClient(t)
  const statuses: number[] = []
  for (let index = 0; index < 6; index++) statuses.push((await chatV1('[[flaky:2:503]]')).status)
  t.same(statuses, [503, 503, 200, 503, 503, 200])
})

t.test('a stream that is written in pieces of UTF-8 sequences still holds its text', async t => {
  const { chatV1 } = await startClient(t)
  const response = await chatV1('[[split:1]][[text:Привет 😀]]', stream)
  t.ok(response.reads.length > 100)
  t.ok(
    response.reads.some(read => read.toString('utf8').includes('\ufffd')),
    'some reads end inside a UTF-8 sequence'
  )
  t.equal(joinTextV1(response.text), 'Привет 😀')
  const plain = await chatV1('[[split:3]][[text:Привет]]')
  t.equal(plain.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(JSON.parse(plain.text).choices[0].message.content, 'Привет')
})

t.test('framing directives change the bytes of a stream, but not its content', async t => {
  const { chatV1, chatV2 } = await startClient(t)
  const crlf = await chatV2('[[crlf]][[text:a b]]', stream)
  t.notOk(/[^\r]\n/.test(crlf.text))
  t.equal(joinTextV2(crlf.text), 'a b')
  const ping = await chatV1('[[ping]][[nospace]][[text:a b]]', stream)
  t.match(ping.text, /^: ping\n\ndata:\{/)
  t.equal(joinTextV1(ping.text), 'a b')
  const multi = await chatV2('[[multiline]][[noname]][[done]][[text:a b]]', stream)
  t.notMatch(multi.text, /event:/)
  t.ok(multi.text.split('\n').filter(line => line.startsWith('data:')).length > 20)
  t.equal(joinTextV2(multi.text), 'a b')
  t.equal(readFrames(multi.text).at(-1)?.data, '[DONE]')
})

t.test('len and bigtext produce the given number of deltas and bytes', async t => {
  const { chatV1 } = await startClient(t)
  const many = readPayloads((await chatV1('[[len:50]]', stream)).text)
  t.equal(many.length, 51)
  t.equal(many[49].choices[0].delta.content, 'word50')
  t.equal(readPayloads((await chatV1('[[len:3]][[text:abcdef]]', stream)).text)[1].choices[0].delta.content, 'cd')
  const big = JSON.parse((await chatV1('[[bigtext:3000000]]')).text).choices[0].message.content
  t.equal(big.length, 3_000_000)
  t.equal(joinTextV1((await chatV1('[[bigtext:3000000]]', stream)).text), big)
})

t.test('a stream can end without its finish frame or without its end marker', async t => {
  const { chatV1, chatV2 } = await startClient(t)
  const noEnd = await chatV1('[[noeof]][[chunks:a|b]]', stream)
  t.notOk(noEnd.isBroken)
  t.same(
    readPayloads(noEnd.text).map(payload => payload.choices[0].finish_reason),
    [undefined, undefined]
  )
  t.notMatch(noEnd.text, /DONE/)
  const noDone = await chatV1('[[nodone]][[text:a]]', stream)
  t.equal(readPayloads(noDone.text).at(-1).choices[0].finish_reason, 'stop')
  t.notMatch(noDone.text, /DONE/)
  t.notMatch((await chatV2('[[noeof]]', stream)).text, /message\.done/)
})

t.test('a destroyed connection cuts the response in the middle', async t => {
  const { chatV1, chatV2, emulator } = await startClient(t)
  const cut = await chatV1('[[die]][[len:10]]', stream)
  t.ok(cut.isBroken)
  t.equal(readPayloads(cut.text).length, 6)
  const counted = await chatV2('[[die:2]][[len:10]]', stream)
  t.ok(counted.isBroken)
  t.equal(readPayloads(counted.text).length, 2)
  const plain = await chatV1('[[die]]')
  t.ok(plain.isBroken)
  t.ok(plain.text.length > 0)
  await t.rejects(chatV1('[[die:0]]'), { code: 'ECONNRESET' })
  await emulator.waitFor(({ stats }) => stats.activeRequests === 0)
  t.equal(emulator.stats.aborted, 0, 'no client disconnect is counted')
})

t.test('a broken frame or an error frame is sent in the middle of a stream', async t => {
  const { chatV1, chatV2 } = await startClient(t)
  const bad = readFrames((await chatV1('[[badframe]][[chunks:a|b]]', stream)).text)
  t.throws(() => JSON.parse(bad[1]!.data))
  t.equal(JSON.parse(bad[2]!.data).choices[0].delta.content, 'b')
  const error = readFrames((await chatV2('[[errframe:503 message=gone]][[len:4]]', stream)).text)
  t.equal(error.length, 3)
  t.same(error.at(-1), { event: 'response.error', data: '{"status":503,"message":"gone"}' })
  const v1 = readFrames((await chatV1('[[errframe]][[len:2]]', stream)).text)
  t.same(JSON.parse(v1.at(-1)!.data), { status: 500, message: 'Internal Server Error' })
})

t.test('a 200 can have an unusable body or a wrong content type', async t => {
  const { chatV1 } = await startClient(t)
  for (const [kind, body] of [
    ['', '{"choices":[{"message":{"content":"cut of'],
    [':empty', ''],
    [':array', '[]'],
    [':null', 'null'],
    [':nonsense', 'nonsense']
  ]) {
    const response = await chatV1(`[[badjson${kind}]]`)
    t.equal(response.status, 200)
    t.equal(response.text, body)
  }
  const html = await chatV1('[[ctype:text/html]]', stream)
  t.equal(html.headers['content-type'], 'text/html')
  t.match(html.text, /^<html>/)
  const json = await chatV1('[[ctype:application/json]]', stream)
  t.equal(json.headers['content-type'], 'application/json')
})

t.test('a response can be compressed and have additional headers', async t => {
  const { chatV1, call } = await startClient(t)
  const messages = [{ role: 'user', content: '[[gzip]][[header:x-extra=1]][[text:packed]]' }]
  for (const isStream of [false, true]) {
    const response = await call('/api/v1/chat/completions', {
      headers: { 'accept-encoding': 'gzip, deflate' },
      body: { model: 'GigaChat', messages, stream: isStream }
    })
    t.equal(response.headers['content-encoding'], 'gzip')
    t.equal(response.headers['x-extra'], '1')
    t.match(gunzipSync(Buffer.concat(response.reads)).toString(), /packed/)
  }
  t.notOk('content-encoding' in (await chatV1('[[gzip]]')).headers)
})

t.test('slow and tick delay a response without changing its content', async t => {
  const { chatV1 } = await startClient(t, { tickMs: 1 })
  const slow = await chatV1('[[slow:20]][[text:late]]')
  t.equal(JSON.parse(slow.text).choices[0].message.content, 'late')
  const ticking = await chatV1('[[tick:5]][[len:4]]', stream)
  t.equal(joinTextV1(ticking.text), 'word1 word2 word3 word4')
  t.ok(ticking.reads.length > 1)
  t.equal(joinTextV1((await chatV1('[[len:4]]', stream)).text), 'word1 word2 word3 word4')
})

for (const [name, prompt, isStream] of [
  ['before the headers', '[[hang]]', false],
  ['after the headers', '[[hang:0]]', false],
  ['in a stream', '[[hang:1]][[len:5]]', true],
  ['within a slow stream', '[[tick:50]][[len:500]]', true],
  ['before a slow response', '[[slow:60000]]', false],
  ['within a stream that the client does not read', '[[bigtext:20000000]]', true]
] as const) {
  t.test(`a client disconnect ${name} is counted as aborted immediately`, async t => {
    const client = await startClient(t)
    const { emulator } = client
    const request = openChat(client, prompt, { stream: isStream })
    await emulator.waitFor(
      ({ stats, requests }) => stats.activeChatRequests === 1 && requests.at(-1)?.body !== undefined
    )
    if (prompt !== '[[hang]]' && !prompt.startsWith('[[slow'))
      await new Promise(resolve => request.once('response', resolve))
    request.destroy()
    await emulator.waitFor(({ stats }) => stats.aborted === 1)
    t.match(emulator.requests.at(-1), { aborted: true, finished: false })
    t.equal(emulator.stats.activeChatRequests, 0)
  })
}

t.test('a client disconnect within the request body is counted as aborted', async t => {
  const { emulator, token } = await startClient(t)
  const socket = connect(emulator.port, '127.0.0.1')
  socket.write(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 100\r\n\r\n{"mod`
  )
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  socket.destroy()
  await emulator.waitFor(({ stats }) => stats.aborted === 1)
  t.equal(emulator.requests.at(-1)?.status, null)
})

t.test('a body over the size limit is refused and the connection is closed', async t => {
  const { chatV1 } = await startClient(t, { bodyBytesMax: 1000 })
  const response = await chatV1('x'.repeat(100_000))
  t.equal(response.status, 413)
  t.same(JSON.parse(response.text), { status: 413, message: 'Payload too large' })
  t.equal(response.headers.connection, 'close')
  t.equal((await chatV1('small')).status, 200)
})

t.test('a planned stream ends after the number of frames in the directive', async t => {
  const frames = ['1', '2', '3'].map(data => ({ event: null, data, kind: 'delta' as const }))
  const step = { calls: [], builtins: [] }
  const whole = { errorFrame: null, isArray: false }
  t.same(planStream(frames, { ...whole, step: { ...step, hangAfterFrames: 0 } }), { blocks: [], ending: 'hang' })
  t.same(planStream(frames, { ...whole, step: { ...step, breakAfterFrames: 'middle' } }), {
    blocks: ['data: 1\n\n', 'data: 2\n\n'],
    ending: 'destroy'
  })
  t.same(planStream([], { ...whole, step }), { blocks: [], ending: 'end' })
})
