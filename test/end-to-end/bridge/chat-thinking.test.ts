// Thinking models of some services refuse a turn whose calls came without their reasoning: it goes back from every
// client protocol, under the name that the provider gave it (decisions.md 81).

import t from 'tap'
import { post, readFrames } from '../../support/client.ts'
import { writeChatProfile } from '../../support/profile-gateway.ts'
import { families, type Loose } from '../tool-loops/families.ts'
import { chat, startBridge } from './providers/index.ts'

const services = {
  deepseek: { model: 'deepseek-reasoner', prompt: '', member: 'reasoning_content' },
  kimi: { model: 'kimi-k2-thinking', prompt: '', member: 'reasoning_content' },
  ollama: { model: 'emulator-large', prompt: '[[strict:reasoning]][[shape:ollama]]', member: 'reasoning' },
  groq: { model: 'emulator-large', prompt: '[[strict:reasoning]][[shape:groq]]', member: 'reasoning' }
}

const { gateway, emulator } = await startBridge(t, {
  profiles: emulator => [
    writeChatProfile({
      id: 'thinking',
      kind: 'chat_compatible',
      baseUrl: chat.baseUrl(emulator, 'keyless', 'thinking'),
      aliases: Object.entries(services).map(([name, { model }]) => ({ alias: `thinking/${name}`, model }))
    })
  ]
})

/** What clients send to get reasoning, and to be able to give it back. */
const wishes: Record<string, object[]> = {
  completions: [{ reasoning_effort: 'high' }],
  responses: [{ reasoning: { effort: 'high' }, include: ['reasoning.encrypted_content'], store: false }],
  messages: [{ max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } }],
  content: [{ generationConfig: { thinkingConfig: { includeThoughts: true } } }, {}]
}

for (const family of families) {
  for (const [name, { prompt, member }] of Object.entries(services)) {
    for (const isStream of [false, true]) {
      for (const more of wishes[family.name] ?? []) {
        const how = `${family.name}, ${name}, ${isStream ? 'streamed' : 'whole'}, ${JSON.stringify(more)}`
        t.test(`the reasoning of a turn with calls goes back: ${how}`, async t => {
          const question = { url: gateway.url, version: 'v1', model: `thinking/${name}`, isStream, more } as const
          const rounds = [1, 2].map(round => `${prompt}[[reason:because ${round}]][[tool:get_weather {"city":"Omsk"}]]`)
          const history: Loose[] = [family.writeUser(`${rounds.join('[[step]]')}[[step]]${prompt}[[text:done]]`)]
          for (const round of [1, 2]) {
            const turn = await family.ask(question, history)
            t.equal(turn.calls.length, 1)
            history.push(...(await withReasoning(turn.history, { family: family.name, isStream, question, history })))
            history.push(...family.writeResults(turn.calls.map(call => ({ call, value: { temperature: round } }))))
          }
          t.match(
            (await family.ask(question, history)).text,
            /done$/,
            'a client of the content protocol joins thoughts and text'
          )
          const messages: Loose[] = (emulator.requests.at(-1) as Loose).body.messages
          const turns = messages.filter(({ role }: Loose) => role === 'assistant')
          t.match(
            turns.map((turn: Loose) => turn[member]),
            ['because 1', 'because 2']
          )
        })
      }
    }
  }
}

interface Asked {
  family: string
  isStream: boolean
  question: { url: string; model: string; more: object }
  history: Loose[]
}

/** The clients of tool loops add up the members that their SDK knows; one of a thinking model keeps its reasoning too. */
async function withReasoning(turn: Loose[], { family, isStream, question, history }: Asked): Promise<Loose[]> {
  if (family !== 'completions' || !isStream) return turn
  const { url, model, more } = question
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }]
  const { text } = await post(`${url}/v1/chat/completions`, { model, messages: history, tools, stream: true, ...more })
  const deltas: Loose[] = readFrames(text).flatMap(frame => frame.choices?.[0]?.delta ?? [])
  const members = ['reasoning_content', 'reasoning'].filter(name => deltas.some(delta => delta[name]))
  const kept = members.map(name => [name, deltas.map(delta => delta[name] ?? '').join('')])
  return turn.map(message => ({ ...message, ...Object.fromEntries(kept) }))
}
