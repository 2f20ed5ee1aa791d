// Tool loops of every client protocol on an alias of a messages_compatible provider, whole and streamed, translated inline and in a pool
// thread: the calls that a client sees, and what the provider receives when the client repeats them. Its strict reader refuses calls without
// results, results without calls, foreign ids and thinking that it did not sign.

import t from 'tap'
import { redactThinking, signThinking } from '../../../ops/emulator/anthropic-signature.ts'
import { type Call, families, type Loose } from '../tool-loops/families.ts'
import { messagesAliases as aliases, startMessagesBridge } from './messages-support.ts'

const places = [
  { where: 'inline', ...(await startMessagesBridge(t)) },
  { where: 'in a pool thread', ...(await startMessagesBridge(t, { env: { GATEWAY_POOL_THRESHOLD_BYTES: '200' } })) }
]

/** A text with spaces, line ends and characters that a careless step would change. */
const TEXT = ' \tПривет,\n\n  "мир" \\n </b> \u00a0🙂 e\u0301 \u2028 конец.\r\n '
const calls = [
  { name: 'get_weather', arguments: { city: 'Omsk', note: 'a "b"\n' } },
  { name: 'get_time', arguments: {} },
  { name: 'get_weather', arguments: { city: 'Perm' } }
]
const PROMPT =
  `[[text:${JSON.stringify(TEXT)}]]` +
  calls.map(({ name, arguments: args }) => `[[tool:${name} ${JSON.stringify(args)}]]`).join('')

const resultOf = (index: number) => ({ result: index, note: 'ok "so"' })

/** The content of a message as a list of blocks. */
function blocksOf({ content }: Loose): Loose[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

for (const family of families) {
  for (const { where, gateway, received } of places) {
    for (const isStream of [false, true]) {
      const how = `${family.name}, ${isStream ? 'streamed' : 'whole'}, translated ${where}`
      const question = { url: gateway.url, version: 'v1', model: aliases.keyed, isStream } as const
      const lastMessages = (): Loose[] => {
        const body = received('keyed').at(-1)?.body as Loose
        return body.messages
      }

      t.test(`a tool loop keeps the text, the calls and the results: ${how}`, async t => {
        const history: Loose[] = [family.writeUser(PROMPT)]
        const turn = await family.ask(question, history)
        t.equal(turn.text, TEXT)
        t.strictSame(
          turn.calls.map(({ name, arguments: args }) => ({ name, arguments: args })),
          calls
        )
        t.equal(new Set(turn.calls.map(({ id }) => id)).size, calls.length)
        const results = turn.calls.map((call, index) => ({ call, value: resultOf(index) }))
        // The results are sent in another order, as tools that run at the same time finish.
        history.push(...turn.history, ...family.writeResults(results.reverse()))
        const end = await family.ask(question, history)
        t.match(end.text, /The function get_weather returned/)
        t.strictSame(end.calls, [])
        const [user, assistant, answer, ...rest] = lastMessages()
        t.strictSame(rest, [])
        t.strictSame(blocksOf(user), [{ type: 'text', text: PROMPT }])
        const [text, ...uses] = blocksOf(assistant)
        t.equal(text.text, TEXT)
        t.strictSame(
          uses.map(({ type, name, input }) => ({ type, name, arguments: input })),
          calls.map(call => ({ type: 'tool_use', ...call }))
        )
        for (const [index, { id }] of uses.entries()) {
          const found = blocksOf(answer).find(({ tool_use_id: answered }) => answered === id)
          t.strictSame(JSON.parse(found.content), resultOf(index))
        }
      })

      t.test(`a client that refuses several calls gets the first alone: ${how}`, async t => {
        if (family.refusal === undefined) return
        const turn = await family.ask({ ...question, more: family.refusal }, [family.writeUser(PROMPT)])
        t.strictSame(
          turn.calls.map(({ name }) => name),
          ['get_weather']
        )
        const body = received('keyed').at(-1)?.body as Loose
        t.strictSame(body.tool_choice, { type: 'auto', disable_parallel_tool_use: true })
      })

      t.test(`ids of a foreign conversation are accepted, however long: ${how}`, async t => {
        const ids = [`call_${'a'.repeat(200)}`, `toolu_${'b'.repeat(90)}`]
        // The provider demands its own characters of a client of its own protocol, whose requests pass.
        if (family.name !== 'messages') ids.push('functions.get_weather:0')
        for (const id of ids) {
          const prompt = family.writeUser('[[tool:get_weather {}]]')
          const { history } = await family.ask(question, [prompt])
          const renamed = JSON.parse(JSON.stringify(history), (key, value) =>
            ['id', 'call_id'].includes(key) ? id : key === 'thoughtSignature' ? undefined : value
          )
          const call: Call = { id, name: 'get_weather', arguments: {} }
          const end = await family.ask(question, [
            prompt,
            ...renamed,
            ...family.writeResults([{ call, value: resultOf(0) }])
          ])
          t.match(end.text, /The function get_weather returned/, id.slice(0, 30))
        }
      })

      t.test(`thinking comes back to the provider with its own signature: ${how}`, async t => {
        const rows: Array<[string, object]> = [
          ['content', { type: 'thinking', thinking: 'because', signature: signThinking('because') }],
          ['encrypted', { type: 'redacted_thinking', data: redactThinking('because') }]
        ]
        for (const [form, thought] of rows) {
          const prompt = family.writeUser(
            `[[reasonform:${form}]][[reason:because]][[tool:get_weather {"city":"Omsk"}]]`
          )
          const { history, calls: made } = await family.ask(question, [prompt])
          const results = made.map((call, index) => ({ call, value: resultOf(index) }))
          const end = await family.ask(question, [prompt, ...history, ...family.writeResults(results)])
          t.match(end.text, /The function get_weather returned/, form)
          const [first, call] = blocksOf(lastMessages()[1])
          t.strictSame(first, thought, form)
          t.match(call, { type: 'tool_use', name: 'get_weather' })
        }
      })
    }
  }
}
