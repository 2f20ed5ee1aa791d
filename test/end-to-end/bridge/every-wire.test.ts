// What must hold on the wire of every upstream, the native one among them: long texts, results of
// calls, and calls that share an id.

import t from 'tap'
import { post } from '../../support/client.ts'
import { families, send } from './families.ts'
import { type AnsweredCall, histories, wires } from './histories.ts'
import { chat, content, messages, NATIVE_ALIAS, nativeCredentials, startBridge } from './providers/index.ts'

const { gateway, emulator, receivedNatively } = await startBridge(t)
const { url } = gateway

t.test('bridge 70: a native alias is sent to the host of its profile with its own model', async t => {
  const model = NATIVE_ALIAS
  for (const version of ['v1', 'v2']) {
    const body = { model, messages: [{ role: 'user', content: '[[text:Hello]]' }] }
    const before = receivedNatively().length
    const response = await post(`${url}/${version}/chat/completions`, body)
    t.equal(response.status, 200, response.text)
    t.equal(response.json.model, model)
    const sent = receivedNatively()
      .slice(before)
      .filter(({ path }) => path.endsWith('/chat/completions'))
    t.match(sent, [{ body: { model: 'GigaChat-2-Max' }, headers: { host: new URL(emulator.baseUrl).host } }])
    t.equal(sent.length, 1)
  }
  const oauth = receivedNatively().filter(({ path }) => path.endsWith('/oauth'))
  t.ok(oauth.length > 0)
  for (const { headers } of oauth) t.equal(headers.authorization, `Basic ${nativeCredentials}`)
})

t.test('a long text of every family reaches every wire as the client wrote it', async t => {
  const prompts = [
    'Шлюз переводит запросы, и делает это "точно".\n'.repeat(100),
    `${'A line of prose with a\ttab, a \\ and a /.\r\n'.repeat(100)}\u0001\u{1f600}\u2028`,
    'const quoted = ["a", "b", "c"]\n'.repeat(100),
    'long '.repeat(150_000)
  ]
  const models = [NATIVE_ALIAS, ...[chat, messages, content].map(({ aliases }) => aliases.keyed)]
  for (const family of families) {
    for (const model of models) {
      for (const prompt of prompts) {
        const before = emulator.requests.length
        const { status, text } = await send(url, family, { model, prompt })
        t.equal(status, 200, text)
        const sent = emulator.requests.slice(before).map(({ body }) => JSON.stringify(body) ?? '')
        const name = `${family.name} to ${model}: ${prompt.slice(0, 12)}`
        t.ok(
          sent.some(body => body.includes(JSON.stringify(prompt))),
          name
        )
      }
    }
  }
})

t.test('long texts of embeddings and token counts reach the provider as the client wrote them', async t => {
  const texts = ['Шлюз переводит "точно".\n'.repeat(200), `${'A line, a \\ and a /.\r\n'.repeat(200)}\u{1f600}`]
  const sendTo = async (path: string, body: object) => {
    const before = emulator.requests.length
    const response = await post(`${url}${path}`, body)
    t.equal(response.status, 200, response.text)
    const sent = emulator.requests.slice(before).map(({ body: one }) => JSON.stringify(one) ?? '')
    for (const text of texts)
      t.ok(
        sent.some(one => one.includes(JSON.stringify(text))),
        `${path}: ${text.slice(0, 8)}`
      )
  }
  await sendTo('/v1/embeddings', { model: chat.aliases.keyed, input: texts })
  const turns = texts.map(content => ({ role: 'user', content }))
  for (const model of [NATIVE_ALIAS, messages.aliases.keyless]) {
    await sendTo('/v1/messages/count_tokens', { model, messages: turns })
  }
})

/** A provider of every wire, and the client protocol whose bodies pass to it as they are. */
const providers = [
  { wire: 'native v1', model: NATIVE_ALIAS, prefix: '/v1' },
  { wire: 'native v2', model: NATIVE_ALIAS, prefix: '/v2' },
  { wire: 'chat', model: chat.aliases.keyless, prefix: '/v1', passes: 'completions' },
  { wire: 'messages', model: messages.aliases.keyless, prefix: '/v1', passes: 'messages' },
  { wire: 'content', model: content.aliases.keyless, prefix: '/v1', passes: 'content' }
] as const

/**
 * Sends a question with answered calls, and returns the calls and results that the provider
 * received.
 */
async function sendCalls(
  family: keyof typeof histories,
  { wire, model, prefix }: (typeof providers)[number],
  calls: readonly AnsweredCall[]
) {
  const { path, body } = histories[family](model, calls)
  const response = await post(url + prefix + path, body)
  if (response.status !== 200) throw new Error(`${family}, ${wire}: ${response.text}`)
  return wires[wire](emulator.requests.findLast(request => request.path.includes('/v'))?.body)
}

const familyNames = Object.keys(histories) as Array<keyof typeof histories>

t.test(
  'results whose digits a number would lose arrive as text, and others as they were, at every provider',
  async t => {
    for (const [result, value] of [
      ['3.10', '3.10'],
      ['1.0', '1.0'],
      ['12345678901234567890.5', '12345678901234567890.5'],
      ['0.25', 0.25],
      ['7', 7]
    ] as const) {
      const calls = [{ id: 'call_1', name: 'f', arguments: {}, result }]
      for (const provider of providers) {
        for (const family of familyNames) {
          const [call] = await sendCalls(family, provider, calls)
          // The results of a content client are objects, whose members stay as they are.
          const object = family === 'content' ? { output: result } : { result: value }
          const isText = provider.wire === 'chat' || provider.wire === 'messages'
          const text = family === 'content' ? JSON.stringify(object) : result
          t.strictSame(call?.result, isText ? text : object, `${result}: ${family}, ${provider.wire}`)
        }
      }
    }
  }
)

t.test('parallel calls that share an id get their own results, at every provider', async t => {
  const calls = ['Oslo', 'Rome', 'Perm'].map(city => ({
    id: 'call_same',
    name: 'weather',
    arguments: { city },
    result: `{"of":"${city}"}`
  }))
  for (const provider of providers) {
    for (const family of familyNames) {
      // What passes is for the provider to judge.
      if ('passes' in provider && provider.passes === family) continue
      const received = await sendCalls(family, provider, calls)
      t.match(
        received.map(({ arguments: args, result }) => [args, JSON.stringify(result)]),
        calls.map(({ arguments: { city } }) => [{ city }, new RegExp(city)]),
        `${family}, ${provider.wire}`
      )
    }
  }
})
