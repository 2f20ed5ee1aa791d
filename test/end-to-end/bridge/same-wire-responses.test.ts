// Responses clients on a provider of the same wire, with the official SDK: what only this wire has works as with the service itself
// (decisions.md 72 and 86).

import OpenAI from 'openai'
import t from 'tap'
import { post } from '../../support/client.ts'
import { responses, startBridge } from './providers/index.ts'

const bridge = await startBridge(t)
const { gateway, emulator } = bridge
const model = responses.aliases.keyed
const client = new OpenAI({ apiKey: 'unused', baseURL: `${gateway.url}/v1`, maxRetries: 0 })
// biome-ignore lint/suspicious/noExplicitAny: any JSON body.
const lastBody = (): any => bridge.received(responses, 'keyed').at(-1)?.body
const weather = {
  type: 'function' as const,
  name: 'weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false
  },
  strict: true
}

t.test('reasoning keeps its encrypted content over the turns of a streaming loop of tools', async t => {
  const input: OpenAI.Responses.ResponseInput = [
    { role: 'user', content: '[[tool:weather {"city":"Oslo"}]][[reason:why]][[step]][[text:It is sunny.]]' }
  ]
  const ask = () =>
    client.responses
      .stream({
        model,
        input,
        tools: [weather],
        store: false,
        include: ['reasoning.encrypted_content'],
        reasoning: { effort: 'low', summary: 'auto' }
      })
      .finalResponse()
  const first = await ask()
  t.equal(first.model, model)
  t.match(first.output, [
    { type: 'reasoning', encrypted_content: /^gAAAAA/ },
    { type: 'function_call', name: 'weather' }
  ])
  const [, call] = first.output
  if (call?.type !== 'function_call') throw new Error('There is no call.')
  // The helper of the SDK adds `parsed_arguments` to a call, which the service does not know.
  t.ok('parsed_arguments' in call)
  input.push(first.output[0] as OpenAI.Responses.ResponseReasoningItem, call, {
    type: 'function_call_output',
    call_id: call.call_id,
    output: 'sunny'
  })
  const second = await ask()
  t.equal(second.output_text, 'It is sunny.')
  const sent = lastBody().input
  t.equal(sent[1].encrypted_content, (first.output[0] as { encrypted_content: string }).encrypted_content)
  t.equal(lastBody().tools[0].strict, true)
})

t.test('stored responses are continued, also twice, as the provider keeps them', async t => {
  const first = await client.responses.create({ model, input: 'my name is Ada' })
  t.equal(lastBody().store, undefined, 'what the client leaves out is the default of the service')
  for (const stream of [false, true]) {
    const request = { model, input: '[[recall]]', previous_response_id: first.id, store: true }
    const next = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request)
    t.match(next.output_text, /my name is Ada/)
    t.match(lastBody(), { previous_response_id: first.id, store: true })
  }
  await t.rejects(
    client.responses.create({ model, input: 'x', previous_response_id: 'resp_unknown' }),
    { message: /resp_unknown/, code: 'previous_response_not_found' } as never,
    'the refusal is that of the service'
  )
})

t.test('hosted tools and free-form tools', async t => {
  for (const stream of [false, true]) {
    const request = { model, input: 'Please search the web for news.', tools: [{ type: 'web_search' as const }] }
    const searched = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request)
    t.match(searched.output, [
      { type: 'web_search_call', status: 'completed' },
      { type: 'message', content: [{ annotations: [{ type: 'url_citation', url: 'https://example.test/first' }] }] }
    ])
    const patch = {
      model,
      input: '[[tool:apply_patch "*** Begin"]]',
      tools: [{ type: 'custom' as const, name: 'apply_patch' }]
    }
    const patched = stream ? await client.responses.stream(patch).finalResponse() : await client.responses.create(patch)
    t.match(patched.output, [{ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin' }])
  }
})

t.test('structured output and images', async t => {
  const parsed = await client.responses.parse({
    model,
    input: 'hi',
    text: { format: { type: 'json_schema', name: 'weather', schema: weather.parameters, strict: true } }
  })
  t.match(parsed.output_parsed, { city: String })
  const image = { type: 'input_image' as const, image_url: 'data:image/png;base64,AAAA', detail: 'auto' as const }
  const seen = await client.responses.create({
    model,
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'look' }, image] }]
  })
  t.match(seen.output_text, /It came with one file/)
})

t.test('a body and its response are the bytes of their sender, but for the model', async t => {
  const body = `{ "model": "${model}", "input" : "[[text:caf\\u00e9]]", "temperature":1.0, "metadata": {"a":"b"}, "store":false }`
  const response = await post(`${gateway.url}/v1/responses`, body)
  t.equal(response.status, 200, response.text)
  const emulated = await post(
    `${new URL(emulator.chatBaseUrl).origin}/responses-provider/v1/responses`,
    body.replace(model, responses.models.keyed)
  )
  const nameless = (text: string, name: string) =>
    text
      .replaceAll(/(resp|msg)_[0-9a-f]{32}/g, '$1')
      .replaceAll(/"created_at":\d+/g, '')
      .replace(`"${name}"`, '"model"')
  t.equal(nameless(response.text, model), nameless(emulated.text, responses.models.keyed))
})

t.test('a stored prompt and a compaction of the service reach it', async t => {
  const body = {
    model,
    prompt: { id: 'pmpt_1', variables: { city: 'Oslo' } },
    input: [
      { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA-compacted' },
      { role: 'user', content: 'hi' }
    ]
  }
  const response = await post(`${gateway.url}/v1/responses`, body)
  t.equal(response.status, 200, response.text)
  t.strictSame(lastBody(), { ...body, model: responses.models.keyed })
})

t.test('what the service does not know is its own to refuse, with its own code and member', async t => {
  const refused = await post(`${gateway.url}/v1/responses`, { model, input: 'x', novel_member: 1 })
  t.equal(refused.status, 400)
  t.match(refused.json.error.message, /Unknown parameter: 'novel_member'/)
  const item = { type: 'item_reference', id: 'msg_1' }
  const unknown = await post(`${gateway.url}/v1/responses`, { model, input: [item] })
  t.not(unknown.status, 200)
  t.equal(lastBody().input[0].id, 'msg_1', 'the reference reached the service')
})
