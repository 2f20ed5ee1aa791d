// A session that changes its model: what the gateway returned on a route goes to every other route as history, as the clients of each
// family keep it, whole and streamed (decisions.md 75).

import t from 'tap'
import { post } from '../../support/client.ts'
import { families, type Loose } from '../tool-loops/families.ts'
import { chat, content, messages, NATIVE_ALIAS, responses, startBridge } from './providers/index.ts'

const { gateway, emulator } = await startBridge(t)

const routes = [
  { name: 'native v1', model: NATIVE_ALIAS, version: 'v1' },
  { name: 'native v2', model: NATIVE_ALIAS, version: 'v2' },
  { name: 'chat', model: chat.aliases.keyless, version: 'v1' },
  { name: 'messages', model: messages.aliases.keyless, version: 'v1' },
  { name: 'content', model: content.aliases.keyless, version: 'v1' },
  { name: 'responses', model: responses.aliases.keyless, version: 'v1' }
] as const

/** What clients send to get reasoning, and to be able to give it back. */
const wishes: Record<string, object> = {
  completions: { reasoning_effort: 'high' },
  responses: { reasoning: { effort: 'high' }, include: ['reasoning.encrypted_content'], store: false },
  messages: { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } },
  content: { generationConfig: { thinkingConfig: { includeThoughts: true } } }
}

const prompt = '[[reason:because it is so]][[text:I look.]][[tool:get_weather {"city":"Omsk"}]]'

for (const family of families) {
  for (const isStream of [false, true]) {
    for (const from of routes) {
      t.test(
        `${family.name}, ${isStream ? 'streamed' : 'whole'}: a turn of ${from.name} is history everywhere`,
        async t => {
          const more = wishes[family.name] ?? {}
          const ask = ({ model, version }: (typeof routes)[number], history: Loose[]) =>
            family.ask({ url: gateway.url, model, version, isStream, more }, history)
          const first = await ask(from, [family.writeUser(prompt)])
          t.equal(first.calls.length, 1)
          const results = family.writeResults(first.calls.map(call => ({ call, value: { temperature: 17 } })))
          const history = [family.writeUser(prompt), ...first.history, ...results, family.writeUser('[[text:done]]')]
          for (const to of routes) {
            const { text } = await ask(to, structuredClone(history))
            t.match(text, /done$/, to.name)
            const sent = JSON.stringify((emulator.requests.at(-1) as Loose).body)
            for (const kept of [/I look\./, /get_weather/, /temperature/]) {
              t.match(sent, kept, to.name)
            }
          }
        }
      )
    }
  }
}

t.test('a signature of an earlier model does not reach another one, whole and streamed', async t => {
  const contents = [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts: [{ text: 'hello', thoughtSignature: 'U0lHTkFUVVJF' }] },
    { role: 'user', parts: [{ text: '[[text:done]]' }] }
  ]
  for (const { name, model, version } of routes) {
    // On its own wire a signature is the service's to judge.
    if (name === 'content') continue
    for (const operation of ['generateContent', 'streamGenerateContent?alt=sse']) {
      const response = await post(`${gateway.url}/${version}/v1beta/models/${model}:${operation}`, { contents })
      t.equal(response.status, 200, `${name}, ${operation}`)
      t.match(response.text, 'done')
      const sent = JSON.stringify((emulator.requests.at(-1) as Loose).body)
      t.match(sent, 'hello')
      t.notMatch(sent, 'U0lHTkFUVVJF')
    }
  }
})
