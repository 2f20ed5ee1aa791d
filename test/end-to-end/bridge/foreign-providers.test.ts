// Alone: it refuses every connection of its process to another host, and other tests try such hosts.
//
// A provider that another project maintains, and a second gateway of this kind: the newest SDK of each family through the bridge to
// them, whole and streamed.

import { LLMock } from '@copilotkit/aimock'
import t, { type Test } from 'tap'
import { catchError } from '../../support/errors.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { refuseOtherHosts } from '../../support/loopback.ts'
import { startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import type { Adapter } from '../sdk-generations/adapter.ts'
import { createAdapters } from '../sdk-generations/support.ts'

const KEY = 'key-of-a-foreign-provider-77aa'

/** What a provider is asked, in words that it knows, and what it says then. */
interface Provider {
  name: string
  baseUrl: string
  model: string
  embeddingsModel: string
  /** Gives the text "Hello from afar". */
  greeting: string
  /** Gives two calls of the weather tool in one response, then a text with the number 21. */
  calls: string
  structured: string
  /** Gives status 429. */
  limit: string
  /** The models that it was asked for. */
  listModels(): unknown[]
}

const strangers = refuseOtherHosts(t)

async function startMock(): Promise<Provider> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 4, auth: { apiKeys: [KEY] } })
  const city = (name: string) => ({ name: 'weather', arguments: JSON.stringify({ city: name }) })
  mock.onMessage('greet me', { content: 'Hello from afar', usage: { prompt_tokens: 11, completion_tokens: 3 } })
  mock.on({ userMessage: 'weather please', hasToolResult: false }, { toolCalls: [city('Oslo'), city('Rome')] })
  mock.on({ userMessage: 'weather please', hasToolResult: true }, { content: 'It is 21 degrees.' })
  mock.onMessage('structure', { content: '{"name":"a","tags":["b"]}' })
  mock.onMessage('too much', { error: { message: 'Slow down', type: 'rate_limit_error' }, status: 429 })
  mock.onEmbedding(/.*/, { embedding: [0.25, -0.5, 1] })
  await mock.start()
  t.teardown(() => mock.stop())
  return {
    name: 'aimock',
    baseUrl: `${mock.url}/v1`,
    model: 'gpt-mock',
    embeddingsModel: 'embed-mock',
    greeting: 'greet me',
    calls: 'weather please',
    structured: 'structure',
    limit: 'too much',
    listModels: () => mock.getRequests().map(({ body }) => (body as { model?: unknown } | null)?.model)
  }
}

async function startSecondGateway(): Promise<Provider> {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: KEY }
  })
  return {
    name: 'a second gateway',
    // The largest model of the second contract has several calls in one response.
    baseUrl: `${gateway.url}/v2`,
    model: 'GigaChat-2-Max',
    embeddingsModel: 'Embeddings',
    greeting: '[[text:Hello from afar]][[usage:11,3]]',
    calls:
      '[[parallel]][[tool:weather {"city":"Oslo"}]][[tool:weather {"city":"Rome"}]][[step]][[text:It is 21 degrees.]]',
    structured: 'hi',
    limit: '[[error:429 message=Slow down]]',
    listModels: () =>
      emulator.requests
        .filter(({ path }) => /chat\/completions|embeddings/.test(path))
        .map(({ body }) => (body as { model?: unknown }).model)
  }
}

const providers = [await startMock(), await startSecondGateway()]
const alias = (index: number) => `foreign/${index}`
const gateway = await startProfileGateway(t, {
  profiles: providers.map(({ baseUrl, model, embeddingsModel }, index) =>
    writeChatProfile({
      id: `foreign-${index}`,
      baseUrl,
      credentialEnv: 'FOREIGN_KEY',
      aliases: [
        { alias: alias(index), model },
        { alias: `${alias(index)}-embeddings`, model: embeddingsModel }
      ]
    })
  ),
  env: { FOREIGN_KEY: KEY }
})

const newest = ['openai 7 completions', 'openai 7 responses', '@anthropic-ai/sdk 1', '@google/genai 3']

type Check = (t: Test, provider: Provider, adapter: Adapter) => Promise<void>

const checks: ReadonlyArray<[string, Check]> = [
  [
    'a text, whole and streamed',
    async (t, { greeting }, adapter) => {
      t.equal(await adapter.ask(greeting), 'Hello from afar')
      const pieces: string[] = []
      for await (const piece of adapter.stream(greeting)) pieces.push(piece)
      t.equal(pieces.join(''), 'Hello from afar')
    }
  ],
  [
    'a loop over two parallel calls, whole and streamed',
    async (t, { calls }, adapter) => {
      for (const isStream of [false, true]) {
        const inputs: unknown[] = []
        const run = (input: unknown) => {
          inputs.push(input)
          return { temperature: 21 }
        }
        t.match(await adapter.loop(calls, { isStream, run }), /21/)
        t.strictSame(inputs, [{ city: 'Oslo' }, { city: 'Rome' }], isStream ? 'streamed' : 'whole')
      }
    }
  ],
  [
    'structured output',
    async (t, { structured }, adapter) => {
      const value = (await adapter.parse(structured)) as object
      t.strictSame(Object.keys(value).sort(), ['name', 'tags'])
    }
  ],
  [
    'a limit of the provider is a limit of the client',
    async (t, { limit }, adapter) => {
      const error = await catchError(() => adapter.ask(limit))
      t.equal(adapter.readStatus(error), 429)
      t.match((error as Error).message, /Slow down/)
    }
  ]
]

for (const [index, provider] of providers.entries()) {
  const adapters = createAdapters({ url: gateway.url, version: 'v1', model: alias(index) })
  const chosen = adapters.filter(({ name }) => newest.includes(name))

  t.test(`${provider.name}: each newest SDK has an adapter`, async t => t.equal(chosen.length, newest.length))

  for (const adapter of chosen) {
    for (const [name, check] of checks) {
      t.test(`${provider.name}, ${adapter.name}: ${name}`, t => check(t, provider, adapter))
    }
  }

  t.test(`${provider.name}: embeddings`, async t => {
    const response = await fetch(`${gateway.url}/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: `${alias(index)}-embeddings`, input: ['a', 'b'], encoding_format: 'float' })
    })
    const { data, model } = (await response.json()) as { data: Array<{ embedding: number[] }>; model: string }
    t.equal(model, `${alias(index)}-embeddings`)
    t.equal(data.length, 2)
    t.ok(data.every(({ embedding }) => embedding.length > 0 && embedding.every(Number.isFinite)))
  })

  t.test(`${provider.name}: it was asked for its own models only`, async t => {
    const models = new Set(provider.listModels())
    t.ok(models.size > 0)
    for (const model of models) t.ok(model === provider.model || model === provider.embeddingsModel, String(model))
  })
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
