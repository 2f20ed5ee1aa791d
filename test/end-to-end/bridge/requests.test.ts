// What a request of a client becomes on a provider's wire: where it goes, with which headers and body, and what comes back.

import t, { type Test } from 'tap'
import { post, readFrames } from '../../support/client.ts'
import { anthropicBaseUrl, googleBaseUrl, writeChatProfile } from '../../support/profile-gateway.ts'
import { createPicture } from '../../support/upstream.ts'
import { ask, families, type Loose, send } from './families.ts'
import { type AnsweredCall, histories, wires } from './histories.ts'
import { aliases, nativeCredentials, providerKey, providerModel, startBridge } from './support.ts'

const bridge = await startBridge(t, {
  profiles: emulator => [
    writeChatProfile({
      id: 'other-messages',
      kind: 'messages_compatible',
      baseUrl: anthropicBaseUrl(emulator, 'other'),
      aliases: [{ alias: 'other/messages' }]
    }),
    writeChatProfile({
      id: 'other-content',
      kind: 'content_compatible',
      baseUrl: googleBaseUrl(emulator, 'other'),
      aliases: [{ alias: 'other/content' }]
    })
  ]
})
const { gateway, emulator, received } = bridge
const { url } = gateway

/** The newest request that a provider received. */
function last(
  provider: 'keyed' | 'keyless' | 'native',
  pathEnd = '/chat/completions'
): { headers: Loose; body: Loose } {
  const found = received(provider).findLast(({ path }) => path.endsWith(pathEnd))
  if (found === undefined) throw new Error(`The provider ${provider} received nothing on ${pathEnd}.`)
  return found
}

/** Runs a request and checks that only this provider received something. */
async function onlyAt<Result>(
  t: Test,
  provider: 'keyed' | 'keyless' | 'native',
  run: () => Promise<Result>
): Promise<Result> {
  const counts = () => (['keyed', 'keyless', 'native'] as const).map(name => [name, received(name).length] as const)
  const before = new Map(counts())
  const result = await run()
  for (const [name, count] of counts()) {
    if (name === provider) t.ok(count > (before.get(name) ?? 0), `${name} was asked`)
    else t.equal(count, before.get(name), `${name} was not asked`)
  }
  return result
}

t.test('bridge 69: chat completions and embeddings of an alias are executed at its provider', async t => {
  const model = aliases.keyed
  for (const stream of [false, true]) {
    const body = { model, stream, messages: [{ role: 'user', content: '[[text:Hello]]' }] }
    const response = await onlyAt(t, 'keyed', () => post(`${url}/v1/chat/completions`, body))
    t.equal(response.status, 200)
    t.match(response.text, `"model":"${model}"`)
    t.notMatch(response.text, providerModel)
    t.equal(last('keyed').body.model, providerModel)
  }
  for (const path of ['/v1/embeddings', '/v2/embeddings', '/embeddings']) {
    const response = await onlyAt(t, 'keyed', () => post(`${url}${path}`, { model, input: ['a', 'b'] }))
    t.equal(response.status, 200, response.text)
    t.equal(response.json.model, model)
    t.equal(response.json.data.length, 2)
    t.match(last('keyed', '/embeddings').body, { model: providerModel, input: ['a', 'b'], encoding_format: 'float' })
  }
})

t.test('bridge 70: a native alias is sent to the host of its profile with its own model', async t => {
  const model = aliases.native
  for (const version of ['v1', 'v2']) {
    const body = { model, messages: [{ role: 'user', content: '[[text:Hello]]' }] }
    const response = await onlyAt(t, 'native', () => post(`${url}/${version}/chat/completions`, body))
    t.equal(response.status, 200, response.text)
    t.equal(response.json.model, model)
    const { body: sent } = last('native')
    t.equal(sent.model, 'GigaChat-2-Max')
    t.equal(new URL(emulator.baseUrl).host, last('native').headers.host)
  }
  const oauth = received('native').filter(({ path }) => path.endsWith('/oauth'))
  t.ok(oauth.length > 0)
  for (const { headers } of oauth) t.equal(headers.authorization, `Basic ${nativeCredentials}`)
})

t.test('bridge 72: a text of Responses is exactly this request', async t => {
  const body = { model: aliases.keyed, input: '[[text:Hello]]' }
  const response = await onlyAt(t, 'keyed', () => post(`${url}/v1/responses`, body))
  t.equal(response.status, 200)
  t.equal(response.json.model, aliases.keyed)
  const { body: sent, headers } = last('keyed')
  t.strictSame(sent, {
    model: providerModel,
    messages: [{ role: 'user', content: '[[text:Hello]]' }],
    stream: false
  })
  t.strictSame(Object.keys(sent), ['model', 'messages', 'stream'])
  const { host, connection: _, 'content-length': length, 'user-agent': agent, ...rest } = headers
  t.equal(host, new URL(emulator.baseUrl).host)
  t.match(length, /^\d+$/)
  t.match(agent, /^llm-gateway/)
  delete rest['accept-encoding']
  t.strictSame(rest, {
    accept: 'text/event-stream, application/json',
    'content-type': 'application/json',
    authorization: `Bearer ${providerKey}`
  })
})

t.test('a long text of every family reaches every wire as the client wrote it', async t => {
  const prompts = [
    'Шлюз переводит запросы, и делает это "точно".\n'.repeat(100),
    `${'A line of prose with a\ttab, a \\ and a /.\r\n'.repeat(100)}\u0001\u{1f600}\u2028`,
    'const quoted = ["a", "b", "c"]\n'.repeat(100),
    'long '.repeat(150_000)
  ]
  const models = [aliases.keyed, aliases.native, 'other/messages', 'other/content']
  for (const family of families) {
    for (const model of models) {
      for (const prompt of prompts) {
        const before = emulator.requests.length
        const { status, text } = await send(url, family, { model, prompt })
        t.equal(status, 200, text)
        const sent = emulator.requests.slice(before).map(({ body }) => JSON.stringify(body) ?? '')
        const name = `${family.name} to ${model}: ${prompt.slice(0, 12)}`
        t.ok(
          sent.some(body => body.includes(JSON.stringify(prompt))),
          name
        )
      }
    }
  }
})

t.test('long texts of embeddings and token counts reach the provider as the client wrote them', async t => {
  const texts = ['Шлюз переводит "точно".\n'.repeat(200), `${'A line, a \\ and a /.\r\n'.repeat(200)}\u{1f600}`]
  const sendTo = async (path: string, body: object) => {
    const before = emulator.requests.length
    const response = await post(`${url}${path}`, body)
    t.equal(response.status, 200, response.text)
    const sent = emulator.requests.slice(before).map(({ body: one }) => JSON.stringify(one) ?? '')
    for (const text of texts)
      t.ok(
        sent.some(one => one.includes(JSON.stringify(text))),
        `${path}: ${text.slice(0, 8)}`
      )
  }
  await sendTo('/v1/embeddings', { model: aliases.keyed, input: texts })
  const messages = texts.map(content => ({ role: 'user', content }))
  for (const model of [aliases.native, 'other/messages']) await sendTo('/v1/messages/count_tokens', { model, messages })
})

t.test('bridge 73: no header of a client reaches a provider', async t => {
  const secrets = {
    authorization: 'Bearer client-secret-1',
    'x-api-key': 'client-secret-2',
    'x-goog-api-key': 'client-secret-3',
    'api-key': 'client-secret-4',
    cookie: 'session=client-secret-5',
    'x-session-id': 'client-secret-6',
    'x-request-id': '7f1b2b1c-5b5c-4b7e-9a49-0f1f3c1f0f0f',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'a=client-secret-7',
    baggage: 'a=client-secret-8',
    'x-foo': 'client-secret-9',
    'openai-organization': 'client-secret-10',
    'anthropic-beta': 'client-secret-11',
    'x-forwarded-for': '10.9.8.7',
    'user-agent': 'client-secret-12'
  }
  for (const family of families) {
    for (const alias of [aliases.keyed, aliases.keyless]) {
      for (const isStream of [false, true]) {
        const response = await send(url, family, { model: alias, prompt: 'Hi', isStream, headers: secrets })
        t.equal(response.status, 200, response.text)
        const { headers } = last(alias === aliases.keyed ? 'keyed' : 'keyless')
        t.notMatch(JSON.stringify(headers), /client-secret|7f1b2b1c|0af7651916cd|10\.9\.8\.7/)
        t.match(response.headers.get('x-request-id'), /^[0-9a-f-]{36}$/)
        t.not(response.headers.get('x-request-id'), secrets['x-request-id'])
      }
    }
  }
})

t.test('bridge 74: an alias without a key is asked without authorization', async t => {
  for (const family of families) {
    const response = await onlyAt(t, 'keyless', () => send(url, family, { model: aliases.keyless, prompt: 'Hi' }))
    t.equal(response.status, 200)
    t.notOk('authorization' in last('keyless').headers)
  }
})

t.test('bridge 83: a tool round trip of messages has text arguments and one call id', async t => {
  const tools = [{ name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }]
  const history: object[] = [{ role: 'user', content: '[[tool:weather {"city":"Oslo"}]]' }]
  const request = { model: aliases.keyed, max_tokens: 100, tools, messages: history }
  const first = await post(`${url}/v1/messages`, request)
  const use = first.json.content.find((block: Loose) => block.type === 'tool_use')
  t.strictSame(use.input, { city: 'Oslo' })
  history.push(
    { role: 'assistant', content: first.json.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'cold' }] }
  )
  const second = await post(`${url}/v1/messages`, request)
  t.equal(second.status, 200, second.text)
  const [, call, result] = last('keyed').body.messages
  t.match(call, {
    role: 'assistant',
    content: null,
    tool_calls: [{ type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }]
  })
  t.equal(call.tool_calls[0].id, use.id)
  t.match(result, { role: 'tool', tool_call_id: use.id, content: '{"result":"cold"}' })
})

t.test('bridge 80: a call of a namespace comes back with its name and namespace, whole and streamed', async t => {
  const parameters = { type: 'object', properties: { q: { type: 'string' } } }
  const tools = [{ type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'fn', parameters }] }]
  const body = { model: aliases.keyed, input: '[[tool:ns__fn {"q":"x"}]]', tools }
  const isCall = ({ type }: Loose) => type === 'function_call'
  const expected = { name: 'fn', namespace: 'ns', arguments: '{"q":"x"}' }
  const whole = await post(`${url}/v1/responses`, body)
  t.match(whole.json.output.filter(isCall), [expected])
  t.match(last('keyed').body.tools, [{ type: 'function', function: { name: 'ns__fn', parameters } }])
  const { text } = await post(`${url}/v1/responses`, { ...body, stream: true })
  t.match(last('keyed').body.tools, [{ type: 'function', function: { name: 'ns__fn', parameters } }])
  const events = readFrames(text)
  const items = events.filter(({ type, item }) => type === 'response.output_item.done' && isCall(item))
  t.match(items, [{ item: expected }])
  t.match(events.at(-1).response.output.filter(isCall), [expected])
  t.notMatch(text, 'ns__fn')
})

t.test('images reach the provider as data URLs, in every family that sends them inside of the request', async t => {
  const data = createPicture()
  const dataUrl = `data:image/png;base64,${data}`
  const text = 'What is this?'
  const contents: Record<string, [path: string, body: object]> = {
    completions: [
      '/v1/chat/completions',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text },
              { type: 'image_url', image_url: { url: dataUrl } }
            ]
          }
        ]
      }
    ],
    messages: [
      '/v1/messages',
      {
        max_tokens: 100,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
            ]
          }
        ]
      }
    ],
    content: [
      `/v1beta/models/${aliases.keyed}:generateContent`,
      { contents: [{ role: 'user', parts: [{ text }, { inlineData: { mimeType: 'image/png', data } }] }] }
    ]
  }
  for (const [name, [path, body]] of Object.entries(contents)) {
    const more = name === 'content' ? {} : { model: aliases.keyed }
    const response = await post(url + path, { ...more, ...body })
    t.equal(response.status, 200, `${name}: ${response.text}`)
    t.match(last('keyed').body.messages, [
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image_url', image_url: { url: dataUrl } }
        ]
      }
    ])
  }
})

t.test('structured output keeps its schema, in every family', async t => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, odd: { anyOf: [{ type: 'integer', minimum: 3 }, { type: 'null' }] } },
    required: ['name', 'odd'],
    additionalProperties: false
  }
  const formats: Record<string, object> = {
    completions: { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } },
    responses: { text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } },
    messages: { output_config: { format: { type: 'json_schema', schema } } },
    content: { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema } }
  }
  for (const family of families) {
    for (const isStream of [false, true]) {
      const more = formats[family.name] ?? {}
      const { text } = await ask(url, family, { model: aliases.keyed, prompt: 'Hi', isStream, more })
      t.strictSame(Object.keys(JSON.parse(text)), ['name', 'odd'])
      const { response_format: sent } = last('keyed').body
      t.equal(sent.type, 'json_schema')
      t.type(sent.json_schema.name, 'string')
      t.strictSame(sent.json_schema.schema, schema)
    }
  }
})

t.test('a wish for reasoning reaches the provider in every family, and its reasoning comes back', async t => {
  const wishes: Record<string, object> = {
    completions: { reasoning_effort: 'high' },
    responses: { reasoning: { effort: 'high' } },
    messages: { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } },
    content: { generationConfig: { thinkingConfig: { thinkingBudget: 5000, includeThoughts: true } } }
  }
  for (const family of families) {
    for (const isStream of [false, true]) {
      const more = wishes[family.name] ?? {}
      const { reasoning } = await ask(url, family, { model: aliases.keyed, prompt: 'Hi', isStream, more })
      t.match(reasoning, /Repeating it is the right thing to do/, family.name)
      t.match(last('keyed').body.reasoning_effort, /^(low|medium|high)$/)
    }
  }
})

/** A provider of every wire, and the client protocol whose bodies pass to it as they are. */
const providers = [
  { wire: 'native v1', model: aliases.native, prefix: '/v1' },
  { wire: 'native v2', model: aliases.native, prefix: '/v2' },
  { wire: 'chat', model: aliases.keyless, prefix: '/v1', passes: 'completions' },
  { wire: 'messages', model: 'other/messages', prefix: '/v1', passes: 'messages' },
  { wire: 'content', model: 'other/content', prefix: '/v1', passes: 'content' }
] as const

/** Sends a question with answered calls, and returns the calls and results that the provider received. */
async function sendCalls(
  family: keyof typeof histories,
  { wire, model, prefix }: (typeof providers)[number],
  calls: readonly AnsweredCall[]
) {
  const { path, body } = histories[family](model, calls)
  const response = await post(url + prefix + path, body)
  if (response.status !== 200) throw new Error(`${family}, ${wire}: ${response.text}`)
  return wires[wire](emulator.requests.findLast(request => request.path.includes('/v'))?.body)
}

const familyNames = Object.keys(histories) as Array<keyof typeof histories>

t.test(
  'results whose digits a number would lose arrive as text, and others as they were, at every provider',
  async t => {
    for (const [result, value] of [
      ['3.10', '3.10'],
      ['1.0', '1.0'],
      ['12345678901234567890.5', '12345678901234567890.5'],
      ['0.25', 0.25],
      ['7', 7]
    ] as const) {
      const calls = [{ id: 'call_1', name: 'f', arguments: {}, result }]
      for (const provider of providers) {
        for (const family of familyNames) {
          const [call] = await sendCalls(family, provider, calls)
          // The results of a content client are objects, whose members stay as they are.
          const object = family === 'content' ? { output: result } : { result: value }
          const isText = provider.wire === 'chat' || provider.wire === 'messages'
          // A result of the messages protocol becomes an object, because the chat wire has no mark of failed results.
          const isPlain = family !== 'content' && !(family === 'messages' && provider.wire === 'chat')
          const text = isPlain ? result : JSON.stringify(object)
          t.strictSame(call?.result, isText ? text : object, `${result}: ${family}, ${provider.wire}`)
        }
      }
    }
  }
)

t.test('parallel calls that share an id get their own results, at every provider', async t => {
  const calls = ['Oslo', 'Rome', 'Perm'].map(city => ({
    id: 'call_same',
    name: 'weather',
    arguments: { city },
    result: `{"of":"${city}"}`
  }))
  for (const provider of providers) {
    for (const family of familyNames) {
      // What passes is for the provider to judge.
      if ('passes' in provider && provider.passes === family) continue
      const received = await sendCalls(family, provider, calls)
      t.match(
        received.map(({ arguments: args, result }) => [args, JSON.stringify(result)]),
        calls.map(({ arguments: { city } }) => [{ city }, new RegExp(city)]),
        `${family}, ${provider.wire}`
      )
    }
  }
})

t.test('bridge 71: a disabled alias beside a dynamic catalog is unknown in every family', async t => {
  const other = await startBridge(t, { isDynamic: true })
  const chats = () => other.emulator.requests.filter(({ path }) => /completions|embeddings/.test(path)).length
  const before = chats()
  for (const family of families) {
    const response = await send(other.gateway.url, family, { model: aliases.disabled, prompt: 'Hi' })
    t.equal(response.status, 404, family.name)
    t.equal(family.readFailure(response).code, 'unknown_model_alias', family.name)
  }
  const embeddings = await post(`${other.gateway.url}/v1/embeddings`, { model: aliases.disabled, input: 'a' })
  t.match(embeddings, { status: 404, json: { error: { code: 'unknown_model_alias', param: 'model' } } })
  t.equal(chats(), before)
})
