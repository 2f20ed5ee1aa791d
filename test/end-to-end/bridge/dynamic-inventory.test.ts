// External profiles whose models are discovered: a profile of 12 lines serves every model of the
// embedded upstream in all four families (decisions.md 88, providers.md 3 and case 14).

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { anthropicBaseUrl, chatBaseUrl, googleBaseUrl, responsesBaseUrl } from '../../support/profile-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { askIn, families } from '../system/support.ts'

const emulator = await startEmulator(t)

/** Each wire, with a provider that shows one model a page, and the models that it lists. */
const wires = [
  { kind: 'chat_compatible', baseUrl: chatBaseUrl(emulator, 'paged'), chats: ['emulator-small', 'emulator-large'] },
  {
    kind: 'chat_compatible\n    wire: responses',
    baseUrl: responsesBaseUrl(emulator, 'paged'),
    chats: ['emulator-small', 'emulator-large']
  },
  {
    kind: 'messages_compatible',
    baseUrl: anthropicBaseUrl(emulator, 'paged'),
    chats: ['emulator-large', 'emulator-small'],
    embeddings: null
  },
  {
    kind: 'content_compatible',
    baseUrl: googleBaseUrl(emulator, 'paged'),
    chats: ['emulator-small', 'emulator-large', 'gemini-3-emulator']
  }
]

function writeFile(kind: string, baseUrl: string): string {
  return `schema_version: gateway.provider-profiles.v3
profiles:
  - profile_id: local
    provider_kind: ${kind}
    base_url: ${baseUrl}
    network_policy_ref: loopback-development
    tls_policy_ref: system-default
    allow_loopback: true
    model_inventory: dynamic
    public_prefix: local/
    default_capabilities: {features: [reasoning_vision], limits: {context_window: 32768}}
`
}

for (const { kind, baseUrl, chats, embeddings = 'emulator-embeddings' } of wires) {
  t.test(
    `providers 14: every model of a ${kind.replace(/\s+/g, ' ')} provider is served in all four families`,
    async t => {
      const text = writeFile(kind, baseUrl)
      t.ok(text.trim().split('\n').length <= 12)
      const file = join(createTemporaryFolder(t), 'profiles.yaml')
      writeFileSync(file, text)
      const { url } = await startGateway(t, { args: ['--config', file] })
      const ready = async () => (await get(`${url}/ready`)).json
      await waitUntil(async () => (await ready()).model_catalog.state === 'fresh', 'the inventory is there')
      t.match(await ready(), { ready: true, warnings: [] })

      const listed = [...chats, ...(embeddings === null ? [] : [embeddings])].map(id => `local/${id}`)
      const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0 })
      const anthropic = new Anthropic({ baseURL: url, apiKey: 'unused', maxRetries: 0 })
      const google = new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: url } })
      const ids = await Promise.all([
        collect(openai.models.list(), ({ id }) => id),
        collect(anthropic.models.list({ limit: 2 }), ({ id }) => id),
        collect(await google.models.list({ config: { pageSize: 2 } }), ({ name }) => name?.replace('models/', ''))
      ])
      for (const list of ids) t.same(list, listed)
      t.same(
        (await get(`${url}/bridge/models`)).json.models.map(({ id }: { id: string }) => id),
        [...listed].sort()
      )
      t.equal((await openai.models.retrieve(listed[0] ?? '')).id, listed[0])
      t.match((await get(`${url}/model/info`)).json.data[0], { model_name: listed[0] })

      for (const model of listed.slice(0, chats.length)) {
        for (const family of families) {
          for (const prefix of family === 'content' ? ['/v1beta'] : ['/v1', '/v2']) {
            for (const stream of [false, true]) {
              const { status, text: body } = await askIn({ url }, family, '[[text:served]]', { model, stream, prefix })
              t.equal(status, 200, `${family} ${model} ${prefix} ${stream}: ${body.slice(0, 200)}`)
              t.match(body, 'served')
            }
          }
        }
        t.match(await anthropic.messages.countTokens({ model, messages: [{ role: 'user', content: 'hi' }] }), {
          input_tokens: Number
        })
        t.match(await google.models.countTokens({ model, contents: 'hi' }), { totalTokens: Number })
      }
      if (embeddings !== null) {
        const vectors = await openai.embeddings.create({ model: `local/${embeddings}`, input: 'hi' })
        t.match(vectors, { model: `local/${embeddings}`, data: [{ embedding: Array }] })
      }

      for (const model of ['local/', 'local/no-such-model', 'local/a%0Ab', 'emulator-large', 'Local/emulator-large']) {
        const before = emulator.requests.length
        for (const family of families) {
          const name = family === 'content' ? model : decodeURIComponent(model)
          const { status, json } = await askIn({ url }, family, 'hi', { model: name })
          t.equal(status, 404, `${family} ${model}`)
          t.match(JSON.stringify(json), 'unknown_model_alias')
        }
        const counts: Array<[string, object]> = [
          [
            '/v1/messages/count_tokens',
            { model: decodeURIComponent(model), messages: [{ role: 'user', content: 'hi' }] }
          ],
          [`/v1beta/models/${model}:countTokens`, { contents: [{ parts: [{ text: 'hi' }] }] }]
        ]
        for (const [path, body] of counts) {
          const { status, json } = await post(`${url}${path}`, body)
          t.equal(status, 404, `${path} ${model}`)
          t.match(JSON.stringify(json), 'unknown_model_alias')
        }
        t.equal(emulator.requests.length, before, 'nothing is sent')
      }

      const capabilities = (model: string) =>
        get(`${url}/bridge/capabilities?protocol=anthropic_messages&model=${encodeURIComponent(model)}`)
      t.match((await capabilities(listed[0] ?? '')).json, {
        provider_profile_id: 'local',
        capabilities: { image_input: { state: 'supported' }, reasoning_controls: { state: 'supported' } }
      })
      t.match(await capabilities('local/no-such-model'), {
        status: 404,
        json: { error: { code: 'unknown_model_alias', details: [{ reason_id: 'model_not_found' }] } }
      })
    }
  )
}

async function collect<Item, Name>(list: AsyncIterable<Item>, nameOf: (item: Item) => Name): Promise<Name[]> {
  const names: Name[] = []
  for await (const item of list) names.push(nameOf(item))
  return names
}
