import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { lastUpstreamChat } from '../../support/client.ts'
import { listNullMembers } from '../../support/null-members.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { addUp, ask, model, stream, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway()

const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, count: { type: 'integer' } },
  required: ['name', 'count'],
  additionalProperties: false
}
const output_config = { format: { type: 'json_schema', schema } }
const tool = { name: 'look_up', input_schema: { type: 'object' } }

function sentFormat() {
  const { body } = lastUpstreamChat(emulator)
  return body.response_format ?? body.model_options?.response_format
}

t.test('decisions.md 40: a member without a value is omitted, and only the stop members are null', async t => {
  for (const version of versions) {
    const stops = ['stop_details', 'stop_sequence']
    for (const [prompt, nulls] of [
      ['[[text:Hi]]', stops],
      ['[[reason:why]][[text:Hi]]', stops],
      ['[[tool:look_up {}]]', stops],
      ['[[nousage]]', stops],
      ['[[finish:blacklist]][[text:a]]', ['category', 'explanation', 'stop_sequence']]
    ] as const) {
      const whole = await ask(gateway, version, prompt, { tools: [tool] })
      t.equal(whole.status, 200)
      t.strictSame(listNullMembers(whole.json), nulls, prompt)
      const { events } = await stream(gateway, version, prompt, { tools: [tool] })
      const [start, ...rest] = events
      t.strictSame(listNullMembers(start), ['stop_details', 'stop_reason', 'stop_sequence'], prompt)
      t.strictSame(listNullMembers(...rest), nulls, prompt)
    }
    const { json } = await ask(gateway, version, '[[text:Hi]]')
    t.strictSame(json.content, [{ type: 'text', text: 'Hi' }])
    const members = ['content', 'id', 'model', 'role', 'stop_details', 'stop_reason', 'stop_sequence', 'type', 'usage']
    t.strictSame(Object.keys(json).sort(), members)
  }
})

t.test('messages 48: thinking blocks of the history are not sent upstream', async t => {
  const messages = [
    { role: 'user', content: 'a' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'secret thought', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
        { type: 'text', text: 'b' }
      ]
    },
    { role: 'user', content: 'c' }
  ]
  for (const version of versions) {
    t.equal((await ask(gateway, version, '', { messages })).status, 200)
    const { body } = lastUpstreamChat(emulator)
    t.notMatch(JSON.stringify(body), /secret thought|c2ln|cmVk|thinking|reasoning/)
    t.equal(body.messages.length, 3)
  }
})

t.test(
  'messages 49: a schema on v1 is sent as the upstream’s response format, and the response is one text block',
  async t => {
    const response = await ask(gateway, 'v1', 'hi', { output_config })
    const { body } = lastUpstreamChat(emulator)
    t.strictSame(body.response_format, { type: 'json_schema', schema })
    t.notOk('functions' in body || 'function_call' in body)
    t.equal(response.json.content.length, 1)
    t.match(JSON.parse(response.json.content[0].text), { name: String, count: Number })
    t.equal(response.json.stop_reason, 'end_turn')

    const client = new Anthropic({ baseURL: gateway.url, apiKey: 'unused', maxRetries: 0 })
    const parsed = await client.messages.parse({
      model,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hi' }],
      output_config: { format: { type: 'json_schema', schema } }
    })
    t.match(parsed.parsed_output, { name: String, count: Number })
  }
)

t.test('messages 50: the same schema streamed is text, with token counts and the stop reason end_turn', async t => {
  for (const version of versions) {
    const { events } = await stream(gateway, version, 'hi', { output_config })
    const { body } = lastUpstreamChat(emulator)
    t.equal(body.stream, true)
    t.strictSame(sentFormat(), { type: 'json_schema', schema })
    t.notOk('functions' in body || 'function_call' in body || 'tools' in body || 'tool_config' in body)
    const { blocks, stop } = addUp(events)
    t.equal(blocks.length, 1)
    t.match(JSON.parse(blocks[0]?.replace(/^text:/, '') ?? ''), { name: String, count: Number })
    t.equal(stop, 'end_turn')
    t.ok(events.find(event => event.type === 'message_delta').usage.output_tokens > 0)
  }
})

t.test('messages 51: a strict schema beside a tool on v2 forces nothing', async t => {
  const strict = { format: { type: 'json_schema', schema, name: 'out', strict: true } }
  const text = await ask(gateway, 'v2', 'hi', { output_config: strict, tools: [tool] })
  const { body } = lastUpstreamChat(emulator)
  t.strictSame(body.model_options.response_format, { type: 'json_schema', schema, strict: true })
  t.equal(listSentFunctions(body)[0]?.name, tool.name)
  t.notOk('tool_config' in body)
  t.match(text.json, { content: [{ type: 'text' }], stop_reason: 'end_turn' })
  const called = await ask(gateway, 'v2', '[[tool:look_up {"a":1}]]', { output_config: strict, tools: [tool] })
  t.match(called.json, { content: [{ type: 'tool_use', input: { a: 1 } }], stop_reason: 'tool_use' })
})

t.test('messages 52: schemas of tools and of the output reach the upstream exactly as sent', async t => {
  const nested = {
    type: 'object',
    properties: {
      tree: { $ref: '#/$defs/Node' },
      note: { type: ['string', 'null'] },
      mail: { type: 'string', format: 'email' },
      either: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      level: { type: 'integer', enum: [1, 2, 3] },
      anything: true,
      never: { not: {} },
      list: { type: 'array', items: { oneOf: [{ const: 'a' }, { const: 'b' }] }, minItems: 1 }
    },
    required: ['tree'],
    additionalProperties: false,
    $defs: { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } }, required: [] } }
  }
  for (const version of versions) {
    const tools = [{ name: 'f', strict: true, cache_control: { type: 'ephemeral' }, input_schema: nested }]
    const response = await ask(gateway, version, 'hi', {
      tools,
      output_config: { format: { type: 'json_schema', schema: nested } }
    })
    t.equal(response.status, 200)
    t.strictSame(listSentFunctions(lastUpstreamChat(emulator).body), [{ name: 'f', parameters: nested }])
    t.strictSame(sentFormat(), { type: 'json_schema', schema: nested })
    const older = await ask(gateway, version, 'hi', { output_format: { type: 'json_schema', schema: nested } })
    t.equal(older.status, 200)
    t.strictSame(sentFormat(), { type: 'json_schema', schema: nested })
  }
})

t.test('an output format of another type is refused', async t => {
  const response = await ask(gateway, 'v1', 'hi', { output_config: { format: { type: 'json_object' } } })
  t.equal(response.status, 400)
  t.match(response.json.error, { type: 'invalid_request_error', message: /output_config\.format\.type/ })
})
