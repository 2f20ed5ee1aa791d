import t from 'tap'
import type { ModelFacts } from '../../../shared/catalog/model-facts.ts'
import type { ModelListCodec } from '../../../worker/protocols/provider-face.ts'
import { findProviderFace, providerFaces } from '../../../worker/protocols/registry.ts'

const paths = { modelsPath: '/v1/models' }

function codecOf(providerKind: string, wire?: 'responses'): ModelListCodec<unknown> {
  const { models } = findProviderFace(providerFaces, { providerKind, apiMode: 'v1', wire })
  if (models === undefined) throw new Error(`${providerKind} has no list`)
  return models
}

const chat = codecOf('chat_compatible')
const messages = codecOf('messages_compatible')
const content = codecOf('content_compatible')

t.test('the chat wire and the Responses wire list their models under the base', async t => {
  for (const codec of [chat, codecOf('chat_compatible', 'responses')]) {
    t.match(codec.write(paths), { method: 'GET', path: '/v1/models' })
    t.match(codec.read({ object: 'list', data: [{ id: 'a', owned_by: 'me' }] }), {
      models: [{ id: 'a', ownedBy: 'me', modelType: null, available: true, deprecated: false }]
    })
    t.match(codec.read([{ id: 'a' }]), { models: [{ id: 'a' }] }, 'a list without an object around it')
    for (const body of [{}, null, 'text', { data: {} }, { models: [] }]) {
      t.throws(() => codec.read(body), { code: 'provider_protocol_error' })
    }
  }
})

t.test('a link to the next page gives its query alone', async t => {
  const page = (next: unknown) => chat.read({ data: [], links: { next } }).cursor
  t.equal(page('/api/v1/models?offset=500&limit=500'), '?offset=500&limit=500')
  t.equal(page('https://elsewhere.example/steal?offset=1'), '?offset=1')
  for (const next of [null, undefined, '', '/v1/models', 7, {}]) t.equal(page(next), undefined)
  t.equal(chat.write(paths, '?offset=500&limit=500').path, '/v1/models?offset=500&limit=500')
})

t.test('what services of the chat wire state about a model is kept, and nothing else', async t => {
  const rows: Array<[service: string, item: object, type: string | null, facts: ModelFacts | undefined]> = [
    ['OpenAI', { object: 'model', created: 1, owned_by: 'openai' }, null, undefined],
    ['vLLM', { max_model_len: 40_960, root: '/models/a', permission: [] }, null, { contextWindow: 40_960 }],
    [
      'OpenRouter',
      {
        context_length: 1_000_000,
        architecture: { input_modalities: ['text', 'image', 'file'], output_modalities: ['text'] },
        top_provider: { context_length: 1_000_000, max_completion_tokens: 65_536 }
      },
      'chat',
      { contextWindow: 1_000_000, outputTokensMax: 65_536, readsImages: true, readsFiles: true }
    ],
    [
      'OpenRouter, text only',
      { context_length: 8192, architecture: { input_modalities: ['text'], output_modalities: ['text'] } },
      'chat',
      { contextWindow: 8192, readsImages: false, readsFiles: false }
    ],
    ['OpenRouter, embeddings', { architecture: { output_modalities: ['embeddings'] } }, 'embedder', undefined],
    [
      'Mistral',
      { type: 'base', max_context_length: 131_072, capabilities: { completion_chat: true, vision: false } },
      'chat',
      { contextWindow: 131_072, readsImages: false }
    ],
    [
      'LM Studio, vision',
      { type: 'vlm', max_context_length: 32_768, loaded_context_length: 4096 },
      'chat',
      { contextWindow: 4096, readsImages: true }
    ],
    ['LM Studio, text', { type: 'llm' }, 'chat', { readsImages: false }],
    ['LM Studio, embeddings', { type: 'embeddings' }, 'embedder', undefined],
    [
      'Groq',
      { context_window: 131_072, max_completion_tokens: 32_768, active: true },
      null,
      { contextWindow: 131_072, outputTokensMax: 32_768 }
    ],
    ['Together', { type: 'chat', context_length: 8192 }, 'chat', { contextWindow: 8192 }],
    ['Together, pictures', { type: 'image' }, 'image', undefined],
    [
      'Moonshot',
      { context_length: 262_144, supports_image_in: true },
      null,
      { contextWindow: 262_144, readsImages: true }
    ],
    ['xAI', { input_modalities: ['text', 'image'] }, null, { readsImages: true, readsFiles: false }],
    [
      'a second gateway',
      { type: 'model', input_token_limit: 100, output_token_limit: 50, metadata: { type: 'chat' } },
      'chat',
      { contextWindow: 100, outputTokensMax: 50 }
    ],
    ['llama.cpp', { meta: { n_ctx_train: 131_072 } }, null, undefined],
    ['a fork of llama.cpp', { meta: { n_ctx_train: 131_072, n_ctx: 8192 } }, null, { contextWindow: 8192 }],
    ['a name that says much', { name: 'vision-128k-embedding' }, null, undefined]
  ]
  for (const [service, item, modelType, facts] of rows) {
    const [model] = chat.read({ data: [{ id: 'x', ...item }] }).models
    t.equal(model?.modelType, modelType, service)
    t.same(model?.facts, facts, service)
    t.same(model?.providerMetadata, {}, service)
  }
  const [old, off] = chat.read({
    data: [
      { id: 'a', deprecation: '2026-12-01' },
      { id: 'b', active: false }
    ]
  }).models
  t.match(old, { deprecated: true, available: true })
  t.match(off, { deprecated: false, available: false })
})

t.test('a wrong limit is no limit', async t => {
  for (const limit of [0, -1, 1.5, '8192', null, Number.MAX_SAFE_INTEGER, {}, [8192], Number.NaN]) {
    t.equal(chat.read({ data: [{ id: 'a', max_model_len: limit }] }).models[0]?.facts, undefined, String(limit))
  }
  const [model] = chat.read({ data: [{ id: 'a', architecture: 'text', capabilities: [1], links: 3, type: 7 }] }).models
  t.match(model, { id: 'a', modelType: null })
})

t.test('an id with control characters, a blank at its end or no text is no model', async t => {
  const ids = ['', ' a', 'a ', 'a\n', 'a\u0000b', 'a\u200bb', 'a\u2028b', 7, null, {}, 'x'.repeat(257)]
  const items = [...ids.map(id => ({ id })), null, 'text', []]
  t.ok(chat.read({ data: items }).models.every(model => model === undefined))
  t.equal(chat.read({ data: [{ id: 'models/My Model.gguf' }] }).models[0]?.id, 'models/My Model.gguf')
})

t.test('the messages wire states limits, pictures, documents and the lifecycle', async t => {
  const data = [
    {
      type: 'model',
      id: 'claude-a',
      max_input_tokens: 200_000,
      max_tokens: 64_000,
      capabilities: { image_input: { supported: true }, pdf_input: { supported: false } },
      lifecycle: 'active'
    },
    { type: 'model', id: 'claude-old', max_input_tokens: null, capabilities: null, lifecycle: 'retired' }
  ]
  t.match(messages.read({ data }).models, [
    {
      id: 'claude-a',
      facts: { contextWindow: 200_000, outputTokensMax: 64_000, readsImages: true, readsFiles: false },
      deprecated: false
    },
    { id: 'claude-old', deprecated: true, available: false }
  ])
  t.notOk('facts' in (messages.read({ data }).models[1] ?? {}))
})

t.test('the content wire states limits; Vertex AI names a publisher', async t => {
  const models = [
    {
      name: 'models/gemini-a',
      inputTokenLimit: 1_048_576,
      outputTokenLimit: 65_536,
      supportedGenerationMethods: ['generateContent']
    }
  ]
  t.match(content.read({ models }).models, [
    { id: 'gemini-a', modelType: 'chat', facts: { contextWindow: 1_048_576, outputTokensMax: 65_536 } }
  ])
  const vertex = { publisherModels: [{ name: 'publishers/google/models/gemini-a' }], nextPageToken: 'n' }
  t.match(content.read(vertex), { models: [{ id: 'gemini-a' }], cursor: 'n' })
  t.same(content.read({ nextPageToken: 'n' }), { models: [], cursor: 'n' })
})
