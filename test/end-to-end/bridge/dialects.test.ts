// The forms in which providers of chat completions differ, each read in every client protocol, whole and streamed.

import { type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import t from 'tap'
import { readFrames } from '../../support/client.ts'
import { readEnd } from '../system/support.ts'
import { ask, families, send } from './families.ts'
import { chat, NATIVE_ALIAS, startBridge } from './providers/index.ts'

const { gateway, emulator } = await startBridge(t)
const model = chat.aliases.keyless
const forms = [false, true]

for (const family of families) {
  const { tools } = family
  const put = (prompt: string, isStream: boolean, more: object = {}) =>
    ask(gateway.url, family, { model, prompt, isStream, more })

  for (const isStream of forms) {
    const how = `${family.name}, ${isStream ? 'streamed' : 'whole'}`

    // A completions client gets what the provider wrote, where the provider wrote it (decisions.md 114).
    const forms =
      family.name === 'completions' ? ['content', 'both'] : ['content', 'reasoning', 'both', 'details', 'think']
    t.test(`reasoning is read wherever the provider puts it: ${how}`, async t => {
      for (const form of forms) {
        const outcome = await put(
          `[[reasonform:${form}]][[reason:because it is so]][[text:The answer.]]`,
          isStream,
          family.showsReasoning
        )
        t.equal(outcome.text.trim(), 'The answer.', form)
        t.equal(outcome.reasoning.trim(), 'because it is so', form)
      }
      const encrypted = await put('[[reasonform:encrypted]][[reason:secret]][[text:The answer.]]', isStream)
      t.equal(encrypted.text, 'The answer.')
    })

    t.test(`usage is read wherever the provider puts it: ${how}`, async t => {
      for (const form of ['after', 'finish', 'every', 'first']) {
        const { usage, text } = await put(`[[usageform:${form}]][[usage:12,7,5]][[chunks:a|b|c]]`, isStream)
        t.strictSame(usage, { input: 12, output: 7, cached: 5 }, form)
        t.equal(text, 'abc')
      }
      const { text } = await put('[[nousage]][[text:abc]]', isStream)
      t.equal(text, 'abc', 'a response without usage is complete')
    })

    t.test(`bridge 90: parallel calls keep their ids and arguments in every form: ${how}`, async t => {
      const calls =
        '[[tool:weather {"city":"Oslo","note":"a \\"b\\""}]][[tool:clock {}]][[tool:weather {"city":"Rome"}]]'
      for (const form of [
        '',
        '[[interleave]][[argfrag:3]]',
        '[[wholecall]]',
        '[[wholecall]][[noindex]]',
        '[[repeathead]]'
      ]) {
        const outcome = await put(`${calls}${form}`, isStream, tools)
        t.strictSame(
          outcome.calls.map(({ name, arguments: args }) => ({ name, args })),
          [
            { name: 'weather', args: { city: 'Oslo', note: 'a "b"' } },
            { name: 'clock', args: {} },
            { name: 'weather', args: { city: 'Rome' } }
          ],
          form
        )
        t.equal(new Set(outcome.calls.map(({ id }) => id)).size, 3, `${form}: each call has an id of its own`)
        t.match(outcome.finish, /^(tool_calls|completed|tool_use|STOP)$/)
      }
    })

    t.test(`text and calls of one response are both shown: ${how}`, async t => {
      const outcome = await put('[[text:Let me look.]][[tool:weather {"city":"Oslo"}]]', isStream, tools)
      t.equal(outcome.text, 'Let me look.')
      t.match(outcome.calls, [{ name: 'weather', arguments: { city: 'Oslo' } }])
    })

    t.test(`a call in the old form is a call: ${how}`, async t => {
      const prompt = '[[legacycall]][[tool:weather {"city":"Oslo"}]]'
      if (family.name === 'completions') {
        // It gets the form that the provider wrote (decisions.md 72).
        const { text } = await send(gateway.url, family, { model, prompt, isStream, more: tools })
        t.match(text, /"function_call":\{"name":"weather"/)
        return
      }
      const outcome = await put(prompt, isStream, tools)
      t.match(outcome.calls, [{ name: 'weather', arguments: { city: 'Oslo' } }])
    })

    t.test(`finish reasons are the family's own: ${how}`, async t => {
      const expected = {
        completions: { stop: 'stop', length: 'length', content_filter: 'content_filter' },
        responses: { stop: 'completed', length: 'max_output_tokens', content_filter: 'content_filter' },
        messages: { stop: 'end_turn', length: 'max_tokens', content_filter: 'refusal' },
        content: { stop: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY' }
      }[family.name]
      for (const [reason, word] of Object.entries(expected)) {
        t.equal((await put(`[[finish:${reason}]][[text:so far]]`, isStream)).finish, word, reason)
      }
    })

    t.test(`a refusal has the family's form: ${how}`, async t => {
      const outcome = await put('[[refusal:I will not.]]', isStream)
      t.equal(family.name === 'content' ? outcome.text : outcome.refusal, 'I will not.')
    })

    t.test(`small differences of providers change nothing: ${how}`, async t => {
      for (const form of [
        '[[norole]]',
        '[[extra]]',
        '[[omit:system_fingerprint,created]]',
        '[[omit:object]]',
        '[[split:7]]',
        '[[gzip]]',
        '[[bom]]'
      ]) {
        const outcome = await put(`${form}[[chunks:Při|vet, ми|р 🙂]]`, isStream)
        t.equal(outcome.text, 'Přivet, мир 🙂', form)
        t.equal(outcome.model, model, `${form}: the model is the alias`)
      }
      if (!isStream) return
      for (const form of ['[[nodone]]', '[[emptyfinish]]', '[[crlf]]', '[[ping]]', '[[nospace]]', '[[multiline]]']) {
        t.equal((await put(`${form}[[chunks:a|b]]`, isStream)).text, 'ab', form)
      }
    })
  }
}

t.test('bridge 90: two parallel calls of a stream are two items with the ids of the provider', async t => {
  const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'x' }
  const frame = (delta: object, reason: string | null = null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
  const begin = (index: number, id: string, name: string) =>
    frame({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })
  const grow = (index: number, piece: string) => frame({ tool_calls: [{ index, function: { arguments: piece } }] })
  const chunks = [
    begin(0, 'call_a', 'weather'),
    grow(0, '{"city":'),
    grow(0, '"Oslo"}'),
    begin(1, 'call_b', 'clock'),
    grow(1, '{}'),
    frame({}, 'tool_calls'),
    'data: [DONE]\n\n'
  ]
  for (const family of families) {
    emulator.respondNext({ chunks, headers: { 'content-type': 'text/event-stream' } })
    const response = await send(gateway.url, family, { model, prompt: 'q', isStream: true, more: family.tools })
    t.strictSame(
      family.readStream(response).calls,
      [
        { id: 'call_a', name: 'weather', arguments: { city: 'Oslo' } },
        { id: 'call_b', name: 'clock', arguments: {} }
      ],
      family.name
    )
    t.equal(readEnd(family.name, response.text), 'success', family.name)
    const events = readFrames(response.text)
    if (family.name === 'messages') {
      const blocks = events.filter(({ type }) => type === 'content_block_start')
      t.match(blocks, [
        { index: 0, content_block: { type: 'tool_use', id: 'call_a' } },
        { index: 1, content_block: { type: 'tool_use', id: 'call_b' } }
      ])
      t.equal(blocks.length, 2)
    }
    if (family.name === 'responses') {
      const added = events.filter(({ type }) => type === 'response.output_item.added')
      t.match(added, [
        { output_index: 0, item: { type: 'function_call', call_id: 'call_a', arguments: '' } },
        { output_index: 1, item: { type: 'function_call', call_id: 'call_b', arguments: '' } }
      ])
      t.equal(added.length, 2)
      t.match(
        events.filter(({ type }) => type === 'response.output_item.done'),
        [
          { output_index: 0, item: { id: added[0].item.id, arguments: '{"city":"Oslo"}', status: 'completed' } },
          { output_index: 1, item: { id: added[1].item.id, arguments: '{}', status: 'completed' } }
        ]
      )
    }
  }
})

/** Asks with a tool that the content SDK runs by itself, and returns what the SDK gave the client and the tool. */
async function askRunningTools(request: { model: string; contents: string; isStream: boolean }) {
  const { isStream, ...question } = request
  const client = new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: gateway.url } })
  const run: unknown[] = []
  const wipe = {
    tool: async () => ({ functionDeclarations: [{ name: 'wipe', parametersJsonSchema: { type: 'object' } }] }),
    callTool: async (called: unknown[]) => {
      run.push(...called)
      return []
    }
  }
  const asked = { ...question, config: { tools: [wipe] } }
  const responses: GenerateContentResponse[] = []
  if (!isStream) responses.push(await client.models.generateContent(asked))
  else for await (const chunk of await client.models.generateContentStream(asked)) responses.push(chunk)
  return {
    run,
    shown: responses.flatMap(({ functionCalls = [] }) => functionCalls),
    text: responses.map(({ text = '' }) => text).join(''),
    finish: responses.at(-1)?.candidates?.[0]?.finishReason
  }
}

for (const isStream of forms) {
  const how = isStream ? 'streamed' : 'whole'

  t.test(`automatic function calling of the content SDK does not run a call that was cut off: ${how}`, async t => {
    const call = { id: 'call_1', type: 'function', function: { name: 'wipe', arguments: '{"path":"/tmp","sure":' } }
    for (const [reason, shown] of [
      ['length', 'MAX_TOKENS'],
      ['content_filter', 'SAFETY']
    ] as const) {
      const expected = { run: [], shown: [], text: 'Let me see.', finish: shown }
      const head = { id: 'c', object: isStream ? 'chat.completion.chunk' : 'chat.completion', created: 1, model: 'x' }
      const message = {
        role: 'assistant',
        content: expected.text,
        tool_calls: [isStream ? { index: 0, ...call } : call]
      }
      const frame = (choice: object) => `data: ${JSON.stringify({ ...head, choices: [{ index: 0, ...choice }] })}\n\n`
      const chunks = [frame({ delta: message, finish_reason: null }), frame({ delta: {}, finish_reason: reason })]
      emulator.respondNext(
        isStream
          ? { chunks: [...chunks, 'data: [DONE]\n\n'], headers: { 'content-type': 'text/event-stream' } }
          : { body: { ...head, choices: [{ index: 0, message, finish_reason: reason }] } }
      )
      t.strictSame(await askRunningTools({ model, contents: 'q', isStream }), expected, reason)
      const contents = `[[finish:${reason}]][[text:${expected.text}]][[tool:wipe "{\\"path"]]`
      t.strictSame(await askRunningTools({ model: NATIVE_ALIAS, contents, isStream }), expected, `native, ${reason}`)
    }
  })
}
