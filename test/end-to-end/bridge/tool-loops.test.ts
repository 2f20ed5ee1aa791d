// Tool loops of every client protocol on an alias, whole and streamed, translated inline and in a pool thread: the calls that a client
// sees, and what the provider receives when the client repeats them.

import t from 'tap'
import { type Call, families, type Loose } from '../tool-loops/families.ts'
import { aliases, startBridge } from './support.ts'

const places = [
  { where: 'inline', ...(await startBridge(t)) },
  { where: 'in a pool thread', ...(await startBridge(t, { env: { GATEWAY_POOL_THRESHOLD_BYTES: '200' } })) }
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

/** The text of a message, whose content is a text or a list of parts. */
function readText({ content }: Loose): string {
  return typeof content === 'string' ? content : (content ?? []).map((part: Loose) => part.text).join('')
}

for (const family of families) {
  for (const { where, gateway, received } of places) {
    for (const isStream of [false, true]) {
      const how = `${family.name}, ${isStream ? 'streamed' : 'whole'}, translated ${where}`
      const question = { url: gateway.url, version: 'v1', model: aliases.keyed, isStream } as const

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
        const body = received('keyed').at(-1)?.body as Loose
        const [user, ...rest] = body.messages
        t.equal(readText(user), PROMPT)
        const assistants: Loose[] = rest.filter((message: Loose) => message.role === 'assistant')
        t.equal(assistants.map(readText).join(''), TEXT)
        const sent: Loose[] = assistants.flatMap(message => message.tool_calls ?? [])
        t.strictSame(
          sent.map(call => ({ name: call.function.name, arguments: JSON.parse(call.function.arguments) })),
          calls
        )
        const answers: Loose[] = rest.filter((message: Loose) => message.role === 'tool')
        for (const [index, call] of sent.entries()) {
          const answer = answers.find(({ tool_call_id: id }) => id === call.id)
          t.strictSame(JSON.parse(answer.content), resultOf(index))
        }
        t.equal(rest.length, assistants.length + answers.length)
      })

      t.test(`a client that refuses several calls gets the first alone: ${how}`, async t => {
        if (family.refusal === undefined) return
        const turn = await family.ask({ ...question, more: family.refusal }, [
          family.writeUser(`[[parallel]]${PROMPT}`)
        ])
        t.strictSame(
          turn.calls.map(({ name }) => name),
          ['get_weather']
        )
        const body = received('keyed').at(-1)?.body as Loose
        t.equal(body.parallel_tool_calls, false)
      })

      t.test(`ids of a foreign conversation are accepted, however long: ${how}`, async t => {
        for (const id of [`call_${'a'.repeat(200)}`, 'functions.get_weather:0', `toolu_${'b'.repeat(90)}`]) {
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
          t.match(end.text, /The function get_weather returned/, id)
        }
      })

      t.test(`a turn with shown reasoning can be continued: ${how}`, async t => {
        for (const form of ['content', 'think', 'details']) {
          const prompt = family.writeUser(
            `[[reasonform:${form}]][[reason:because]][[tool:get_weather {"city":"Omsk"}]]`
          )
          const { history, calls: made } = await family.ask(question, [prompt])
          const results = made.map((call, index) => ({ call, value: resultOf(index) }))
          const end = await family.ask(question, [prompt, ...history, ...family.writeResults(results)])
          t.match(end.text, /The function get_weather returned/, form)
        }
      })

      t.test(`a turn with opaque reasoning can be continued: ${how}`, async t => {
        const prompt = family.writeUser('[[reasonform:encrypted]][[reason:sealed]][[tool:get_weather {"city":"Omsk"}]]')
        const { history, calls: made } = await family.ask(question, [prompt])
        const results = made.map((call, index) => ({ call, value: resultOf(index) }))
        const end = await family.ask(question, [prompt, ...history, ...family.writeResults(results)])
        t.match(end.text, /The function get_weather returned/)
        const body = received('keyed').at(-1)?.body as Loose
        t.match(body.messages[1].reasoning_details, [{ type: 'reasoning.encrypted', data: 'c2VhbGVk' }])
      })
    }
  }
}
