// Custom tools and functions in the old form on every route: offered as functions, called, and repeated in the next turn
// (decisions.md 77).

import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { type HttpResponse, post, readFrames } from '../../support/client.ts'
import { writeChatProfile } from '../../support/profile-gateway.ts'
import { startStub } from '../../worker/providers/support/stub-upstream.ts'
import type { Loose } from './families.ts'
import { NATIVE_ALIAS, providers, startBridge } from './providers/index.ts'

/** What the provider of the alias `own/wire` answers. */
let ownAnswer: (isStream: boolean) => string = () => ''
const stub = await startStub(({ body }, response) => {
  const isStream = JSON.parse(body.toString()).stream === true
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
  response.end(ownAnswer(isStream))
})
t.teardown(() => stub.close())

const { gateway, received, receivedNatively } = await startBridge(t, {
  profiles: () => [
    writeChatProfile({ id: 'own', baseUrl: `${stub.origin}/v1`, aliases: [{ alias: 'own/wire', model: 'up' }] })
  ]
})

interface Route {
  name: string
  model: string
  prefix: string
  /** The body that the provider received last. */
  last(): Loose
}

const routes: Route[] = [
  ...['/v1', '/v2'].map(prefix => ({
    name: `native ${prefix}`,
    model: NATIVE_ALIAS,
    prefix,
    last: () => receivedNatively().findLast(({ path }) => path.endsWith('/chat/completions'))?.body
  })),
  ...providers.map(provider => ({
    name: provider.name,
    model: provider.aliases.keyed,
    prefix: '/v1',
    last: () => received(provider, 'keyed').at(-1)?.body
  }))
]

const grammar = { syntax: 'lark', definition: 'start: "BEGIN"' }
const description = 'edits files'
const input = '*** Begin\n"x" é'
const prompt = `[[tool:apply_patch ${JSON.stringify({ input })}]]`

interface Declared {
  name: string
  description?: string
  schema: Loose
}

/** The functions of a body of any wire. */
function listFunctions({ tools = [], functions = [] }: Loose): Declared[] {
  return [...functions, ...tools].flatMap((tool: Loose) => {
    const list = tool.functions?.specifications ?? tool.functionDeclarations ?? [tool.function ?? tool]
    return list.map(({ name, description, parameters, input_schema, parametersJsonSchema }: Loose) => ({
      name,
      description,
      schema: parameters ?? input_schema ?? parametersJsonSchema
    }))
  })
}

function checkDeclared(t: Test, body: Loose): void {
  const patch = listFunctions(body).find(({ name }) => name === 'apply_patch')
  t.match(patch, { schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] } })
  t.ok(patch?.description?.startsWith(description), String(patch?.description))
  t.ok(patch?.description?.includes(grammar.definition), String(patch?.description))
}

/** The call and its result arrive in the form of the wire. */
function checkHistory(t: Test, body: Loose): void {
  const text = JSON.stringify(body).replaceAll('\\', '')
  t.ok(text.includes(JSON.stringify({ input }).replaceAll('\\', '')), text)
  t.ok(text.includes('PATCH-RESULT'), text)
}

function assertServed(response: HttpResponse): HttpResponse {
  if (response.status !== 200) throw new Error(response.text)
  return response
}

for (const { name, model, prefix, last } of routes) {
  const send = async (path: string, body: object) => assertServed(await post(`${gateway.url}${prefix}${path}`, body))

  // The provider of the own wire has custom tools itself.
  if (name !== 'responses') {
    t.test(`a custom tool of a Responses client: ${name}`, async t => {
      const tool = { type: 'custom', name: 'apply_patch', description, format: { type: 'grammar', ...grammar } }
      const tools = [
        tool,
        { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }
      ]
      const question = { role: 'user', content: prompt }
      const { json } = await send('/responses', { model, tools, input: [question], store: false })
      checkDeclared(t, last())
      const [call] = json.output.filter(({ type }: Loose) => type === 'custom_tool_call')
      t.match(call, { type: 'custom_tool_call', name: 'apply_patch', input, status: 'completed', call_id: String })
      t.strictSame(json.tools[0], tool)
      const { text } = await send('/responses', { model, tools, input: [question], store: false, stream: true })
      const events = readFrames(text)
      t.equal(
        events
          .filter(({ type }) => type === 'response.custom_tool_call_input.delta')
          .map(({ delta }) => delta)
          .join(''),
        input
      )
      t.match(
        events.find(({ type }) => type === 'response.custom_tool_call_input.done'),
        { input }
      )
      const streamed = events.at(-1).response.output
      t.match(
        streamed.findLast(({ type }: Loose) => type === 'custom_tool_call'),
        { name: 'apply_patch', input }
      )
      for (const output of [json.output, streamed]) {
        const { call_id } = output.find(({ type }: Loose) => type === 'custom_tool_call')
        const result = { type: 'custom_tool_call_output', call_id, output: 'PATCH-RESULT' }
        await send('/responses', { model, tools, input: [question, ...output, result], store: false })
        checkHistory(t, last())
      }
    })

    t.test(`a custom tool in an item of the input and in a namespace: ${name}`, async t => {
      const namespace = { type: 'namespace', name: 'ns', tools: [{ type: 'custom', name: 'exec' }] }
      const item = { type: 'additional_tools', role: 'developer', tools: [namespace] }
      const question = { role: 'user', content: '[[tool:ns__exec {"input":"ls"}]]' }
      const { json } = await send('/responses', { model, input: [item, question], store: false })
      t.match(listFunctions(last()), [{ name: 'ns__exec' }])
      t.match(json.output.at(-1), { type: 'custom_tool_call', name: 'exec', namespace: 'ns', input: 'ls' })
    })

    t.test(`a custom tool is forced by its choice: ${name}`, async t => {
      const tools = [
        { type: 'custom', name: 'apply_patch', description },
        { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
      ]
      const tool_choice = { type: 'custom', name: 'apply_patch' }
      await send('/responses', { model, tools, tool_choice, input: 'go', store: false })
      const { tool_choice: choice, tool_config, toolConfig, function_call } = last()
      t.match(JSON.stringify([choice, tool_config, toolConfig, function_call]), /"apply_patch"/)
    })
  }

  // On its own wire the body passes as it is: below.
  if (name === 'chat') continue

  t.test(`a custom tool of a completions client, with the official SDK: ${name}`, async t => {
    const client = new OpenAI({ baseURL: `${gateway.url}${prefix}`, apiKey: 'x', maxRetries: 0 })
    const tools: OpenAI.ChatCompletionTool[] = [
      {
        type: 'custom',
        custom: {
          name: 'apply_patch',
          description,
          format: { type: 'grammar', grammar: { ...grammar, syntax: 'lark' } }
        }
      }
    ]
    const question: OpenAI.ChatCompletionMessageParam = { role: 'user', content: prompt }
    const whole = await client.chat.completions.create({ model, tools, messages: [question] })
    checkDeclared(t, last())
    const stream = client.chat.completions.stream({ model, tools, messages: [question] })
    const streamed = await stream.finalChatCompletion()
    for (const { choices } of [whole, streamed]) {
      const choice = choices[0]
      if (choice === undefined) throw new Error('No choice.')
      t.equal(choice.finish_reason, 'tool_calls')
      const call = choice.message.tool_calls?.[0]
      t.match(call, { type: 'custom', custom: { name: 'apply_patch', input } })
      await client.chat.completions.create({
        model,
        tools,
        messages: [question, choice.message, { role: 'tool', tool_call_id: call?.id ?? '', content: 'PATCH-RESULT' }]
      })
      checkHistory(t, last())
    }
  })

  t.test(`functions in the old form: ${name}`, async t => {
    const functions = [
      { name: 'f', description: 'd', parameters: { type: 'object', properties: { a: { type: 'string' } } } }
    ]
    const question = { role: 'user', content: '[[tool:f {"a":"x"}]]' }
    const ask = (more: object) =>
      send('/chat/completions', { model, messages: [question], functions, function_call: 'auto', ...more })
    const { json } = await ask({})
    t.match(listFunctions(last()), [{ name: 'f', description: 'd', schema: functions[0]?.parameters }])
    const { message, finish_reason } = json.choices[0]
    t.equal(finish_reason, 'function_call')
    t.match(message, { function_call: { name: 'f' } })
    t.strictSame(JSON.parse(message.function_call.arguments), { a: 'x' })
    const { text } = await ask({ stream: true })
    const chunks = readFrames(text).filter(frame => frame !== '[DONE]')
    const deltas = chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta.function_call ?? {})
    t.equal(deltas.map(({ name: piece = '' }) => piece).join(''), 'f')
    t.strictSame(JSON.parse(deltas.map(({ arguments: piece = '' }) => piece).join('')), { a: 'x' })
    t.ok(chunks.some(({ choices }) => choices[0]?.finish_reason === 'function_call'))
    const messages = [question, message, { role: 'function', name: 'f', content: 'FUNCTION-RESULT' }]
    await send('/chat/completions', { model, messages, functions })
    t.match(JSON.stringify(last()), 'FUNCTION-RESULT')
    await ask({ function_call: { name: 'f' } })
    const { tool_choice: choice, tool_config, toolConfig, function_call } = last()
    t.match(JSON.stringify([choice, tool_config, toolConfig, function_call]), /"f"/)
  })
}

t.test('on the own wire custom tools and functions in the old form pass as they are', async t => {
  const head = { id: 'c1', created: 1, model: 'up' }
  const custom = { id: 'call_1', type: 'custom', custom: { name: 'apply_patch', input } }
  const legacy = { name: 'f', arguments: '{"a":1}' }
  const bodies = [
    {
      tools: [{ type: 'custom', custom: { name: 'apply_patch', format: { type: 'grammar', grammar } } }],
      tool_choice: { type: 'custom', custom: { name: 'apply_patch' } },
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: null, tool_calls: [custom] },
        { role: 'tool', tool_call_id: 'call_1', content: 'done' }
      ]
    },
    {
      functions: [{ name: 'f', parameters: { type: 'object' } }],
      function_call: { name: 'f' },
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: null, function_call: legacy },
        { role: 'function', name: 'f', content: 'done' }
      ]
    }
  ]
  const answers = [
    { message: { tool_calls: [custom] }, deltas: pieces(custom), finish_reason: 'tool_calls' },
    { message: { function_call: legacy }, deltas: [{ function_call: legacy }], finish_reason: 'function_call' }
  ]
  for (const [index, body] of bodies.entries()) {
    const { message, deltas, finish_reason } = answers[index] as (typeof answers)[number]
    ownAnswer = isStream => {
      if (!isStream) {
        const choice = { index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }
        return JSON.stringify({ ...head, object: 'chat.completion', choices: [choice] })
      }
      const frames = [...deltas.map(delta => ({ delta, finish_reason: null })), { delta: {}, finish_reason }]
      return `${frames.map(frame => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, ...frame }] })}\n\n`).join('')}data: [DONE]\n\n`
    }
    for (const stream of [false, true]) {
      const response = assertServed(
        await post(`${gateway.url}/v1/chat/completions`, { model: 'own/wire', ...body, stream })
      )
      const {
        model: _model,
        stream_options: _options,
        ...sent
      } = JSON.parse(stub.requests.at(-1)?.body.toString() ?? '')
      t.strictSame(sent, { ...body, stream })
      if (!stream) t.match(response.json.choices[0], { message, finish_reason })
      else {
        const chunks = readFrames(response.text).filter(frame => frame !== '[DONE]')
        t.match(
          chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta),
          [...deltas, {}]
        )
      }
      t.equal(response.headers.get('x-gateway-ignored'), null)
    }
  }
})

function pieces({ id, type, custom: { name, input: text } }: Loose): object[] {
  return [
    { tool_calls: [{ index: 0, id, type, custom: { name, input: text.slice(0, 4) } }] },
    { tool_calls: [{ index: 0, custom: { input: text.slice(4) } }] }
  ]
}
