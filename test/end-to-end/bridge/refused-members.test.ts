// A provider that refuses optional members: one repeated call without them, which the alias remembers (decisions.md 79).

import t, { type Test } from 'tap'
import { post } from '../../support/client.ts'
import { startEmulator } from '../../support/in-process-gateway.ts'
import { chatBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { startStub } from '../../worker/providers/support/stub-upstream.ts'
import { ask, type Family, families, type Loose, send } from './families.ts'

interface Refusal {
  status: number
  body: object
}

const openAi = (message: string, param: string | null = null, code: string | null = null): Refusal => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error', param, code } }
})

/** What the provider says to a request of this model; undefined for an ordinary response. */
const refusals: Record<string, (body: Loose) => Refusal | undefined> = {
  limit: ({ max_tokens }) =>
    max_tokens === undefined
      ? undefined
      : openAi(
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
          'max_tokens',
          'unsupported_parameter'
        ),
  parallel: ({ parallel_tool_calls }) =>
    parallel_tool_calls === undefined
      ? undefined
      : openAi('Unrecognized request argument supplied: parallel_tool_calls'),
  strict: ({ tools = [] }) =>
    tools.some((tool: Loose) => tool.function.strict !== undefined)
      ? {
          status: 422,
          body: {
            detail: [
              {
                type: 'extra_forbidden',
                loc: ['body', 'tools', 0, 'function', 'strict'],
                msg: 'Extra inputs are not permitted'
              }
            ]
          }
        }
      : undefined,
  usage: ({ stream_options }) =>
    stream_options === undefined ? undefined : openAi("property 'stream_options' is unsupported"),
  effort: ({ reasoning_effort }) =>
    reasoning_effort === undefined ? undefined : openAi('reasoning_effort is not supported with this model'),
  metadata: ({ metadata }) =>
    metadata === undefined ? undefined : openAi("The 'metadata' parameter is only allowed when 'store' is enabled."),
  value: ({ reasoning_effort }) =>
    reasoning_effort === undefined
      ? undefined
      : openAi("Unsupported value: 'reasoning_effort' does not support 'high' with this model.", 'reasoning_effort'),
  stubborn: () => openAi("Unknown parameter: 'parallel_tool_calls'."),
  broken: ({ metadata }) =>
    metadata === undefined ? { status: 500, body: {} } : openAi("Unknown parameter: 'metadata'.")
}

const stub = await startStub(({ body: bytes }, response) => {
  const body = JSON.parse(bytes.toString())
  const refusal = refusals[body.model]?.(body)
  if (refusal !== undefined) {
    response.writeHead(refusal.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(refusal.body))
    return
  }
  const head = { id: 'c1', created: 1, model: 'up' }
  if (body.stream !== true) {
    const choice = { index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices: [choice], usage }))
    return
  }
  const frame = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(`${frame({ role: 'assistant', content: 'hello' }, null)}${frame({}, 'stop')}data: [DONE]\n\n`)
})
t.teardown(() => stub.close())

/** Every family, form and test has an alias of its own, because an alias remembers. */
const aliases = Object.keys(refusals).flatMap(model =>
  ['whole', 'stream', 'exact'].flatMap(form =>
    families.map(({ name }) => ({ alias: `${model}/${name}/${form}`, model }))
  )
)
const { url } = await startProfileGateway(t, {
  profiles: [writeChatProfile({ id: 'edge', baseUrl: `${stub.origin}/v1`, aliases })]
})

/** What the provider received since the last look. */
function takeReceived(): Loose[] {
  return stub.requests.splice(0).map(({ body }) => JSON.parse(body.toString()))
}

const LIMIT = { completions: 'max_tokens', responses: 'max_output_tokens', messages: 'max_tokens' } as const

function limitTo(family: Family, limit: number): object {
  return family.name === 'content' ? { generationConfig: { maxOutputTokens: limit } } : { [LIMIT[family.name]]: limit }
}

for (const isStream of [false, true]) {
  const form = isStream ? 'stream' : 'whole'

  for (const family of families) {
    t.test(`max_tokens gets its newer name: ${family.name}, ${form}`, async t => {
      const question = { model: `limit/${family.name}/${form}`, prompt: 'hello', isStream, more: limitTo(family, 99) }
      t.match(await ask(url, family, question), { text: 'hello' })
      const [refused, repeated, ...more] = takeReceived()
      t.strictSame(more, [])
      t.equal(refused.max_tokens, 99)
      const { max_tokens, ...others } = refused
      t.strictSame(repeated, { ...others, max_completion_tokens: 99 })
      t.match(await ask(url, family, question), { text: 'hello' })
      const [remembered, ...none] = takeReceived()
      t.strictSame([remembered, none], [repeated, []])
      t.equal((await send(url, family, question)).headers.get('x-gateway-ignored'), null, 'nothing is left out')
      takeReceived()
    })

    t.test(`parallel_tool_calls is left out: ${family.name}, ${form}`, async t => {
      if (family.name === 'content') return
      const wish = {
        completions: { parallel_tool_calls: true },
        responses: { parallel_tool_calls: true },
        messages: { tool_choice: { type: 'auto', disable_parallel_tool_use: false } }
      }[family.name]
      const question = {
        model: `parallel/${family.name}/${form}`,
        prompt: 'hello',
        isStream,
        more: { ...family.tools, ...wish }
      }
      for (const calls of [2, 1]) {
        const response = await send(url, family, question)
        t.equal(response.status, 200, response.text)
        const field = family.name === 'messages' ? 'tool_choice.disable_parallel_tool_use' : 'parallel_tool_calls'
        t.equal(response.headers.get('x-gateway-ignored'), field)
        const received = takeReceived()
        t.equal(received.length, calls)
        t.notOk('parallel_tool_calls' in received.at(-1))
        t.equal(received.at(-1).tools.length, 2)
      }
    })

    t.test(`strict is left out: ${family.name}, ${form}`, async t => {
      if (family.name === 'content') return
      const { tools } = JSON.parse(JSON.stringify(family.tools))
      const [tool] = tools
      Object.assign(tool.function ?? tool, { strict: true })
      const path = tool.function === undefined ? 'tools[0].strict' : 'tools[0].function.strict'
      const question = { model: `strict/${family.name}/${form}`, prompt: 'hello', isStream, more: { tools } }
      for (const calls of [2, 1]) {
        const response = await send(url, family, question)
        t.equal(response.status, 200, response.text)
        t.equal(response.headers.get('x-gateway-ignored'), path)
        const received = takeReceived()
        t.equal(received.length, calls)
        t.notMatch(JSON.stringify(received.at(-1)), '"strict":')
      }
    })

    t.test(`what the gateway itself asks for is left out without a notice: ${family.name}, ${form}`, async t => {
      const question = { model: `usage/${family.name}/${form}`, prompt: 'hello', isStream }
      const response = await send(url, family, question)
      t.equal(response.status, 200, response.text)
      t.equal(takeReceived().length, isStream ? 2 : 1)
      // The completions client of these tests asks for the usage itself.
      const isOwn = isStream && family.name === 'completions'
      t.equal(response.headers.get('x-gateway-ignored'), isOwn ? 'stream_options' : null)
    })
  }
}

const completions = families.find(({ name }) => name === 'completions') as Family
const responses = families.find(({ name }) => name === 'responses') as Family

async function refuse(t: Test, model: string, more: object, { family = completions, headers = {} } = {}) {
  const response = await send(url, family, { model, prompt: 'hello', more, headers })
  t.equal(response.status, 400, response.text)
  return takeReceived()
}

t.test('the client gets a complaint about a value', async t => {
  t.equal((await refuse(t, 'value/completions/whole', { reasoning_effort: 'high' })).length, 1)
})

t.test('a call is repeated once, and what did not help is not remembered', async t => {
  const more = { ...completions.tools, parallel_tool_calls: true }
  for (let count = 0; count < 2; count++) {
    const received = await refuse(t, 'stubborn/completions/whole', more)
    t.strictSame(
      received.map(body => 'parallel_tool_calls' in body),
      [true, false]
    )
  }
  t.equal((await refuse(t, 'stubborn/completions/stream', {})).length, 1, 'there is nothing to leave out')
  for (let count = 0; count < 2; count++) {
    const response = await send(url, completions, {
      model: 'broken/completions/whole',
      prompt: 'hello',
      more: { metadata: { a: 'b' } }
    })
    t.equal(response.status, 500)
    t.equal(takeReceived().length, 2)
  }
})

t.test("the alias of another model is not concerned, and the words of the notice are the client's", async t => {
  const ask = async (model: string) => {
    const { status, headers } = await send(url, responses, {
      model,
      prompt: 'hello',
      more: { reasoning: { effort: 'high' } }
    })
    return [status, headers.get('x-gateway-ignored'), takeReceived().length]
  }
  t.strictSame(await ask('effort/responses/whole'), [200, 'reasoning', 2])
  t.strictSame(await ask('effort/responses/whole'), [200, 'reasoning', 1])
  t.strictSame(await ask('effort/responses/stream'), [200, 'reasoning', 2])
})

t.test('who wants exactness gets the refusal, but a member may still get another name', async t => {
  const headers = { 'x-gateway-unsupported': 'refuse' }
  const more = { metadata: { a: 'b' } }
  t.equal((await refuse(t, 'metadata/completions/exact', more, { headers })).length, 1)
  const question = { model: 'metadata/completions/exact', prompt: 'hello', more }
  t.equal((await send(url, completions, question)).status, 200)
  t.equal(takeReceived().length, 2)
  t.equal((await refuse(t, 'metadata/completions/exact', more, { headers })).length, 1, 'also when it is remembered')
  const limited = { model: 'limit/completions/exact', prompt: 'hello', more: { max_tokens: 5 }, headers }
  t.equal((await send(url, completions, limited)).status, 200)
  takeReceived()
})

t.test('large bodies and numbers arrive as they were', async t => {
  const text = 'x'.repeat(300_000)
  const body = `{"model":"metadata/completions/stream","metadata":{"a":"b"},"seed":12345678901234567890,"messages":[{"role":"user","content":"${text}"}]}`
  const response = await post(`${url}/v1/chat/completions`, body, { 'content-type': 'application/json' })
  t.equal(response.status, 200, response.text)
  const [, repeated] = stub.requests.splice(0).map(({ body: bytes }) => bytes.toString())
  t.ok(repeated?.includes(text))
  t.match(repeated, /"seed":12345678901234567890\b/)
  t.notMatch(repeated?.replace(text, ''), '"metadata":')
})

t.test('the messages wire has refusals of its own', async t => {
  const anthropic = (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } })
  const received: Loose[] = []
  const service = await startStub(({ body: bytes }, response) => {
    const body = JSON.parse(bytes.toString())
    received.push(body)
    const refusal =
      body.temperature !== undefined && body.top_p !== undefined
        ? anthropic('`temperature` and `top_p` cannot both be specified for this model. Please use only one.')
        : body.output_config?.effort !== undefined
          ? anthropic('This model does not support the effort parameter.')
          : body.tools?.[0].strict === true
            ? anthropic('tools.0.custom.strict: Extra inputs are not permitted')
            : undefined
    const content = [{ type: 'text', text: 'hello' }]
    const usage = { input_tokens: 3, output_tokens: 2 }
    const message = {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'up',
      content,
      stop_reason: 'end_turn',
      usage
    }
    response.writeHead(refusal === undefined ? 200 : 400, { 'content-type': 'application/json' })
    response.end(JSON.stringify(refusal ?? message))
  })
  t.teardown(() => service.close())
  const forms = ['both', 'effort', 'strict']
  const profile = writeChatProfile({
    id: 'edge',
    kind: 'messages_compatible',
    baseUrl: service.origin,
    aliases: families.flatMap(({ name }) => forms.map(form => ({ alias: `${form}/${name}`, model: 'up' })))
  })
  const messagesGateway = await startProfileGateway(t, { profiles: [profile] })
  const sendTwice = async (family: Family, form: string, more: object, field: string) => {
    for (const calls of [2, 1]) {
      const question = { model: `${form}/${family.name}`, prompt: 'hi', more }
      const response = await send(messagesGateway.url, family, question)
      t.equal(response.status, 200, response.text)
      t.equal(response.headers.get('x-gateway-ignored'), field, `${family.name}, ${form}`)
      t.equal(received.splice(0).length, calls)
    }
  }
  const tool = { name: 'f', parameters: { type: 'object', properties: {} }, strict: true }
  for (const family of families) {
    switch (family.name) {
      case 'completions':
        await sendTwice(family, 'both', { temperature: 0.5, top_p: 0.9 }, 'top_p')
        await sendTwice(family, 'effort', { reasoning_effort: 'high' }, 'reasoning_effort')
        await sendTwice(family, 'strict', { tools: [{ type: 'function', function: tool }] }, 'tools[0].function.strict')
        break
      case 'responses':
        await sendTwice(family, 'both', { temperature: 0.5, top_p: 0.9 }, 'top_p')
        await sendTwice(family, 'strict', { tools: [{ type: 'function', ...tool }] }, 'tools[0].strict')
        break
      case 'messages': {
        const { parameters: input_schema, ...own } = tool
        await sendTwice(family, 'both', { temperature: 0.5, top_p: 0.9 }, 'top_p')
        await sendTwice(family, 'effort', { output_config: { effort: 'high' } }, 'output_config')
        await sendTwice(family, 'strict', { tools: [{ ...own, input_schema }] }, 'tools[0].strict')
        break
      }
      case 'content':
        await sendTwice(family, 'both', { generationConfig: { temperature: 0.5, topP: 0.9 } }, 'generationConfig.topP')
    }
  }
})

t.test('the embedded upstream refuses like the services of its models', async t => {
  const emulator = await startEmulator(t)
  const profile = writeChatProfile({
    id: 'edge',
    baseUrl: chatBaseUrl(emulator),
    aliases: [
      { alias: 'newest', model: 'gpt-5.1' },
      { alias: 'older', model: 'o1' }
    ]
  })
  const strict = await startProfileGateway(t, { profiles: [profile] })
  for (const family of families) {
    for (const isStream of [false, true]) {
      const question = { model: 'newest', prompt: '[[text:hello]]', isStream, more: limitTo(family, 99) }
      t.match(await ask(strict.url, family, question), { text: 'hello' }, family.name)
    }
  }
  const more = { ...completions.tools, parallel_tool_calls: true }
  t.match(await ask(strict.url, completions, { model: 'older', prompt: '[[text:hello]]', more }), { text: 'hello' })
  const chats = emulator.requests.filter(({ path }) => path.endsWith('/chat/completions'))
  t.equal(chats.length, 2 * families.length + 1 + 2, 'each alias is refused once')
})
