// Responses on their way to a provider of the same protocol, and its responses back (decisions.md 72 and 86).

import t from 'tap'
import { GatewayError, type JsonObject } from '../../../../worker/normalized/index.ts'
import type { ResponseHead, SameWireTarget } from '../../../../worker/protocols/provider-face.ts'
import { createResponsesStreamWriter } from '../../../../worker/protocols/responses/client/stream.ts'
import { responsesCompatibleFace } from '../../../../worker/protocols/responses/provider/face.ts'
import { responsesSameWire } from '../../../../worker/protocols/responses/same-wire.ts'
import { editBody } from '../../../../worker/protocols/shared/json/spans.ts'
import { joinFrames } from '../../../../worker/protocols/shared/stream/stream-frames.ts'
import { message, options, readRequest, stream, text } from './provider/support.ts'

function send(body: string, target: Partial<SameWireTarget> = {}) {
  const parsed = JSON.parse(body) as JsonObject
  const isStream = parsed.stream === true
  const { messages } = readRequest('responses', parsed)
  const call = responsesSameWire.writeChat(
    parsed,
    { upstreamModel: 'exact-model', isStream, messages, ...target },
    options
  )
  const bytes = editBody(Buffer.from(body), parsed, call.edits)
  t.same(JSON.parse(String(bytes)), call.body, 'the bytes say what observers are shown')
  return { ...call, bytes: String(bytes) }
}

t.test('a body arrives byte for byte, with the model renamed', async t => {
  const body =
    '{ "model":"alias", "input":[{"type":"reasoning","id":"rs_68a","summary":[],"encrypted_content":"gAAAA"},' +
    '{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"\\u00fc"}},' +
    '{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"x"},' +
    '{"type":"custom_tool_call_output","call_id":"c","output":"ok"},' +
    '{"role":"user","content":"hi"}],' +
    '"tools":[{"type":"web_search","external_web_access":true},{"type":"custom","name":"apply_patch",' +
    '"format":{"type":"grammar","syntax":"lark","definition":"start: x"}},{"type":"function","name":"f","strict":true,' +
    '"parameters":{"type":"object","const":12345678901234567890}}], "previous_response_id":"resp_1","store":true,' +
    '"include":["reasoning.encrypted_content"],"temperature":1.0,"unknown":{"a":1e2} }'
  const sent = send(body)
  t.equal(sent.bytes, body.replace('"alias"', '"exact-model"'))
  t.equal(sent.path, '/v1/responses')
  t.equal(sent.leftOut, undefined)
})

t.test(
  'what belongs to SDKs, to the gateway or behind the alias is taken out, with notice where it asks for something',
  async t => {
    const { body, leftOut } = send(
      JSON.stringify({
        model: 'alias',
        input: 'hi',
        api_key: 'secret',
        timeout: 5,
        models: ['other'],
        extra_body: { service_tier: 'flex', model: 'other' }
      })
    )
    t.same(body, { model: 'exact-model', input: 'hi', service_tier: 'flex' })
    t.same(leftOut, ['extra_body.model', 'models'])
  }
)

t.test('limits and features of the alias hold', async t => {
  const high = send('{"model":"a","input":"x","max_output_tokens":9000}', { outputTokensMax: 4096 })
  t.equal(high.body.max_output_tokens, 4096)
  t.same(high.leftOut, ['max_output_tokens'])
  // The name of chat completions is the limit too, so that what is admitted is what is sent.
  const other = send('{"model":"a","max_tokens":9000,"input":"x"}', { outputTokensMax: 4096 })
  t.equal(other.bytes, '{"model":"exact-model","max_output_tokens":4096,"input":"x"}')
  t.same(other.leftOut, ['max_tokens'])
  const both = send('{"model":"a","max_tokens":5,"input":"x","max_output_tokens":5}')
  t.equal(both.bytes, '{"model":"exact-model","input":"x","max_output_tokens":5}')
  const effort = send('{"model":"a","input":"x","reasoning":{"effort":"low","summary":"auto"}}', { features: ['text'] })
  t.same(effort.body.reasoning, { summary: 'auto' })
  t.same(effort.leftOut, ['reasoning.effort'])
  t.throws(() => send('{"model":"a","input":"x","text":{"format":{"type":"json_object"}}}', { features: ['text'] }), {
    code: 'unsupported_response_format',
    param: 'text.format.type'
  })
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }
  const shown = { type: 'function_call_output', call_id: 'c', output: [image] }
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
  const described = send(JSON.stringify({ model: 'a', input: [{ role: 'user', content: 'look' }, call, shown] }), {
    features: ['text']
  })
  t.match((described.body.input as JsonObject[])[2], { output: [{ type: 'input_text', text: /^\[image\/png/ }] })
  t.equal(described.leftOut?.length, 1)
  t.throws(
    () => send(JSON.stringify({ model: 'a', input: [{ role: 'user', content: [image] }] }), { features: ['text'] }),
    { code: 'unsupported_semantic' }
  )
})

t.test('only what the gateway wrote is taken out of the history', async t => {
  const signature = Buffer.from('gateway-state:{"messages_compatible":{"signature":"s"}}').toString('base64')
  const long = `call_${'x'.repeat(80)}`
  const { body } = send(
    JSON.stringify({
      model: 'alias',
      input: [
        { type: 'reasoning', id: 'rs_0b89b10e-3c34-4d5e-b86e-bc15e1c78068', summary: [] },
        { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: signature },
        { type: 'reasoning', id: 'rs_68b1', summary: [] },
        { type: 'function_call', id: `fc_${long}`, call_id: long, name: 'f', arguments: '{' },
        { type: 'function_call_output', call_id: long, output: 'r' },
        { type: 'model_3d_generate_call', id: 'm3d_1' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x', inline_data: { a: 1 } }] }
      ]
    })
  )
  const input = body.input as JsonObject[]
  const shortened = input[1]?.call_id
  t.ok(String(shortened).length <= 64)
  t.same(input, [
    { type: 'reasoning', id: 'rs_68b1', summary: [] },
    { type: 'function_call', call_id: shortened, name: 'f', arguments: '{' },
    { type: 'function_call_output', call_id: shortened, output: 'r' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }
  ])
})

const editorOptions = {
  publicModel: 'alias',
  reading: { toolNames: new Map(), droppedToolCalls: 0 },
  createNonce: () => 'n'
}

t.test('a response and a stream come back byte for byte, with the model renamed', async t => {
  const whole =
    '{"id":"resp_1", "model":"exact-model","output":[{"type":"x","model":"kept"}],"usage":{"input_tokens":1.0}}'
  const editor = responsesSameWire.createEditor(editorOptions)
  t.equal(String(editor.editBody(Buffer.from(whole))), whole.replace('"exact-model"', '"alias"'))
  const frames = String(stream(text(0, 'the "response" and the model'), [message('x')]))
  const edited = frames
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => String(editor.editFrame(Buffer.from(`${frame}\n\n`))))
    .join('')
  t.equal(edited, frames.replaceAll('"upstream-model"', '"alias"'))
  t.equal(String(editor.editFrame(Buffer.from('data: [DONE]\n\n'))), '')
})

t.test('an error behind frames continues their numbers under the id of the provider', async t => {
  const request = readRequest('responses', { model: 'alias', input: 'hi', stream: true })
  const writer = createResponsesStreamWriter({ requestId: 'r', createdAt: 1, model: 'alias', request })
  const frames = stream(text(0, 'say \\"sequence_number\\":99'), [])
  const cut = frames.subarray(0, frames.lastIndexOf('event: '))
  const start = { type: 'start' as const, providerModel: 'm', metadata: {}, identity: { id: '68b' } }
  t.equal(writer.pass?.(cut, [start]), cut)
  const error = new GatewayError('provider_failure')
  const failed = joinFrames(writer.write([{ type: 'error', error }]))
  const [frame, ...rest] = failed.split('\n\n').filter(one => one !== '')
  t.same(rest, [])
  t.match(JSON.parse(String(frame).split('data: ')[1] ?? ''), {
    type: 'response.failed',
    sequence_number: String(cut).split('\n\n').length - 1,
    response: { id: 'resp_68b', status: 'failed' }
  })
})

t.test('a response that runs in the background is no failure for the client that asked for it', async t => {
  const head: ResponseHead = { status: 200, headers: {} }
  const body = Buffer.from('{"id":"resp_1","status":"queued","output":[]}')
  const read = (request: string) => {
    const { reading } = send(request)
    return responsesCompatibleFace.createReader(reading, head, { createNonce: () => 'n' }).readBody(body)
  }
  t.equal(read('{"model":"a","input":"x","background":true}').at(-1)?.type, 'finish')
  t.throws(() => read('{"model":"a","input":"x"}'), { code: 'provider_protocol_error' })
})

t.test(
  "memory 3: where the gateway keeps the state, the response has its members in place of the provider's",
  async t => {
    const turn = { id: 'resp_own', isStored: true, previousResponseId: 'resp_before', conversationId: 'conv_1' }
    const { reading } = send('{"model":"alias","input":"hi","store":false}', { turn })
    const editor = responsesSameWire.createEditor({ publicModel: 'alias', reading, createNonce: () => '' })
    const own = '"id":"resp_own"'
    t.equal(
      String(
        editor.editBody(
          Buffer.from('{"id":"resp_1","model":"exact","store":false,"previous_response_id":null,"n":1.0}')
        )
      ),
      `{${own},"model":"alias","store":true,"previous_response_id":"resp_before","n":1.0,"conversation":{"id":"conv_1"}}`
    )
    t.equal(
      String(
        editor.editFrame(
          Buffer.from('data: {"type":"response.created","response":{"id":"resp_1","model":"exact"}}\n\n')
        )
      ),
      `data: {"type":"response.created","response":{${own},"model":"alias","store":true,"previous_response_id":"resp_before","conversation":{"id":"conv_1"}}}\n\n`
    )
    const delta = 'data: {"type":"response.output_text.delta","delta":"resp_1"}\n\n'
    t.equal(String(editor.editFrame(Buffer.from(delta))), delta)
  }
)

t.test('memory 3: where the gateway keeps the state, reasoning comes back encrypted or not at all', async t => {
  const turn = { id: 'resp_own', isStored: true }
  const body =
    '{"model":"alias","input":[{"type":"reasoning","id":"rs_1","summary":[]},' +
    '{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gAAAA"},{"role":"user","content":"x"}],"include":["x"]}'
  t.match(send(body, { turn }).body, {
    input: [{ id: 'rs_2' }, { role: 'user' }],
    include: ['x', 'reasoning.encrypted_content']
  })
  t.match(send(body).body, { input: [{ id: 'rs_1' }, { id: 'rs_2' }], include: ['x'] })
  t.same(send(body, { turn, features: ['text'] }).body.include, ['x'])
})
