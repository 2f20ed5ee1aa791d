// Completions on an alias whose provider speaks the same wire: bytes pass on where only the model's name has to change.

import t from 'tap'
import { type StubHandler, startStub } from '../../worker/providers/support/stub-upstream.ts'
import { chatAnswer, chatProfile, startBridge } from './executor-support.ts'

let answer = ''
let received = ''
const reply: StubHandler = (request, response) => {
  received = request.body.toString()
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
  response.end(answer)
}
const provider = await startStub(reply)
t.teardown(() => provider.close())
const profiles = [chatProfile('p1', `${provider.origin}/v1`, { 'bridge/a': 'coder' })]
const gateway = await startBridge(t, { profiles })

async function ask(body: string): Promise<{ status: number; text: string; contentType: string | null }> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body
  })
  return { status: response.status, text: await response.text(), contentType: response.headers.get('content-type') }
}

t.test('a request and its response pass byte for byte, but for the name of the model', async t => {
  answer = `${JSON.stringify({ ...chatAnswer('Hi "model": \u00e4'), service_tier: 'x', vendor: { a: 1.0 } }, null, 1)}\n`
  const body = '{"messages" : [{"role":"user","content":"say \\"hi\\""}],"temperature":0.70, "model":"bridge/a"}'
  const response = await ask(body)
  t.equal(response.status, 200)
  t.equal(received, body.replace('"bridge/a"', '"coder"'))
  t.equal(response.text, answer.replace('"upstream-id"', '"bridge/a"'))
  t.equal(response.contentType, 'application/json')
})

t.test('the same holds for a large request', async t => {
  answer = JSON.stringify(chatAnswer('ok'))
  const body = `{"model":"bridge/a","messages":[{"role":"user","content":"${'word \\n'.repeat(150_000)}"}]}`
  const response = await ask(body)
  t.equal(response.status, 200)
  t.ok(received === body.replace('"bridge/a"', '"coder"'))
})

t.test('a text that is no valid JSON is refused at any size, and nothing is sent', async t => {
  for (const filler of ['', 'word '.repeat(200_000)]) {
    received = ''
    const response = await ask(`{"model":"bridge/a","messages":[{"role":"user","content":"a\tb${filler}"}]}`)
    t.equal(response.status, 400)
    t.match(response.text, /invalid_json/)
    t.equal(received, '')
  }
})

t.test('a limit that the alias does not declare is refused with its name', async t => {
  const response = await ask('{"model":"bridge/a","messages":[{"role":"user","content":"a"}],"max_tokens":100000000}')
  t.equal(response.status, 400)
  t.match(JSON.parse(response.text), { error: { param: 'max_tokens', code: 'unsupported_semantic' } })
})

t.test('what has to change goes through the normalized form', async t => {
  answer = JSON.stringify(chatAnswer('<think>hm</think>yes'))
  const response = await ask('{"model":"bridge/a","messages":[{"role":"developer","content":"x"}]}')
  t.match(JSON.parse(response.text), {
    model: 'bridge/a',
    choices: [{ message: { content: 'yes', reasoning_content: 'hm' } }]
  })
  t.match(JSON.parse(received), { model: 'coder', messages: [{ role: 'system', content: 'x' }], stream: false })
})

t.test('a malformed response is refused, and an error in it is an error', async t => {
  const body = '{"model":"bridge/a","messages":[{"role":"user","content":"x"}]}'
  answer = JSON.stringify(chatAnswer('ok')).replace('"stop"', '7')
  t.match(await ask(body), { status: 502, text: /provider_protocol_error/ })
  t.match(gateway.lines.at(-1), { event: 'upstream_call_failed' })
  answer = '{"error":{"message":"Slow down","code":429}}'
  t.match(await ask(body), { status: 429, text: /Slow down/ })
})
