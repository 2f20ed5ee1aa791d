import t, { type Test } from 'tap'
import { z } from 'zod'
import { lastUpstreamChat } from '../../support/client.ts'
import { assertRefusedUnsent } from '../../support/sdk-refusal.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { ask, callsOf, createClient, model, schema, stream, textOf, tool, type Version, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway()

/** Checks that both contracts refuse a request before the upstream receives anything, and that the SDK reads why. */
async function assertRefused(t: Test, more: object, refusal: { code: string; param: string }) {
  for (const version of versions) {
    const refused = { url: `${gateway.url}/${version}/responses`, body: { model, input: 'x', ...more } }
    await assertRefusedUnsent(t, emulator, refused, { status: 400, ...refusal })
  }
}

/** Sends a request; returns its messages and other members except the model, as the upstream received them, and the response. */
async function send(version: Version, more: object, input: unknown = 'x') {
  const httpResponse = await ask(gateway, version, input, more)
  if (httpResponse.status !== 200) throw new Error(httpResponse.text)
  const { model: _model, messages, ...rest } = lastUpstreamChat(emulator).body
  return { messages, rest, response: httpResponse.json }
}

t.test('responses 4, 5, 6: instructions and leading developer items are one system message', async t => {
  const be = await send('v2', { instructions: 'be' })
  t.strictSame(be.messages, [
    { role: 'system', content: [{ text: 'be' }] },
    { role: 'user', content: [{ text: 'x' }] }
  ])
  t.equal(be.response.instructions, 'be')
  for (const nothing of [null, '']) {
    const none = await send('v2', { instructions: nothing })
    t.equal(none.messages.length, 1)
    t.equal(none.response.instructions, nothing === null ? null : '')
  }
  const both = await send('v1', { instructions: 'be' }, [
    { role: 'developer', content: 'kind' },
    { role: 'user', content: 'x' }
  ])
  t.strictSame(both.messages, [
    { role: 'system', content: 'be\n\nkind' },
    { role: 'user', content: 'x' }
  ])
})

t.test('responses 7, 8: a missing, empty or malformed input is refused with its path', async t => {
  for (const [input, param] of [
    [undefined, 'input'],
    [null, 'input'],
    [[], 'input'],
    [5, 'input'],
    [['x'], 'input[0]'],
    [[{ role: 'user', content: [{ type: 'input_text' }] }], 'input[0].content[0].text']
  ] as const) {
    await assertRefused(t, { input }, { code: 'invalid_request', param })
  }
})

t.test('responses 11, 12: sampling is sent at its place and returned as the client sent it', async t => {
  const one = await send('v2', { max_output_tokens: 9, temperature: 0.3 })
  t.strictSame(one.rest, { model_options: { temperature: 0.3, max_tokens: 9 } })
  t.match(one.response, { max_output_tokens: 9, temperature: 0.3, top_p: 1 })
  t.strictSame((await send('v1', { max_output_tokens: 9, top_p: 0.5 })).rest, { top_p: 0.5, max_tokens: 9 })
  const zero = await send('v2', { temperature: 0 })
  t.strictSame(zero.rest, { model_options: { top_p: 0 } })
  t.match(zero.response, { temperature: 0, top_p: 1 })
})

t.test(
  'responses 13, 14: an effort is sent as given, none is not sent, a summary is only repeated in the response',
  async t => {
    const high = await send('v2', { reasoning: { effort: 'high', summary: 'auto' } })
    t.strictSame(high.rest, { model_options: { reasoning: { effort: 'high' } } })
    t.strictSame(high.response.reasoning, { effort: 'high', summary: 'auto' })
    for (const version of versions) {
      const none = await send(version, { reasoning: { effort: 'none', summary: 'auto' } })
      t.strictSame(none.rest, {})
      t.strictSame(none.response.reasoning, { effort: 'none', summary: 'auto' })
    }
    const xhigh = await send('v1', { reasoning: { effort: 'xhigh' } })
    t.strictSame(xhigh.rest, { reasoning_effort: 'xhigh' })
    t.strictSame(xhigh.response.reasoning, { effort: 'xhigh', summary: null })
  }
)

t.test('responses 15: a verbosity alone sends no output format and is returned with one', async t => {
  for (const version of versions) {
    const { rest, response } = await send(version, { text: { verbosity: 'low' } })
    t.strictSame(rest, {})
    t.strictSame(response.text, { format: { type: 'text' }, verbosity: 'low' })
    t.strictSame((await send(version, { text: { format: { type: 'text' } } })).rest, {})
  }
})

const text = { format: { type: 'json_schema', name: 'out', schema, strict: true } }

t.test('responses 16: a schema is sent to v1 unchanged and the JSON is the text of a message', async t => {
  const { rest, response } = await send('v1', { text })
  t.strictSame(rest, { response_format: { type: 'json_schema', schema, strict: true } })
  t.equal(response.output.length, 1)
  t.match(response.output[0], { type: 'message', content: [{ type: 'output_text' }] })
  t.type(JSON.parse(textOf(response)), 'object')
  t.strictSame(response.text, text)
  const parsed = await createClient(gateway, 'v1').responses.parse({
    model,
    input: 'x',
    text: { format: { type: 'json_schema', name: 'out', schema, strict: true } }
  })
  t.ok(z.object({ a: z.object({}) }).safeParse(parsed.output_parsed).success)
})

t.test(
  'responses 17: a schema is sent to v2 together with a function without parameters, whose calls stay calls',
  async t => {
    const tools = [{ type: 'function', name: 'g' }]
    const { rest, response } = await send('v2', { text, tools })
    t.strictSame(rest.model_options, { response_format: { type: 'json_schema', schema, strict: true } })
    t.strictSame(listSentFunctions(rest), [{ name: 'g', parameters: { type: 'object', properties: {} } }])
    t.notOk('tool_config' in rest)
    t.match(response.output, [{ type: 'message' }])
    const called = await send('v2', { text, tools }, '[[tool:g {"a":1}]]')
    t.match(callsOf(called.response), [{ name: 'g', arguments: '{"a":1}' }])
  }
)

t.test(
  'responses 18: the schema-less JSON mode, unknown formats and a format without its schema are refused',
  async t => {
    for (const [format, code, param] of [
      [{ type: 'json_object' }, 'unsupported_response_format', 'text.format.type'],
      [{ type: 'xml' }, 'unsupported_response_format', 'text.format.type'],
      [{ type: 'json_schema', name: 'n' }, 'invalid_request', 'text.format.schema']
    ] as const) {
      await assertRefused(t, { text: { format } }, { code, param })
    }
  }
)

t.test('responses 19: metadata are not sent upstream and are returned together with those of the upstream', async t => {
  for (const version of versions) {
    const { rest, response } = await send(version, { metadata: { k: 'v' } })
    t.strictSame(rest, {})
    t.equal(response.metadata.k, 'v')
    t.ok(Object.keys(response.metadata).some(name => name.startsWith('upstream_')))
    for (const value of Object.values(response.metadata)) t.type(value, 'string')
  }
})

t.test('responses 20, 21: parameters without effect are accepted and not sent, some are returned', async t => {
  const ignored = {
    include: ['reasoning.encrypted_content'],
    truncation: 'auto',
    background: true,
    service_tier: 'auto',
    max_tool_calls: 3,
    user: 'u',
    safety_identifier: 's',
    prompt_cache_key: 'k',
    prompt_cache_retention: '24h',
    top_logprobs: 2,
    stream_options: { include_obfuscation: false },
    prompt_cache_options: { ttl: '1h' },
    context_management: [{ type: 'compaction' }],
    client_metadata: { a: 'b' },
    moderation: {},
    seed: 1,
    n: 2
  }
  for (const version of versions) {
    const { rest, response } = await send(version, ignored)
    t.strictSame(rest, {}, version)
    t.match(response, { status: 'completed', truncation: 'auto', user: 'u' })
    const streamed = await stream(gateway, version, 'x', ignored)
    t.match(streamed.response, { truncation: 'auto', user: 'u' }, 'streams repeat the same')
  }
})

t.test('responses 22: an unknown member is sent at the top level', async t => {
  for (const version of versions) {
    t.strictSame((await send(version, { foo: 1 })).rest, { foo: 1 })
    const { rest } = await send(version, { foo: 1, extra_body: { foo: 2, model: 'evil', messages: [] } })
    t.strictSame(rest, { foo: 2 })
    t.equal(lastUpstreamChat(emulator).body.model, model)
  }
})

t.test('responses 23: an extra_body that is not an object is refused', async t => {
  for (const extra_body of ['x', [], 1]) {
    await assertRefused(t, { extra_body }, { code: 'unsupported_parameter', param: 'extra_body' })
  }
})

t.test('responses 24: a prompt that another service stores is refused', async t => {
  for (const more of [{}, { input: undefined }]) {
    await assertRefused(t, { prompt: { id: 'p' }, ...more }, { code: 'unsupported_semantic', param: 'prompt' })
  }
})

t.test('a stop string ends the text of the response', async t => {
  for (const version of versions) {
    t.equal(textOf((await send(version, { stop: ['END'] }, '[[text:abENDcd]]')).response), 'ab')
    t.equal(textOf((await stream(gateway, version, '[[chunks:a|bE|N|Dcd]]', { stop: 'END' })).response), 'ab')
  }
})

t.test('the members that a response repeats from its request are the same streamed and whole', async t => {
  const more = {
    instructions: 'be',
    temperature: 0.2,
    max_output_tokens: 50,
    metadata: { k: 'v' },
    tools: [tool('g')],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    text: { format: { type: 'text' }, verbosity: 'high' },
    reasoning: { effort: 'low' }
  }
  for (const version of versions) {
    const whole = (await send(version, more)).response
    const streamed = (await stream(gateway, version, 'x', more)).response
    const varying = { id: '', created_at: 0, completed_at: 0, output: [], metadata: {}, usage: null }
    t.strictSame({ ...streamed, ...varying }, { ...whole, ...varying })
    t.match(whole.tools, [{ type: 'function', name: 'g', strict: null }])
  }
})
