// A provider of chat completions in the form of single services, through every client protocol, whole and streamed
// (decisions.md 81): text, thought, call, end and counts arrive in the client's own form.

import t from 'tap'
import { shapeNames } from '../../../ops/emulator/directive-steps.ts'
import { readFrames } from '../../support/client.ts'
import { ask, families, type Loose, send } from './families.ts'
import { chat, startBridge } from './providers/index.ts'

const { gateway } = await startBridge(t)
const model = chat.aliases.keyless
const counts = '[[usage:12,7,5]]'

const ends = {
  completions: { stop: 'stop', calls: 'tool_calls', length: 'length', filter: 'content_filter' },
  responses: { stop: 'completed', calls: 'completed', length: 'max_output_tokens', filter: 'content_filter' },
  messages: { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens', filter: 'refusal' },
  content: { stop: 'STOP', calls: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY' }
}

for (const shape of shapeNames) {
  for (const family of families) {
    for (const isStream of [false, true]) {
      t.test(
        `${shape}: text, thought, calls, end and counts: ${family.name}, ${isStream ? 'streamed' : 'whole'}`,
        async t => {
          const words = ends[family.name]
          const put = (prompt: string, more: object = {}) =>
            ask(gateway.url, family, { model, prompt: `[[shape:${shape}]]${counts}${prompt}`, isStream, more })
          const plain = await put('[[chunks:The |ans|wer.]]')
          t.match(plain, { text: 'The answer.', reasoning: '', refusal: '', calls: [], finish: words.stop, model })
          t.match(plain.usage, { input: 12, cached: 5, output: 7 })

          const thinking = await put('[[reason:because it is so]][[text:The answer.]]', family.showsReasoning)
          t.equal(thinking.text, 'The answer.')
          t.equal(thinking.reasoning, 'because it is so')

          const one = await put('[[tool:weather {"city":"Oslo","n":12345678901234567890}]]', family.tools)
          t.match(one, { text: '', finish: words.calls, calls: [{ name: 'weather', arguments: { city: 'Oslo' } }] })
          // On its own wire a provider's ids stay.
          t.match(one.calls[0]?.id, family.name === 'completions' ? /./ : /^[A-Za-z0-9_-]{1,40}$/)
          t.match(one.usage, { output: 7 })
          const prompt =
            '[[text:Let me see.]][[tool:weather {"city":"Oslo"}]][[tool:clock {}]][[tool:weather {"city":"Rome"}]]'
          const three = await put(prompt, family.tools)
          t.equal(three.text, 'Let me see.')
          t.strictSame(
            three.calls.map(call => [call.name, call.arguments]),
            [
              ['weather', { city: 'Oslo' }],
              ['clock', {}],
              ['weather', { city: 'Rome' }]
            ]
          )
          t.equal(new Set(three.calls.map(call => call.id)).size, 3)
          t.equal(three.finish, words.calls)
        }
      )
    }
  }
}

for (const family of families) {
  for (const isStream of [false, true]) {
    const how = `${family.name}, ${isStream ? 'streamed' : 'whole'}`

    t.test(`words for the end of other services are the client's own: ${how}`, async t => {
      const words = ends[family.name]
      const expected: Record<string, string> = {
        model_length: words.length,
        max_tokens: words.length,
        insufficient_system_resource: words.length,
        network_error: words.length,
        error: words.length,
        eos: words.stop,
        // A word that says nothing is that too in the content protocol (content.md 5.1).
        never_heard: family.name === 'content' ? 'OTHER' : words.stop,
        sensitive: words.filter,
        'content_filter: SAFETY': words.filter
      }
      for (const [word, finish] of Object.entries(expected)) {
        const outcome = await ask(gateway.url, family, { model, prompt: `[[finish:${word}]][[text:so far]]`, isStream })
        t.equal(outcome.finish, finish, word)
        if (finish !== 'refusal') t.equal(outcome.text, 'so far', word)
      }
      const failed = await send(gateway.url, family, { model, prompt: '[[finish:error]][[text:""]]', isStream })
      t.ok(failed.status === 500 || family.readStreamFailure(failed.text) !== undefined, failed.text)
    })

    t.test(`cited pages reach the annotations of the client: ${how}`, async t => {
      const pages = '[[cite:https://example.org/x The page]][[cite:https://example.org/y]][[text:hi]]'
      for (const shape of ['', '[[shape:openrouter]]', '[[shape:perplexity]]', '[[shape:xai]]', '[[shape:zhipu]]']) {
        const { text } = await send(gateway.url, family, { model, prompt: shape + pages, isStream })
        const payloads: Loose[] = isStream ? readFrames(text).filter(frame => frame !== '[DONE]') : [JSON.parse(text)]
        const found = payloads.flatMap(payload => listAnnotations(family.name, payload))
        if (family.name === 'messages') continue
        t.strictSame([...new Set(found)], ['https://example.org/x', 'https://example.org/y'], `${shape} ${text}`)
      }
    })
  }
}

/** The addresses that a response, a chunk or an event cites. */
function listAnnotations(family: string, payload: Loose): string[] {
  switch (family) {
    case 'completions': {
      const [choice] = payload.choices
      const annotations: Loose[] = (choice?.message ?? choice?.delta)?.annotations ?? []
      // What passes on the same wire is the provider's own answer (decisions.md 72).
      const pages: Loose[] = payload.web_search ?? []
      return [
        ...annotations.map(({ url_citation: { url } }) => url),
        ...(payload.citations ?? []),
        ...pages.map(({ link }) => link)
      ]
    }
    case 'responses': {
      const response = payload.response ?? payload
      const parts: Loose[] = (response.output ?? []).flatMap((item: Loose) => item.content ?? [])
      return parts.flatMap(part => (part.annotations ?? []).map(({ url }: Loose) => url))
    }
    default: {
      const chunks: Loose[] = payload.candidates?.[0]?.groundingMetadata?.groundingChunks ?? []
      return chunks.map(({ web: { uri } }) => uri)
    }
  }
}
