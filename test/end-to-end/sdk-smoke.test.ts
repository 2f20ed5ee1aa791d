// One official SDK of each family against the whole product: a supervisor and two workers, each a
// process of its own. What the families can do is tested in one process; the SDK of Responses has a
// file of its own.

import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { emulatorVariables, startEmulator, startGateway } from '../support/gateway.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: '2' } })
const model = 'GigaChat-2-Max'
const prompt = '[[chunks:one| two]]'

for (const version of ['v1', 'v2']) {
  const base = `${gateway.url}/${version}`

  t.test(`${version}: openai, whole and streamed`, async t => {
    const client = new OpenAI({ baseURL: base, apiKey: 'unused', maxRetries: 0 })
    const body = { model, messages: [{ role: 'user' as const, content: prompt }] }
    t.equal((await client.chat.completions.create(body)).choices[0]?.message.content, 'one two')
    const streamed = await client.chat.completions.stream(body).finalChatCompletion()
    t.match(streamed.choices[0], { message: { content: 'one two' }, finish_reason: 'stop' })
  })

  t.test(`${version}: anthropic, whole and streamed`, async t => {
    const client = new Anthropic({ baseURL: base, apiKey: 'unused', maxRetries: 0 })
    const body = { model, max_tokens: 100, messages: [{ role: 'user' as const, content: prompt }] }
    t.match((await client.messages.create(body)).content, [{ type: 'text', text: 'one two' }])
    t.match((await client.messages.stream(body).finalMessage()).content, [{ type: 'text', text: 'one two' }])
  })

  t.test(`${version}: google-genai, whole and streamed`, async t => {
    const { models } = new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: base } })
    t.equal((await models.generateContent({ model, contents: prompt })).text, 'one two')
    let text = ''
    for await (const chunk of await models.generateContentStream({ model, contents: prompt })) text += chunk.text ?? ''
    t.equal(text, 'one two')
  })
}
