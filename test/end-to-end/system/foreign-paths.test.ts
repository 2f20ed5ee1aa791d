// Paths that clients of other services build, with the model in them or with another version.

import { AzureOpenAI } from 'openai'
import t from 'tap'
import { lastUpstreamChat, post } from '../../support/client.ts'
import { chat, NATIVE_ALIAS, startBridge } from '../bridge/providers/index.ts'

const { emulator, gateway, received, receivedNatively } = await startBridge(t, { isDynamic: true })
const messages = [{ role: 'user' as const, content: 'hi' }]
const contents = [{ parts: [{ text: 'x' }] }]

for (const prefix of ['', '/v1', '/v2']) {
  t.test(`decisions.md 109: ${prefix}/v1alpha is a version of the content family`, async t => {
    const models = `${gateway.url}${prefix}/v1alpha/models`
    const whole = await post(`${models}/GigaChat-2-Max:generateContent`, { contents })
    t.equal(whole.status, 200)
    t.match(whole.json, { candidates: [{ finishReason: 'STOP' }], modelVersion: 'GigaChat-2-Max' })
    t.match(lastUpstreamChat(emulator).path, prefix === '/v2' ? '/v2/' : '/v1/')
    const streamed = await post(`${models}/GigaChat-2-Max:streamGenerateContent?alt=sse`, { contents })
    t.match(streamed.text, '"finishReason":"STOP"')
    t.equal((await post(`${models}/GigaChat-2-Max:countTokens`, { contents })).status, 200)
    const list = await fetch(models)
    t.match(await list.json(), { models: [{ name: /^models\// }] })
    const unknown = await post(`${models}/no-such-model:generateContent`, { contents })
    t.equal(unknown.status, 404)
    t.match(unknown.json.error, { code: 404, status: 'NOT_FOUND', message: String })
  })
}

t.test('decisions.md 109: errors behind any prefix have the form of the content operation at the end', async t => {
  for (const path of [
    '/v1/nope/models/x:generateContent',
    '/nope/x:streamGenerateContent',
    '/v9/models/:countTokens',
    '/v1/chat/completions/x:embedContent'
  ]) {
    const { status, json } = await post(gateway.url + path, { contents })
    t.equal(status, 404, path)
    t.match(json.error, { code: 404, status: 'NOT_FOUND' }, path)
  }
})

for (const prefix of ['', '/v1', '/v2']) {
  t.test(`decisions.md 110: Azure's paths below '${prefix}'`, async t => {
    const deployments = `${gateway.url}${prefix}/openai/deployments`
    for (const more of [{}, { model: 'gpt-4' }]) {
      for (const model of ['GigaChat-2-Max', NATIVE_ALIAS, chat.aliases.keyless]) {
        for (const name of [model, encodeURIComponent(model)]) {
          const url = `${deployments}/${name}/chat/completions?api-version=2026-10-01`
          const whole = await post(url, { ...more, messages })
          t.equal(whole.status, 200, `${url} ${whole.text}`)
          t.equal(whole.json.model, model)
          const streamed = await post(url, { ...more, messages, stream: true })
          t.match(streamed.text, `"model":"${model}"`)
          t.match(streamed.text, /data: \[DONE\]\n\n$/)
        }
      }
    }
    t.match(received(chat, 'keyless').at(-1)?.body, { model: chat.models.keyless })
    t.match(receivedNatively().at(-1)?.path, prefix === '/v2' ? '/v2/' : '/v1/')
    const vectors = await post(`${deployments}/Embeddings/embeddings?api-version=1`, { input: ['a', 'b'] })
    t.equal(vectors.status, 200)
    t.match(vectors.json, { object: 'list', data: [{ index: 0 }, { index: 1 }], model: 'Embeddings' })
    t.equal(
      (await post(`${gateway.url}${prefix}/openai/v1/chat/completions`, { model: NATIVE_ALIAS, messages })).status,
      200
    )
    t.equal(
      (await post(`${gateway.url}${prefix}/openai/v1/responses`, { model: NATIVE_ALIAS, input: 'hi' })).status,
      200
    )
    const unknown = await post(`${deployments}/no-such/chat/completions`, { messages })
    t.equal(unknown.status, 404)
    t.match(unknown.json.error, { type: String, param: 'model' })
    const unserved = await post(`${deployments}/m/audio/speech`, {})
    t.equal(unserved.status, 404)
    t.match(unserved.json.error, { type: String, code: 'unknown_url' })
  })

  t.test(`decisions.md 110: the SDK of Azure with a base URL below '${prefix}'`, async t => {
    const client = new AzureOpenAI({
      endpoint: gateway.url + prefix,
      apiKey: 'unused',
      apiVersion: '2026-10-01',
      maxRetries: 0
    })
    for (const model of ['GigaChat-2-Max', chat.aliases.keyless]) {
      const completion = await client.chat.completions.create({ model, messages })
      t.equal(completion.model, model)
      let text = ''
      for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
        text += chunk.choices[0]?.delta.content ?? ''
      }
      t.equal(text, completion.choices[0]?.message.content)
    }
    const { data } = await client.embeddings.create({ model: 'Embeddings', input: 'a' })
    t.equal(data.length, 1)
  })
}
