// Completions on an alias whose provider speaks the same wire: everything goes on as it came, but for the changes of decisions.md 72.

import t from 'tap'
import { BASE_FEATURES, FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { aliasOf, edgeProfile } from '../../support/profile-sets.ts'
import { type StubHandler, startStub } from '../../worker/providers/support/stub-upstream.ts'
import { chatAnswer, startBridge } from './executor-support.ts'

let answer = ''
let received = ''
const reply: StubHandler = (request, response) => {
  received = request.body.toString()
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
  response.end(answer)
}
const provider = await startStub(reply)
t.teardown(() => provider.close())
const texts = aliasOf('bridge/text', 'texts', { features: [...BASE_FEATURES, 'text'] })
/** A window that a body of a megabyte fits into. */
const limits = { contextWindow: 1_000_000, maxOutputTokens: 4096 }
const coder = aliasOf('bridge/a', 'coder', { features: FEATURE_NAMES, limits })
const profiles = [
  edgeProfile([coder], { profileId: 'p1', baseUrl: `${provider.origin}/v1` }),
  edgeProfile([texts], { profileId: 'p2', baseUrl: `${provider.origin}/v1` })
]
const gateway = await startBridge(t, { profiles })

interface Answer {
  status: number
  text: string
  contentType: string | null
  /** The notice of fields without effect. */
  ignored: string | null
}

async function ask(body: string): Promise<Answer> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body
  })
  const { status, headers } = response
  const text = await response.text()
  return { status, text, contentType: headers.get('content-type'), ignored: headers.get('x-gateway-ignored') }
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

t.test('a limit above the alias is bounded, with a notice (decisions.md 72)', async t => {
  answer = JSON.stringify(chatAnswer('ok'))
  const response = await ask('{"model":"bridge/a","messages":[{"role":"user","content":"a"}],"max_tokens":100000000}')
  t.equal(response.status, 200)
  t.equal(response.ignored, 'max_tokens')
  t.match(JSON.parse(received), { max_tokens: 4096 })
})

t.test('what the provider wrote stays for a client of its wire (decisions.md 72 and 114)', async t => {
  answer = JSON.stringify(chatAnswer('<think>hm</think>yes'))
  const response = await ask('{"model":"bridge/a","messages":[{"role":"developer","content":"x"}],"stop":["yes"]}')
  t.match(JSON.parse(response.text), {
    model: 'bridge/a',
    choices: [{ message: { content: '<think>hm</think>yes' } }]
  })
  t.match(JSON.parse(received), { model: 'coder', messages: [{ role: 'developer', content: 'x' }], stop: ['yes'] })
})

t.test('members that the gateway does not know arrive, and those of SDKs do not (decisions.md 72)', async t => {
  answer = JSON.stringify(chatAnswer('ok'))
  const members =
    '"n":2,"logprobs":true,"top_logprobs":3,"logit_bias":{"1":-1.0},"top_k":40,"min_p":5e-2,"chat_template_kwargs":{"enable_thinking":false},"provider":{"order":["a"]},"неизвестный":"\\u0041","seed":12345678901234567890'
  const messages =
    '"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]'
  const response = await ask(
    `{"api_key":"secret",${members},"model":"bridge/a","extra_body":{"reasoning":{"max_tokens":1e3}},${messages},"timeout":5}`
  )
  t.equal(response.status, 200)
  t.equal(received, `{${members},"model":"coder","reasoning":{"max_tokens":1e3},${messages}}`)
  t.equal(response.ignored, null)
})

t.test('a wrong shape is the provider’s to refuse, and what the alias does not declare is refused here', async t => {
  answer = '{"error":{"message":"messages[0].role is wrong","code":400}}'
  const wrong = await ask('{"model":"bridge/a","messages":[{"role":5}],"temperature":"warm"}')
  t.match(wrong, { status: 400, text: /messages\[0\].role is wrong/ })
  received = ''
  const image = '{"type":"image_url","image_url":{"url":"https://a.example/a.png"}}'
  for (const members of [
    `"messages":[{"role":5,"content":[${image}]}]`,
    '"messages":[{"role":5}],"tools":[{"type":"function","function":{"name":"f"}}]'
  ]) {
    const refused = await ask(`{"model":"bridge/text",${members}}`)
    t.match(refused, { status: 400, text: /unsupported_semantic/ })
  }
  t.equal(received, '')
})

t.test('a malformed response is refused, and an error in it is an error', async t => {
  const body = '{"model":"bridge/a","messages":[{"role":"user","content":"x"}]}'
  answer = JSON.stringify(chatAnswer('ok')).replace('"stop"', '7')
  t.match(await ask(body), { status: 502, text: /provider_protocol_error/ })
  t.match(gateway.lines.at(-1), { event: 'upstream_call_failed' })
  answer = '{"error":{"message":"Slow down","code":429}}'
  t.match(await ask(body), { status: 429, text: /Slow down/ })
})
