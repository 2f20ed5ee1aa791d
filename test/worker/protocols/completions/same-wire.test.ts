import t from 'tap'
import { type JsonObject, writeToolCallId } from '../../../../worker/normalized/index.ts'
import { completionsSameWire } from '../../../../worker/protocols/completions/same-wire.ts'
import type { SameWireTarget } from '../../../../worker/protocols/provider-face.ts'
import { editBody } from '../../../../worker/protocols/shared/json/spans.ts'
import { writeStateSignature } from '../../../../worker/protocols/shared/state-signature.ts'
import { options, readRequest } from './provider/support.ts'

const messages = '"messages":[{"role":"user","content":"a"}]'

/** The text that is sent for a client's text, and the fields that have no effect. */
function send(text: string, target: Partial<SameWireTarget> = {}): [string | undefined, readonly string[] | undefined] {
  const body = JSON.parse(text) as JsonObject
  const isStream = body.stream === true
  const written = completionsSameWire.writeChat(body, { upstreamModel: 'exact', isStream, ...target }, options)
  return [editBody(Buffer.from(text), body, written.edits)?.toString(), written.leftOut]
}

const only = (text: string, target?: Partial<SameWireTarget>) => send(text, target)[0]

t.test(
  'every member of a request arrives as the client wrote it, with the model renamed (decisions.md 72)',
  async t => {
    for (const text of [
      `{"model":"alias",${messages}}`,
      `{ "model" :\n"alias", ${messages}, "n": 2, "logprobs":true, "top_logprobs":5,"logit_bias":{"50256":-1e2} }\n`,
      `{${messages},"top_k":40,"min_p":0.050,"chat_template_kwargs":{"enable_thinking":false},"model":"alias","stop":[]}`,
      `{"model":"alias",${messages},"provider":{"order":["a"]},"seed":12345678901234567890,"tools":[{"type":"custom","custom":{"name":"c"}}]}`,
      `{"model":"alias",${messages},"functions":[{"name":"f"}],"function_call":"auto","temperature":null,"метка":"\\u041f"}`,
      '{"model":"alias","messages":[{"role":"developer","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":"","reasoning_content":"because","tool_calls":[{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{\\"city\\": oops}"}}]},{"role":"tool","tool_call_id":"functions.f:0","content":"r"}]}',
      `{"model":"alias",${messages},"stream":true,"stream_options":{ "include_usage" : true,"include_obfuscation":false}}`,
      `{"model":"alias","messages":[{"role":"assistant","content":"\\ud83d","reasoning_details":[{"type":"reasoning.text","text":"x","signature":"abc"}],"tool_calls":[{"id":"c","extra_content":{"google":{"thought_signature":"QUJD"}}}]}]}`
    ]) {
      t.equal(only(text), text.replace('"alias"', '"exact"'))
      t.equal(send(text)[1], undefined)
    }
  }
)

t.test('the usage of a stream is asked for', async t => {
  const options = (text: string) => only(`{"model":"m",${messages},${text}}`)?.split(`${messages},`)[1]
  t.equal(options('"stream":true'), '"stream":true,"stream_options":{"include_usage":true}}')
  t.equal(options('"stream_options":null,"stream":true'), '"stream_options":{"include_usage":true},"stream":true}')
  t.equal(
    options('"stream_options":{"include_usage":false,"x":1},"stream":true'),
    '"stream_options":{"include_usage":true,"x":1},"stream":true}'
  )
  t.equal(options('"stream_options":{},"stream":true'), '"stream_options":{"include_usage":true},"stream":true}')
  t.equal(options('"stream":false'), '"stream":false}')
})

t.test('the output limit is bounded, and named as the alias says (decisions.md 72 and 74)', async t => {
  const limits = (text: string, target: Partial<SameWireTarget> = {}) => {
    const [sent, leftOut] = send(`{"model":"m",${messages},${text}}`, target)
    return [sent?.split(`${messages}`)[1]?.slice(0, -1), leftOut]
  }
  const mct = { outputLimitField: 'max_completion_tokens' } as const
  t.same(limits('"max_completion_tokens":9'), [',"max_completion_tokens":9', undefined])
  t.same(limits('"max_tokens":9,"x":1', mct), [',"max_completion_tokens":9,"x":1', undefined])
  t.same(limits('"max_tokens":9,"max_completion_tokens":8', mct), [',"max_completion_tokens":8', undefined])
  t.same(limits('"max_completion_tokens":1e1', { outputLimitField: 'max_tokens' }), [',"max_tokens":1e1', undefined])
  t.same(limits('"max_tokens":101', { outputTokensMax: 100 }), [',"max_tokens":100', ['max_tokens']])
  t.same(limits('"max_tokens":101', { outputTokensMax: 100, ...mct }), [',"max_completion_tokens":100', ['max_tokens']])
  t.same(limits('"max_tokens":100,"max_completion_tokens":null', { outputTokensMax: 100 }), [
    ',"max_tokens":100,"max_completion_tokens":null',
    undefined
  ])
  t.same(limits('"max_output_tokens":7'), [',"max_tokens":7', undefined])
  t.same(limits('"max_tokens":"many"', { outputTokensMax: 100 }), [',"max_tokens":"many"', undefined])
})

t.test('an effort that the alias does not declare is left out under both of its names (decisions.md 74)', async t => {
  const text = `{"model":"m",${messages},"reasoning_effort":"high","reasoning":{"effort":"high","exclude":true}}`
  t.same(send(text, { features: ['text'] }), [
    `{"model":"exact",${messages},"reasoning":{"exclude":true}}`,
    ['reasoning_effort', 'reasoning.effort']
  ])
  t.equal(only(text, { features: ['reasoning_effort'] }), text.replace('"m"', '"exact"'))
})

t.test(
  'another model or provider is not chosen behind the alias, and a client is told so (specification.md 1.1)',
  async t => {
    const text = `{"models":["x"],"model":"m",${messages},"fallbacks":[],"route":"fallback","extra_body":{"models":["y"],"top_k":1.0}}`
    t.same(send(text), [
      `{"model":"exact",${messages},"top_k":1.0}`,
      ['extra_body.models', 'models', 'fallbacks', 'route']
    ])
    t.same(send(`{"model":"m",${messages},"models":null}`), [`{"model":"exact",${messages}}`, undefined])
  }
)

t.test('what only the gateway wrote is taken out of the history (decisions.md 72)', async t => {
  const signature = writeStateSignature({ messages_compatible: { signature: 'x' } })
  const kept = { type: 'reasoning.text', text: 'mine', signature: 'abc' }
  const id = writeToolCallId({ stateId: undefined, name: 'look_up_the_weather', callNumber: 0, nonce: 'n'.repeat(36) })
  t.ok(id.length > 40)
  const body = {
    model: 'm',
    messages: [
      {
        role: 'assistant',
        content: 'a',
        reasoning_details: [{ type: 'reasoning.encrypted', data: signature, index: 0 }, kept],
        tool_executions: [],
        files: [{ id: 'f' }],
        inline_data: {},
        tool_calls: [
          { id, type: 'function', extra_content: { google: { thought_signature: signature } } },
          { id: 'b', type: 'function' }
        ]
      },
      { role: 'tool', tool_call_id: id, content: 'r', functions_state_id: 's' },
      { role: 'assistant', content: 'b', reasoning_details: [{ type: 'reasoning.text', text: 'c', signature }] }
    ]
  }
  const sent = JSON.parse(only(JSON.stringify(body)) ?? '')
  const {
    messages: [first, result, last]
  } = sent
  t.strictSame(first, {
    role: 'assistant',
    content: 'a',
    reasoning_details: [kept],
    tool_calls: [
      { id: first.tool_calls[0].id, type: 'function' },
      { id: 'b', type: 'function' }
    ]
  })
  t.match(first.tool_calls[0].id, /^call_[A-Za-z0-9_-]{32}$/)
  t.strictSame(result, { role: 'tool', tool_call_id: first.tool_calls[0].id, content: 'r' })
  t.strictSame(last, { role: 'assistant', content: 'b' })
})

t.test(
  'ids that no service of the wire takes are shortened, a call and its result alike (decisions.md 75)',
  async t => {
    const id = 'chatcmpl-tool-0123456789abcdef0123456789abcdef'
    const body = {
      model: 'm',
      messages: [
        { role: 'assistant', tool_calls: [{ id }] },
        { role: 'tool', tool_call_id: id }
      ]
    }
    const [turn, result] = JSON.parse(only(JSON.stringify(body)) ?? '').messages
    t.match(result.tool_call_id, /^call_[A-Za-z0-9_-]{32}$/)
    t.equal(turn.tool_calls[0].id, result.tool_call_id)
  }
)

t.test('what decides on admission is known without reading the body', async t => {
  const { readFacts } = completionsSameWire
  t.strictSame(readFacts({ stream: true, stream_options: { include_usage: true }, tools: [1] }), {
    isStream: true,
    wantsStreamUsage: true,
    hasTools: true
  })
  t.strictSame(readFacts({ stream: 'yes', stream_options: 7, tools: {}, functions: [] }), {
    isStream: false,
    wantsStreamUsage: false,
    hasTools: false
  })
  t.equal(readFacts({ functions: [{}] }).hasTools, true)
})

t.test(
  'what the alias does not declare is left out or refused on its own wire too (decisions.md 69 and 74)',
  async t => {
    const text = (members: string) => `{"model":"m",${messages},${members}}`
    const effort = text('"reasoning_effort":"high","n":2,"logprobs":true')
    t.same(send(effort, { features: ['reasoning_effort'] })[1], undefined)
    t.same(send(effort, { features: [] }), [
      text('"n":2,"logprobs":true').replace('"m"', '"exact"'),
      ['reasoning_effort']
    ])
    const json = text('"response_format":{"type":"json_object"}')
    t.equal(only(json, { features: ['json_object_output'] }), json.replace('"m"', '"exact"'))
    t.throws(() => send(json, { features: [] }), { code: 'unsupported_response_format', param: 'response_format.type' })
  }
)

t.test(
  'media that the alias cannot read are described in the history, and refused in the newest turn (decisions.md 72)',
  async t => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
    const sendMedia = (list: JsonObject[], features: readonly string[]) => {
      const body = { model: 'm', messages: list, n: 2 }
      const read = readRequest('completions', body).messages
      const [sent, leftOut] = send(JSON.stringify(body), { messages: read, features })
      return [JSON.parse(sent ?? '').messages, leftOut]
    }
    const user = { role: 'user', content: [{ type: 'text', text: 'see' }, image] }
    const answer = { role: 'assistant', content: 'seen' }
    const question = { role: 'user', content: 'and?' }
    const described = { type: 'text', text: '[image/png, 3 bytes: this model reads no images]' }
    t.strictSame(sendMedia([user, answer, question], []), [
      [{ role: 'user', content: [{ type: 'text', text: 'see' }, described] }, answer, question],
      ['messages[0].content[1]']
    ])
    t.strictSame(sendMedia([user, answer, question], ['image_references']), [[user, answer, question], undefined])
    t.throws(() => sendMedia([question, answer, user], []), {
      code: 'unsupported_semantic',
      param: 'messages[2].content[1]'
    })
    const call = {
      role: 'assistant',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
    }
    const result = { role: 'tool', tool_call_id: 'a', content: [image] }
    t.strictSame(sendMedia([question, call, result], []), [
      [question, call, { ...result, content: [described] }],
      ['messages[2].content[0]']
    ])
  }
)
