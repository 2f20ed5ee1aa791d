import t from 'tap'
import type { JsonObject } from '../../../../worker/normalized/index.ts'
import { CompletionsEditor } from '../../../../worker/protocols/completions/response-editor.ts'
import { answer, chunk } from './provider/support.ts'

function open(showsUsage = true, choices = 1): CompletionsEditor {
  let nonces = 0
  const reading = {
    toolNames: new Map(),
    stops: [],
    droppedToolCalls: 0,
    showsUsage,
    choices
  }
  return new CompletionsEditor({ publicModel: 'alias', reading, createNonce: () => `nonce-${nonces++}` })
}

const editBody = (bytes: Buffer | string) => Buffer.from(open().editBody(Buffer.from(bytes))).toString()

const write = (data: object | string) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/** The frames that a client gets of those of a provider. */
function stream(frames: ReadonlyArray<object | string>, editor = open()): string[] {
  const shown = frames.map(frame => Buffer.from(editor.editFrame(Buffer.from(write(frame)))).toString())
  return shown.join('').split(/(?<=\n\n)/)
}

const parse = (frame: string | undefined) => JSON.parse((frame ?? '').replace(/^data: /, ''))
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const DONE = '[DONE]'

t.test('a content in parts is the text, and its thinking the member for it (decisions.md 81)', async t => {
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'think' }] }
  const text = { type: 'text', text: 'hi' }
  const edited = (content: unknown, more: object = {}) =>
    JSON.parse(editBody(answer({ content, ...more }))).choices[0].message
  t.strictSame(edited([thinking, text]), { role: 'assistant', content: 'hi', reasoning_content: 'think' })
  t.strictSame(edited([text, { type: 'reference', reference_ids: [1] }, text]), { role: 'assistant', content: 'hihi' })
  t.strictSame(edited([thinking, text], { reasoning: 'own' }), { role: 'assistant', content: 'hi', reasoning: 'own' })
  t.strictSame(edited(['x']), { role: 'assistant', content: ['x'] }, 'what cannot be read stays')
  const frames = [
    chunk({ role: 'assistant', content: 'a' }),
    chunk({ content: [thinking] }),
    chunk({ content: [text] }),
    chunk({ content: 'the "content":[ of a text' }),
    chunk({}, 'stop')
  ]
  const deltas = stream(frames).map(frame => parse(frame).choices[0].delta)
  t.strictSame(deltas.slice(1, 4), [
    { content: '', reasoning_content: 'think' },
    { content: 'hi' },
    { content: 'the "content":[ of a text' }
  ])
})

t.test('a whole response stays as it is, with the model renamed (decisions.md 72 and 114)', async t => {
  const call = { id: 'functions.f:0', type: 'function', function: { name: 'f', arguments: '{ }' } }
  for (const text of [
    answer({ content: '<think>hm</think>yes STOP' }, 'stop', { usage, system_fingerprint: 'x', vendor: { a: [1] } }),
    answer({ content: null, tool_calls: [call, call], reasoning: 'hm', reasoning_details: [] }, 'tool_calls'),
    answer({ content: 'a', annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example/' } }] }),
    answer({ content: 'hi' }, 'length', { id: null, usage: { total_tokens: 1.0 } }),
    answer({ content: null, function_call: { name: 'f', arguments: '{}' } }, 'function_call')
  ].map(String)) {
    t.equal(editBody(text), text.replace('"upstream-model"', '"alias"'))
  }
  const odd =
    '{ "model" : "up","n":12345678901234567890,"choices":[ {"message":{"role":"assistant","content":"\\u0041"},"finish_reason":"stop","index":1.0} ]}'
  t.equal(editBody(odd), odd.replace('"up"', '"alias"'))
})

t.test('what breaks an official SDK is put right in the bytes of a whole response (decisions.md 81)', async t => {
  const message = (members: JsonObject, word: unknown = 'tool_calls') =>
    JSON.parse(editBody(answer({ content: null, ...members }, word))).choices[0]
  const definition = { name: 'f', arguments: '{"a":"x"}' }
  for (const type of [undefined, null, '']) {
    const { tool_calls: calls } = message({ tool_calls: [{ id: 'call_1', type, function: definition }] }).message
    t.strictSame(calls, [{ id: 'call_1', type: 'function', function: definition }])
  }
  const nameless = message({
    tool_calls: [
      { type: 'function', function: definition },
      { id: '', function: definition }
    ]
  })
  const ids = nameless.message.tool_calls.map(({ id }: { id: string }) => id)
  t.match(ids, [/^call_gw_/, /^call_gw_/])
  t.not(ids[0], ids[1])
  const raw = answer({
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: 7 } }]
  })
    .toString()
    .replace('"arguments":7', '"arguments":{ "n":12345678901234567890 }')
  t.equal(JSON.parse(editBody(raw)).choices[0].message.tool_calls[0].function.arguments, '{ "n":12345678901234567890 }')
  const empty = message({ tool_calls: [{ id: 'a', type: 'function', function: { name: 'f' } }] })
  t.equal(empty.message.tool_calls[0].function.arguments, '{}')
  for (const [word, expected] of [
    ['model_length', 'length'],
    ['eos', 'stop'],
    ['sensitive', 'content_filter'],
    ['insufficient_system_resource', 'length'],
    [null, 'stop'],
    ['stop', 'stop']
  ]) {
    t.equal(message({ content: 'hi' }, word).finish_reason, expected, String(word))
  }
  t.equal(message({ tool_calls: [{ id: 'a', function: definition }] }, null).finish_reason, 'tool_calls')
  t.equal(JSON.parse(editBody('{"choices":[{"message":{"content":"a"}}]}')).choices[0].message.role, 'assistant')
})

t.test('cached tokens beside the counts are shown in their details (decisions.md 81)', async t => {
  const details = (more: object) =>
    JSON.parse(editBody(answer({ content: 'a' }, 'stop', { usage: { ...usage, ...more } }))).usage.prompt_tokens_details
  t.strictSame(details({ cached_tokens: 8 }), { cached_tokens: 8 })
  t.strictSame(details({ prompt_cache_hit_tokens: 8 }), { cached_tokens: 8 })
  t.strictSame(details({ cached_tokens: 8, prompt_tokens_details: { audio_tokens: 1 } }), {
    audio_tokens: 1,
    cached_tokens: 8
  })
  t.strictSame(details({ cached_tokens: 8, prompt_tokens_details: { cached_tokens: 2 } }), { cached_tokens: 2 })
  t.equal(details({}), undefined)
  const [, last] = stream([
    chunk({ role: 'assistant', content: 'a' }),
    { choices: [], usage: { ...usage, cached_tokens: 8 } }
  ])
  t.strictSame(parse(last).usage.prompt_tokens_details, { cached_tokens: 8 })
})

t.test('the chunks of a stream stay as they are, with the model renamed', async t => {
  const frames = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: '<think>' }, null, { usage: null }),
    chunk({ content: 'a "usage":{ \\" ', logprobs: null }, null, { x_groq: { id: 'r' } }),
    chunk({
      tool_calls: [{ index: 0, id: 'functions.f:0', type: 'function', function: { name: 'f', arguments: '' } }]
    }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
    chunk({}, 'tool_calls', { usage: null }),
    { choices: [], usage, model: 'upstream-model', id: 'c' },
    DONE
  ]
  const expected = frames.map(frame => write(frame).replace('"upstream-model"', '"alias"'))
  t.same(stream(frames), expected)
  const editor = open()
  t.equal(
    Buffer.from(editor.editFrame(Buffer.from(': OPENROUTER PROCESSING\n\n'))).toString(),
    ': OPENROUTER PROCESSING\n\n'
  )
})

t.test(
  'usage has a chunk of its own behind the finish chunk, and no other chunk has it (decisions.md 107)',
  async t => {
    const begin = chunk({ role: 'assistant', content: 'a' }, null, { usage: { total_tokens: 1 } })
    const end = chunk({}, 'stop', { usage })
    const asked = stream([begin, end, DONE])
    t.equal(parse(asked[0]).usage, null)
    t.equal(parse(asked[1]).usage, null)
    const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'alias' }
    t.same(asked.slice(2), [write({ ...head, choices: [], usage }), write(DONE)])
    // The provider's own chunk with the usage comes as well: one is enough.
    const own = { id: 'c', choices: [], usage: { total_tokens: 9 } }
    t.same(stream([begin, end, own, DONE]).slice(2), [write(own), write(DONE)])
  }
)

t.test('a client that did not ask for the usage sees none of it (decisions.md 107)', async t => {
  const frames = [
    chunk({ role: 'assistant', content: 'a' }, null, { usage: null }),
    chunk({ content: 'b' }, null, { usage: null }),
    chunk({}, 'stop', { usage }),
    { choices: [], usage },
    { choices: [], prompt_filter_results: [], usage: null },
    DONE
  ]
  const seen = stream(frames, open(false))
  t.notMatch(seen.join(''), 'usage')
  t.same(seen.slice(3), [write({ choices: [], prompt_filter_results: [] }), write(DONE)])
})

t.test('calls of a stream are put right (decisions.md 81)', async t => {
  const role = chunk({ role: 'assistant' })
  const delta = (call: object) => chunk({ tool_calls: [call] })
  const calls = (...deltas: object[]) =>
    stream([role, ...deltas.map(delta)])
      .slice(1)
      .map(frame => parse(frame).choices[0].delta.tool_calls[0])
  const definition = { name: 'f', arguments: '{"a":"x"}' }
  t.strictSame(calls({ index: 0, id: 'c', function: definition }), [
    { index: 0, id: 'c', function: definition, type: 'function' }
  ])
  const [first, second] = calls(
    { index: 0, type: 'function', function: { name: 'f' } },
    { index: 0, function: { arguments: '{}' } }
  )
  t.match(first.id, /^call_gw_/)
  t.strictSame(second, { index: 0, function: { arguments: '{}' } })
  t.strictSame(
    calls({ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: { a: 'x' } } })[0].function,
    definition
  )
  t.strictSame(
    calls(
      { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{' } },
      { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '}' } }
    )[1],
    { index: 0, type: 'function', function: { arguments: '}' } },
    'SDKs join what is repeated'
  )
  t.strictSame(
    calls(
      { index: 0, id: 'a', type: 'function', function: definition },
      { index: 0, id: 'b', type: 'function', function: definition }
    ).map(({ index }) => index),
    [0, 1],
    'two calls with one index'
  )
  t.strictSame(
    calls({ id: 'a', function: definition }, { id: 'b', function: definition }, { function: { arguments: ' ' } }).map(
      ({ index }) => index
    ),
    [0, 1, 1],
    'without an index'
  )
})

t.test('roles and reasons of a stream are put right (decisions.md 81)', async t => {
  const [first, second] = stream([chunk({ content: 'a' }), chunk({ content: 'b' }, '')])
  t.equal(parse(first).choices[0].delta.role, 'assistant')
  t.equal(parse(second).choices[0].finish_reason, null)
  const end = (word: string) => parse(stream([chunk({ role: 'assistant', content: 'hi' }), chunk({}, word), DONE])[1])
  t.equal(end('model_length').choices[0].finish_reason, 'length')
  t.equal(end('eos').choices[0].finish_reason, 'stop')
  const [, missing, mark] = stream([chunk({ role: 'assistant', content: 'hi' }), DONE])
  t.equal(parse(missing).choices[0].finish_reason, 'stop')
  t.equal(mark, write(DONE))
})

t.test('a stream that ends without its mark gets it', async t => {
  const editor = open()
  stream([chunk({ role: 'assistant', content: 'hi' }), chunk({}, 'stop', { usage })], editor)
  const [end, counts, mark] = Buffer.from(editor.end()).toString().split('\n\n')
  t.equal(parse(end).choices[0].finish_reason, 'stop')
  t.strictSame(parse(counts).usage, usage)
  t.equal(mark, 'data: [DONE]')
})

t.test('each of several choices has its own calls and its own role', async t => {
  const of = (index: number, delta: object) => ({ model: 'm', choices: [{ index, delta, finish_reason: null }] })
  const call = { index: 0, function: { name: 'f', arguments: '{}' } }
  const frames = stream(
    [of(0, { content: 'a' }), of(1, { content: 'b' }), of(1, { tool_calls: [call] })],
    open(true, 2)
  )
  t.equal(parse(frames[1]).choices[0].delta.role, 'assistant')
  t.equal(parse(frames[2]).choices[0].delta.tool_calls[0].index, 0)
})

t.test('the end of a response is held until nothing can fail any more (decisions.md 108)', async t => {
  const editor = open()
  const show = (frame: object) => Buffer.from(editor.editFrame(Buffer.from(write(frame)))).toString()
  t.not(show(chunk({ role: 'assistant', content: 'a' })), '')
  t.equal(show(chunk({}, 'stop')), '')
  t.equal(show({ choices: [], usage }), '')
})
