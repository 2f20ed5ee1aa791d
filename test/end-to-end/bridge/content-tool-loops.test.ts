// Tool loops of every client protocol on an alias of a content_compatible provider, whole and streamed, translated inline and in a pool
// thread: the calls that a client sees, and what the provider receives when the client repeats them. The keyed provider's model refuses a
// history whose calls lack the signatures that it gave them.

import t from 'tap'
import { signPart } from '../../../ops/emulator/google-signature.ts'
import { type Call, families, type Loose } from '../tool-loops/families.ts'
import { contentAliases, startContentBridge } from './content-support.ts'

const places = [
  { where: 'inline', ...(await startContentBridge(t)) },
  { where: 'in a pool thread', ...(await startContentBridge(t, { env: { GATEWAY_POOL_THRESHOLD_BYTES: '200' } })) }
]
const models = [contentAliases.keyed, contentAliases.older, contentAliases.keyless]

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

/** The text that the service documents for calls that it did not make. */
const FOREIGN_MARK = 'skip_thought_signature_validator'

for (const family of families) {
  for (const { where, gateway, received } of places) {
    for (const isStream of [false, true]) {
      const how = `${family.name}, ${isStream ? 'streamed' : 'whole'}, translated ${where}`
      const lastContents = (): Loose[] => ((received().at(-1)?.body ?? {}) as Loose).contents

      for (const model of models) {
        const question = { url: gateway.url, version: 'v1', model, isStream } as const

        t.test(`a tool loop keeps the text, the calls, the results and the signatures: ${how}, ${model}`, async t => {
          const history: Loose[] = [family.writeUser(PROMPT)]
          const turn = await family.ask(question, history)
          t.equal(turn.text, TEXT)
          t.strictSame(
            turn.calls.map(({ name, arguments: args }) => ({ name, arguments: args })),
            calls
          )
          const results = turn.calls.map((call, index) => ({ call, value: resultOf(index) }))
          history.push(...turn.history, ...family.writeResults(results))
          const end = await family.ask(question, history)
          t.match(end.text, /The function get_weather returned/)
          t.strictSame(end.calls, [])
          const [user, answer, reply, ...others] = lastContents()
          t.strictSame(user, { role: 'user', parts: [{ text: PROMPT }] })
          t.strictSame(others, [])
          t.equal(answer.role, 'model')
          t.equal(answer.parts.map((part: Loose) => part.text ?? '').join(''), TEXT)
          const sent: Loose[] = answer.parts.filter((part: Loose) => part.functionCall !== undefined)
          t.strictSame(
            sent.map(({ functionCall: { name, args } }) => ({ name, arguments: args })),
            calls
          )
          const signatures = sent.map(part => part.thoughtSignature)
          const isSigned = model === contentAliases.keyed
          t.strictSame(signatures, [isSigned ? signPart({ call: 'get_weather' }) : undefined, undefined, undefined])
          t.equal(reply.role, 'user')
          for (const [index, call] of sent.entries()) {
            const { functionResponse } = reply.parts[index]
            t.equal(functionResponse.id, call.functionCall.id)
            t.strictSame(functionResponse.response, resultOf(index))
          }
          t.equal(reply.parts.length, calls.length)
        })
      }

      const question = { url: gateway.url, version: 'v1', model: contentAliases.keyed, isStream } as const

      t.test(`a client that refuses several calls gets the first alone: ${how}`, async t => {
        if (family.refusal === undefined) return
        const prompt = family.writeUser(PROMPT)
        const turn = await family.ask({ ...question, more: family.refusal }, [prompt])
        t.strictSame(
          turn.calls.map(({ name }) => name),
          ['get_weather']
        )
        const results = turn.calls.map((call, index) => ({ call, value: resultOf(index) }))
        const end = await family.ask(question, [prompt, ...turn.history, ...family.writeResults(results)])
        t.match(end.text, /The function get_weather returned/, 'and can go on with it')
      })

      t.test(`calls of a foreign conversation are marked as such: ${how}`, async t => {
        for (const id of [`call_${'a'.repeat(200)}`, 'functions.get_weather:0', `toolu_${'b'.repeat(90)}`]) {
          const prompt = family.writeUser('[[tool:get_weather {}]]')
          const { history } = await family.ask(question, [prompt])
          const renamed = JSON.parse(JSON.stringify(history), (key, value) =>
            ['id', 'call_id'].includes(key)
              ? id
              : ['thoughtSignature', 'extra_content'].includes(key)
                ? undefined
                : value
          )
          const isForeign = (part: Loose) =>
            !['thinking', 'reasoning'].includes(part.type) && part.reasoning_details === undefined
          const foreign = renamed.map(({ reasoning_details: _details, ...turn }: Loose) =>
            Array.isArray(turn.content) ? { ...turn, content: turn.content.filter(isForeign) } : turn
          )
          const call: Call = { id, name: 'get_weather', arguments: {} }
          const contents = [
            prompt,
            ...foreign.filter(isForeign),
            ...family.writeResults([{ call, value: resultOf(0) }])
          ]
          if (family.name === 'content') {
            // A client of this protocol has to know the text itself.
            const parts = contents[1].parts.map((part: Loose) =>
              part.functionCall === undefined ? part : { ...part, thoughtSignature: FOREIGN_MARK }
            )
            contents[1] = { ...contents[1], parts }
          }
          const end = await family.ask(question, contents)
          t.match(end.text, /The function get_weather returned/, id)
          const parts = lastContents()[1].parts
          const sent = parts.find((part: Loose) => part.functionCall !== undefined)
          t.equal(sent.thoughtSignature, FOREIGN_MARK)
        }
      })

      t.test(`a turn with thoughts can be continued, and its signature comes back: ${how}`, async t => {
        for (const model of models) {
          const prompt = family.writeUser('[[reason:because]][[tool:get_weather {"city":"Omsk"}]]')
          const { history, calls: made } = await family.ask({ ...question, model }, [prompt])
          const results = made.map((call, index) => ({ call, value: resultOf(index) }))
          const end = await family.ask({ ...question, model }, [prompt, ...history, ...family.writeResults(results)])
          t.match(end.text, /The function get_weather returned/, model)
          const sent = lastContents()[1].parts.find((part: Loose) => part.functionCall !== undefined)
          t.equal(sent.thoughtSignature, signPart({ call: 'get_weather' }), model)
        }
      })

      t.test(`a text with a signature can be continued: ${how}`, async t => {
        const prompt = family.writeUser('[[reason:because]][[text:Four]]')
        const { history, text } = await family.ask(question, [prompt])
        t.equal(text, 'Four')
        const end = await family.ask(question, [prompt, ...history, family.writeUser('[[text:Five]]')])
        t.equal(end.text, 'Five')
        const [, answer] = lastContents()
        t.equal(answer.parts.map((part: Loose) => (part.thought === true ? '' : (part.text ?? ''))).join(''), 'Four')
        const signatures = answer.parts.flatMap((part: Loose) => part.thoughtSignature ?? [])
        // In Responses and messages a plain response ends with its text: there is no place for a signature, which is a recommendation.
        const carries = family.name === 'completions' || family.name === 'content'
        t.strictSame(signatures, carries ? [signPart('text')] : [])
      })
    }
  }
}
