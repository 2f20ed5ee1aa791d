// A provider kind that only this test defines, in test/support/toy-provider: a face, a signer for the product's HTTP
// executor, one registration line for each. It calls an HTTP server of the test. The official SDKs of all client families use it, whole and streamed, with tools.

import Anthropic from '@anthropic-ai/sdk'
import { type Content, GoogleGenAI, Type } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { parseSettings } from '../../shared/settings.ts'
import { providerFaces } from '../../worker/protocols/registry.ts'
import { providerKinds } from '../../worker/providers/registry.ts'
import { post } from '../support/client.ts'
import { catchError } from '../support/errors.ts'
import { toyFaces, toyKind } from '../support/toy-provider/kind.ts'
import { createToyProfileSet, toyCredentials } from '../support/toy-provider/profiles.ts'
import { startToyServer } from '../support/toy-provider/server.ts'
import type { ToyRequest } from '../support/toy-provider/wire.ts'
import { startWorker, workerOptions } from '../support/worker-app.ts'

const { baseUrl, received } = await startToyServer(t)
const settings = parseSettings({ GATEWAY_MODEL_MAX_CONNECTIONS: '{"toy-7b":1}' })
const { app, url: gateway } = await startWorker(
  t,
  { ...workerOptions(settings), profiles: createToyProfileSet(settings, baseUrl), credentials: toyCredentials },
  { faces: { ...providerFaces, ...toyFaces }, kinds: { ...providerKinds, toy: toyKind } }
)
const model = 'toy/model'
/** What the provider wants back in a tool loop: its thought with the state that it issued. */
const sealed = { who: 'model', think: 'A tool.', seal: 'sealed' }
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const

/** The last request that the toy provider received. */
function lastRequest(): ToyRequest {
  const last = received.at(-1)
  if (last === undefined) throw new Error('The toy provider got no request.')
  return last
}

t.beforeEach(() => {
  received.length = 0
})

for (const isStream of [false, true]) {
  const form = isStream ? 'streamed' : 'whole'

  t.test(`chat completions, ${form}: text, usage and a tool loop`, async t => {
    const client = new OpenAI({ baseURL: `${gateway}/v1`, apiKey: 'unused', maxRetries: 0 })
    const run = async (messages: OpenAI.ChatCompletionMessageParam[], tools?: OpenAI.ChatCompletionTool[]) => {
      const body = { model, messages, ...(tools === undefined ? {} : { tools }) }
      return isStream
        ? client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
        : client.chat.completions.create(body)
    }
    const plain = await run([{ role: 'user', content: 'hi' }])
    t.equal(plain.choices[0]?.message.content, 'You said hi.')
    t.equal(plain.model, model)
    t.match(plain.usage, { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 })
    t.match(lastRequest(), { model: 'toy-7b', stream: isStream })

    const tools: OpenAI.ChatCompletionTool[] = [
      { type: 'function', function: { name: 'weather', parameters: { ...schema } } }
    ]
    const asked: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'weather?' }]
    const called = await run(asked, tools)
    const message = called.choices[0]?.message
    t.equal(called.choices[0]?.finish_reason, 'tool_calls')
    t.equal(message?.content, 'Let me look.')
    const [call] = message?.tool_calls ?? []
    if (call?.type !== 'function' || message === undefined) throw new Error('No function is called.')
    t.same([call.function.name, JSON.parse(call.function.arguments)], ['weather', { city: 'Paris' }])
    t.strictSame(lastRequest().tools, [{ name: 'weather', schema }])
    const done = await run([...asked, message, { role: 'tool', tool_call_id: call.id, content: 'sunny' }], tools)
    t.equal(done.choices[0]?.message.content, 'It is sunny.')
    t.same(lastRequest().ask, [
      { who: 'user', say: 'weather?' },
      sealed,
      { who: 'model', say: 'Let me look.' },
      { who: 'model', calls: [{ id: call.id, name: 'weather', args: { city: 'Paris' } }] },
      { who: 'tool', id: call.id, result: 'sunny' }
    ])
  })

  t.test(`Responses, ${form}: text, usage and a tool loop`, async t => {
    const client = new OpenAI({ baseURL: `${gateway}/v2`, apiKey: 'unused', maxRetries: 0 })
    const run = async (input: OpenAI.Responses.ResponseInput, tools: OpenAI.Responses.Tool[] = []) => {
      const body = { model, input, tools }
      if (!isStream) return client.responses.create(body)
      for await (const event of await client.responses.create({ ...body, stream: true })) {
        if (event.type === 'response.completed') return event.response
      }
      throw new Error('The stream has no end.')
    }
    const textOf = (output: OpenAI.Responses.ResponseOutputItem[]) =>
      output.flatMap(item =>
        item.type === 'message' ? item.content.map(part => (part.type === 'output_text' ? part.text : '')) : []
      )
    const plain = await run([{ role: 'user', content: 'hi' }])
    t.same(textOf(plain.output), ['You said hi.'])
    t.match(plain.usage, { input_tokens: 3, output_tokens: 5 })

    const tools: OpenAI.Responses.Tool[] = [
      { type: 'function', name: 'weather', parameters: { ...schema }, strict: false }
    ]
    const called = await run([{ role: 'user', content: 'weather?' }], tools)
    t.same(textOf(called.output), ['Let me look.'])
    t.match(called.output[0], { type: 'reasoning' })
    const call = called.output.find(item => item.type === 'function_call')
    if (call === undefined) throw new Error('No function is called.')
    t.same([call.name, JSON.parse(call.arguments)], ['weather', { city: 'Paris' }])
    const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' } as const
    const history = called.output as OpenAI.Responses.ResponseInput
    const done = await run([{ role: 'user', content: 'weather?' }, ...history, result], tools)
    t.same(textOf(done.output), ['It is sunny.'])
    t.match(lastRequest().ask[1], sealed)
  })

  t.test(`messages, ${form}: text, usage and a tool loop`, async t => {
    const client = new Anthropic({ baseURL: gateway, apiKey: 'unused', maxRetries: 0 })
    const run = async (messages: Anthropic.MessageParam[], tools: Anthropic.Tool[] = []) => {
      const body = { model, max_tokens: 64, messages, tools }
      return isStream ? client.messages.stream(body).finalMessage() : client.messages.create(body)
    }
    const plain = await run([{ role: 'user', content: 'hi' }])
    t.match(plain.content, [{ type: 'text', text: 'You said hi.' }])
    t.equal(plain.model, model)
    t.equal(plain.usage.output_tokens, 5)

    const tools: Anthropic.Tool[] = [{ name: 'weather', input_schema: { ...schema, required: ['city'] } }]
    const called = await run([{ role: 'user', content: 'weather?' }], tools)
    t.equal(called.stop_reason, 'tool_use')
    const call = called.content.find(block => block.type === 'tool_use')
    if (call === undefined) throw new Error('No function is called.')
    t.same([call.name, call.input], ['weather', { city: 'Paris' }])
    const done = await run(
      [
        { role: 'user', content: 'weather?' },
        { role: 'assistant', content: called.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'sunny' }] }
      ],
      tools
    )
    t.match(done.content, [{ type: 'text', text: 'It is sunny.' }])
    t.match(lastRequest().ask[1], sealed)
  })

  t.test(`generate content, ${form}: text, usage and a tool loop`, async t => {
    const client = new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: gateway } })
    const config = {
      tools: [
        {
          functionDeclarations: [
            { name: 'weather', parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } } } }
          ]
        }
      ]
    }
    const run = async (contents: Content[], hasTools: boolean) => {
      const request = { model, contents, ...(hasTools ? { config } : {}) }
      if (!isStream) {
        const { candidates = [], usageMetadata } = await client.models.generateContent(request)
        return { parts: candidates[0]?.content?.parts ?? [], usageMetadata }
      }
      const parts: NonNullable<Content['parts']> = []
      let usageMetadata: { candidatesTokenCount?: number } | undefined
      for await (const chunk of await client.models.generateContentStream(request)) {
        parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
        usageMetadata = chunk.usageMetadata ?? usageMetadata
      }
      return { parts, usageMetadata }
    }
    const textOf = (parts: Content['parts'] = []) =>
      parts.map(part => (part.thought === true ? '' : (part.text ?? ''))).join('')
    const plain = await run([{ role: 'user', parts: [{ text: 'hi' }] }], false)
    t.equal(textOf(plain.parts), 'You said hi.')
    t.equal(plain.usageMetadata?.candidatesTokenCount, 5)

    const called = await run([{ role: 'user', parts: [{ text: 'weather?' }] }], true)
    const call = called.parts.find(part => part.functionCall !== undefined)?.functionCall
    t.match(call, { name: 'weather', args: { city: 'Paris' } })
    const response = { functionResponse: { id: call?.id ?? '', name: 'weather', response: { output: 'sunny' } } }
    const done = await run(
      [
        { role: 'user', parts: [{ text: 'weather?' }] },
        { role: 'model', parts: called.parts },
        { role: 'user', parts: [response] }
      ],
      true
    )
    t.match(textOf(done.parts), /^It is .*sunny/)
    // The client did not ask for thoughts, and returns their state alone.
    t.match(lastRequest().ask[1], { who: 'model', seal: 'sealed' })
  })

  t.test(`errors, ${form}: each family returns the provider's error in its form`, async t => {
    const openai = new OpenAI({ baseURL: `${gateway}/v1`, apiKey: 'unused', maxRetries: 0 })
    const anthropic = new Anthropic({ baseURL: gateway, apiKey: 'unused', maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'trouble' }]
    for (const [name, ask] of [
      ['completions', () => openai.chat.completions.create({ model, messages, stream: isStream })],
      ['responses', () => openai.responses.create({ model, input: 'trouble', stream: isStream })],
      ['messages', () => anthropic.messages.create({ model, max_tokens: 9, messages, stream: isStream })]
    ] as const) {
      t.match(await catchError(ask), { status: 503, message: /The toy is broken/ }, name)
    }
    const path = `/v1beta/models/toy/model:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
    const refused = await post(gateway + path, { contents: [{ parts: [{ text: 'trouble' }] }] })
    t.equal(refused.status, 503)
    t.match(JSON.parse(refused.text), { error: { code: 503, message: /The toy is broken/ } })
  })
}

t.test('the provider answers a signed request only', async t => {
  const { status, text } = await post(`${baseUrl}/ask`, { model: 'toy-7b' })
  t.equal(status, 401)
  t.match(text, /signature is wrong/)
})

t.test('a failure after the first event ends the stream in the form of the family', async t => {
  const openai = new OpenAI({ baseURL: `${gateway}/v1`, apiKey: 'unused', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'trouble later' }]
  let text = ''
  const read = async () => {
    for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
  }
  t.match(await catchError(read), { message: /The toy broke/ })
  t.equal(text, 'Well')
})

t.test("a feature that the kind's declaration refuses is refused before any call, with the client's field", async t => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } }
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'see' }, image] }]
  const refused = await post(`${gateway}/v1/chat/completions`, { model, messages })
  t.equal(refused.status, 400)
  t.match(JSON.parse(refused.text), { error: { code: 'unsupported_semantic', message: 'The toy is blind.' } })
  const stored = await post(`${gateway}/v2/responses`, { model, input: 'hi', store: true })
  t.match(JSON.parse(stored.text), { error: { code: 'unsupported_semantic', param: 'store' } })
  t.equal(received.length, 0)
})

t.test('an operation that the kind does not have is refused before any call, and its slot is released', async t => {
  const counted = await post(`${gateway}/v1/messages/count_tokens`, {
    model,
    messages: [{ role: 'user', content: 'hi' }]
  })
  t.equal(counted.status, 200, 'the gateway counts tokens itself')
  t.equal(counted.headers.get('x-gateway-token-count'), 'estimate')
  const embedded = await post(`${gateway}/v1/embeddings`, { model, input: 'hi' })
  t.equal(embedded.status, 400)
  t.equal(received.length, 0)
  t.equal(app.activeRequests, 0)
  const body = { model, messages: [{ role: 'user', content: 'hi' }] }
  const all = await Promise.all([1, 2, 3].map(() => post(`${gateway}/v1/chat/completions`, body)))
  t.same(
    all.map(({ status }) => status),
    [200, 200, 200]
  )
})
