// Tool loops of every client protocol on an alias of every kind of provider, whole and streamed,
// translated inline and in a pool thread: the calls that a client sees, and what the provider
// receives when the client repeats them. The embedded providers are as strict as the services: with
// calls without results, results without calls, foreign ids, and thinking or calls without their
// signatures.

import t from 'tap'
import { redactThinking, signThinking } from '../../../ops/emulator/anthropic/signature.ts'
import { signPart } from '../../../ops/emulator/google/signature.ts'
import { type Call, families, type Loose, type Turn } from '../tool-loops/families.ts'
import { FOREIGN_MARK } from './providers/content.ts'
import { chat, content, messages, type Provider, providers, startBridge } from './providers/index.ts'

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
const LONG_IDS = [`call_${'a'.repeat(200)}`, `toolu_${'b'.repeat(90)}`]
const ODD_ID = 'functions.get_weather:0'

const OLDER = 'content/older'

const resultOf = (index: number) => ({ result: index, note: 'ok "so"' })

/** The results of all calls of a turn. */
const resultsOf = (turn: Turn) => turn.calls.map((call, index) => ({ call, value: resultOf(index) }))

const listNames = (turn: Turn) => turn.calls.map(({ name }) => name)

/**
 * A turn as a client shows it that had it from another provider: with another id, and without
 * signatures.
 */
function makeForeign(history: Loose[], id: string): Loose[] {
  const signatures = ['thoughtSignature', 'extra_content']
  return JSON.parse(JSON.stringify(history), (key, value) =>
    ['id', 'call_id'].includes(key) ? id : signatures.includes(key) ? undefined : value
  )
}

/** The turn without reasoning, which would have the signature of a call. */
function dropReasoning(history: Loose[]): Loose[] {
  const isForeign = (part: Loose) => !['thinking', 'reasoning'].includes(part.type)
  return history
    .filter(isForeign)
    .map(({ reasoning_details: _details, ...turn }: Loose) =>
      Array.isArray(turn.content) ? { ...turn, content: turn.content.filter(isForeign) } : turn
    )
}

for (const family of families) {
  for (const { where, gateway, received } of places) {
    for (const isStream of [false, true]) {
      const describe = (provider: Provider) =>
        `${family.name} to ${provider.name}, ${isStream ? 'streamed' : 'whole'}, translated ${where}`
      const questionTo = (model: string) => ({ url: gateway.url, version: 'v1', model, isStream }) as const
      const lastBody = (provider: Provider): Loose => received(provider).at(-1)?.body

      for (const provider of providers) {
        const how = describe(provider)
        const question = questionTo(provider.aliases.keyed)
        const models = [provider.aliases.keyed, ...(provider === content ? [OLDER, content.aliases.keyless] : [])]

        for (const model of models) {
          t.test(`a tool loop keeps the text, the calls and the results: ${how}, ${model}`, async t => {
            const history: Loose[] = [family.writeUser(PROMPT)]
            const turn = await family.ask(questionTo(model), history)
            t.equal(turn.text, TEXT)
            t.strictSame(
              turn.calls.map(({ name, arguments: args }) => ({ name, arguments: args })),
              calls
            )
            // A model without ids of its calls tells their results by their order.
            const hasIds = turn.calls.every(({ id }) => id !== undefined)
            t.equal(new Set(turn.calls.map(({ id }) => id)).size, hasIds ? calls.length : 1)
            const results = resultsOf(turn)
            // The results are sent in another order, as tools that run at the same time finish.
            const isOrdered = provider === content
            history.push(...turn.history, ...family.writeResults(isOrdered ? results : results.reverse()))
            const end = await family.ask(questionTo(model), history)
            t.match(end.text, /The function get_weather returned/)
            t.strictSame(end.calls, [])
            const repeated = provider.readTurn(lastBody(provider))
            t.equal(repeated.question, PROMPT)
            t.equal(repeated.text, TEXT)
            t.strictSame(
              repeated.calls.map(({ name, arguments: args }) => ({ name, arguments: args })),
              calls
            )
            t.equal(repeated.results.length, calls.length)
            for (const [index, { id }] of repeated.calls.entries()) {
              const result = isOrdered ? repeated.results[index] : repeated.results.find(one => one.id === id)
              t.strictSame(result, { id, value: resultOf(index) })
            }
            if (provider !== content) return
            const sent: Loose[] = repeated.turn.filter((part: Loose) => part.functionCall !== undefined)
            const first = model === content.aliases.keyed ? signPart({ call: 'get_weather' }) : undefined
            t.strictSame(
              sent.map(part => part.thoughtSignature),
              [first, undefined, undefined],
              'the first call has the signature of the provider'
            )
          })
        }

        t.test(`a client that refuses several calls gets the first alone: ${how}`, async t => {
          if (family.refusal === undefined) return
          // A provider that does not follow the option is mended for other families only (decisions.md 72).
          const isMended = provider === chat && family.name !== 'completions'
          const prompt = family.writeUser(isMended ? `[[parallel]]${PROMPT}` : PROMPT)
          const turn = await family.ask({ ...question, more: family.refusal }, [prompt])
          t.strictSame(listNames(turn), ['get_weather'])
          provider.checkRefusal(t, lastBody(provider))
          const end = await family.ask(question, [prompt, ...turn.history, ...family.writeResults(resultsOf(turn))])
          t.match(end.text, /The function get_weather returned/, 'and can go on with it')
        })

        t.test(`calls of a foreign conversation are accepted, however long their ids: ${how}`, async t => {
          // The messages provider demands its own characters of a client of its own protocol, whose
          // requests pass.
          const isOddRefused = provider === messages && family.name === 'messages'
          for (const id of isOddRefused ? LONG_IDS : [...LONG_IDS, ODD_ID]) {
            const prompt = family.writeUser('[[tool:get_weather {}]]')
            const { history } = await family.ask(question, [prompt])
            const call: Call = { id, name: 'get_weather', arguments: {} }
            const results = family.writeResults([{ call, value: resultOf(0) }])
            const foreign = makeForeign(history, id)
            const turns = [prompt, ...(provider === content ? dropReasoning(foreign) : foreign), ...results]
            if (provider === content && family.name === 'content') {
              // A client of this protocol has to know the text itself.
              const parts = turns[1].parts.map((part: Loose) =>
                part.functionCall === undefined ? part : { ...part, thoughtSignature: FOREIGN_MARK }
              )
              turns[1] = { ...turns[1], parts }
            }
            const end = await family.ask(question, turns)
            t.match(end.text, /The function get_weather returned/, id.slice(0, 30))
            if (provider !== content) continue
            const { turn } = provider.readTurn(lastBody(provider))
            const sent = turn.find((part: Loose) => part.functionCall !== undefined)
            t.equal(sent.thoughtSignature, FOREIGN_MARK, 'and marked as such')
          }
        })
      }

      /**
       * Asks for reasoning and a call, and continues. Returns the provider's turn as it arrives
       * there again.
       */
      async function continueReasoning(provider: Provider, model: string, directives: string): Promise<Loose> {
        const prompt = family.writeUser(`${directives}[[tool:get_weather {"city":"Omsk"}]]`)
        const turn = await family.ask(questionTo(model), [prompt])
        const results = family.writeResults(resultsOf(turn))
        const end = await family.ask(questionTo(model), [prompt, ...turn.history, ...results])
        t.match(end.text, /The function get_weather returned/, `${model}: ${directives}`)
        return provider.readTurn(lastBody(provider)).turn
      }

      t.test(`a turn with shown or opaque reasoning can be continued: ${describe(chat)}`, async t => {
        for (const form of ['content', 'think', 'details']) {
          await continueReasoning(chat, chat.aliases.keyed, `[[reasonform:${form}]][[reason:because]]`)
        }
        const turn = await continueReasoning(chat, chat.aliases.keyed, '[[reasonform:encrypted]][[reason:sealed]]')
        t.match(turn.reasoning_details, [{ type: 'reasoning.encrypted', data: 'c2VhbGVk' }])
      })

      t.test(`thinking comes back to the provider with its own signature: ${describe(messages)}`, async t => {
        const rows: Array<[string, object]> = [
          ['content', { type: 'thinking', thinking: 'because', signature: signThinking('because') }],
          ['encrypted', { type: 'redacted_thinking', data: redactThinking('because') }]
        ]
        for (const [form, thought] of rows) {
          const directives = `[[reasonform:${form}]][[reason:because]]`
          const [first, call] = await continueReasoning(messages, messages.aliases.keyed, directives)
          t.strictSame(first, thought, form)
          t.match(call, { type: 'tool_use', name: 'get_weather' })
        }
      })

      t.test(`a turn with thoughts can be continued, and its signature comes back: ${describe(content)}`, async t => {
        for (const model of [content.aliases.keyed, OLDER, content.aliases.keyless]) {
          const parts: Loose[] = await continueReasoning(content, model, '[[reason:because]]')
          const sent = parts.find(part => part.functionCall !== undefined)
          t.equal(sent.thoughtSignature, signPart({ call: 'get_weather' }), model)
        }
      })

      t.test(`a text with a signature can be continued: ${describe(content)}`, async t => {
        const question = questionTo(content.aliases.keyed)
        const prompt = family.writeUser('[[reason:because]][[text:Four]]')
        const { history, text } = await family.ask(question, [prompt])
        t.equal(text, 'Four')
        const end = await family.ask(question, [prompt, ...history, family.writeUser('[[text:Five]]')])
        t.equal(end.text, 'Five')
        const { parts }: Loose = lastBody(content).contents[1]
        t.equal(parts.map((part: Loose) => (part.thought === true ? '' : (part.text ?? ''))).join(''), 'Four')
        const signatures = parts.flatMap((part: Loose) => part.thoughtSignature ?? [])
        // In Responses and messages a plain response ends with its text: there is no place for a
        // signature, which is a recommendation.
        const carries = family.name === 'completions' || family.name === 'content'
        t.strictSame(signatures, carries ? [signPart('text')] : [])
      })
    }
  }
}
