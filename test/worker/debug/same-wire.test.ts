// Bodies whose provider speaks the client's own protocol, in the debugging routes: shown as they are sent, and explained as such.

import t from 'tap'
import type { DebugTask } from '../../../worker/debug/job.ts'
import { runDebugTask } from '../../../worker/debug/run-task.ts'
import type { DebugEnvironment } from '../../../worker/debug/selected-route.ts'
import type { JsonObject } from '../../../worker/normalized/index.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { createContext } from './support.ts'

const COMPLETIONS = 'completions-alias'
const MESSAGES = 'messages-alias'
const CONTENT = 'content-alias'

const route = { upstreamModel: 'exact-model', slotKey: '' }
const environment: DebugEnvironment = {
  settings: {
    routes: {
      aliases: new Map([
        [COMPLETIONS, { ...route, profileId: 'chat-vendor', providerKind: 'chat_compatible' }],
        [MESSAGES, { ...route, profileId: 'messages-vendor', providerKind: 'messages_compatible' }],
        [CONTENT, { ...route, profileId: 'content-vendor', providerKind: 'content_compatible' }]
      ])
    },
    providerOptions: {
      'chat-vendor': { chatPath: '/v1/chat/completions', embeddingsPath: '' },
      'messages-vendor': { messagesPath: '/v1/messages', countTokensPath: '', modelsPath: '' },
      'content-vendor': { modelsPath: '/v1beta/models' }
    }
  },
  faces: providerFaces
}

function ask(task: DebugTask, body: JsonObject): Promise<JsonObject> {
  return runDebugTask({ body, bytes: JSON.stringify(body).length }, createContext(task), environment)
}

const messages: JsonObject = {
  model: MESSAGES,
  max_tokens: 9,
  stop_sequences: ['STOP'],
  context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
  service_tier: 'auto',
  unknown_member: 5,
  tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] }],
  extra_headers: {}
}

const completions: JsonObject = {
  model: COMPLETIONS,
  messages: [{ role: 'developer', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] }],
  n: 2,
  logprobs: true,
  logit_bias: { 50256: -100 },
  top_k: 40,
  chat_template_kwargs: { enable_thinking: false },
  functions: [{ name: 'f' }],
  extra_headers: {}
}

const content: JsonObject = {
  model: CONTENT,
  contents: [{ role: 'user', parts: [{ text: 'hi' }, { fileData: { fileUri: 'https://a.example/a' } }] }],
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  cachedContent: 'cachedContents/a',
  tools: [{ googleSearch: {} }],
  generationConfig: { candidateCount: 2, stopSequences: ['STOP'] }
}

const withoutOwn = ({ extra_headers: _headers, ...rest }: JsonObject): JsonObject => ({ ...rest, model: 'exact-model' })
const withoutModel = ({ model: _model, ...rest }: JsonObject): JsonObject => rest

t.test('a translation shows the body that is sent, without a loss', async t => {
  const cases = [
    ['openai', completions, withoutOwn(completions)],
    ['anthropic', messages, withoutOwn(messages)],
    ['gemini', content, withoutModel(content)]
  ] as const
  for (const [from, payload, sent] of cases) {
    const answer = await ask({ type: 'translate' }, { from, to: 'upstream', payload, loss: true })
    t.strictSame(answer.payload, sent, from)
    t.strictSame(answer.loss, [], from)
  }
  // Another client's protocol takes the way through the normalized form.
  const payload = { model: MESSAGES, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  const answer = await ask({ type: 'translate' }, { from: 'openai', to: 'upstream', payload })
  t.match(answer.payload, { model: 'exact-model', max_tokens: 9 })
})

t.test(
  'an explanation tells that fields are sent unchanged, without the notes on what other routes make of them',
  async t => {
    const cases = [
      ['openai', completions, ['model', 'extra_headers']],
      ['anthropic', messages, ['model', 'extra_headers']],
      ['gemini', content, ['model']]
    ] as const
    for (const [family, body, others] of cases) {
      const explained = await ask({ type: 'explain', family }, body)
      t.match(explained, { accepted: true, complete: true }, family)
      const fields = explained.fields as Array<{ path: string; verdict: string; reason: string }>
      for (const { path, verdict, reason } of fields) {
        if (others.some(name => name === path)) continue
        t.strictSame({ path, verdict, reason }, { path, verdict: 'exact', reason: 'Sent unchanged.' }, family)
      }
      t.ok(fields.length >= Object.keys(body).length, family)
      t.equal(fields.find(({ path }) => path === 'model')?.verdict, family === 'gemini' ? 'ignored' : 'translated')
    }
  }
)

t.test('an extra body that is no object is refused, and the others are explained (decisions.md 72)', async t => {
  const explained = await ask({ type: 'explain', family: 'anthropic' }, { ...messages, extra_body: 'a' })
  t.match(explained, { accepted: false, error: { code: 'unsupported_parameter', param: 'extra_body' } })
  const fields = explained.fields as Array<{ path: string; verdict: string }>
  t.equal(fields.find(({ path }) => path === 'extra_body')?.verdict, 'refused')
  t.equal(fields.find(({ path }) => path === 'service_tier')?.verdict, 'exact')
})

t.test('a wrong shape is the provider’s to refuse (decisions.md 72)', async t => {
  for (const [family, body] of [
    ['openai', { ...completions, messages: [{ role: 5 }] }],
    ['anthropic', { ...messages, temperature: 'warm' }]
  ] as const) {
    t.match(await ask({ type: 'explain', family }, body as JsonObject), { accepted: true })
  }
})
