import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { chatCompatibleRelay } from '../../../../../worker/protocols/completions/provider/relay.ts'
import { scanJson } from '../../../../../worker/protocols/shared/raw-json.ts'
import { answer, openReader, readRequest, write } from './support.ts'

/** The bytes that go out for a client's bytes; undefined when they are written anew. */
function reuse(text: string): string | undefined {
  const body = JSON.parse(text) as JsonObject
  const bytes = chatCompatibleRelay.reuseBody(Buffer.from(text), body, write('completions', body).body)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString()
}

const messages = '"messages":[{"role":"user","content":"say \\"model\\": \\\\"}]'

t.test('the bytes of a request that needs nothing else are sent with the model renamed in place', async t => {
  const reused = [
    `{"model":"alias",${messages}}`,
    `{${messages},"model":"alias"}`,
    `{ "model" :\n"al\\u0069as", ${messages}, "stream" : false }\n`,
    `{${messages},"temperature":0.50,"model":"alias","stop":"END","seed":1e1}`,
    `{"model":"alias",${messages},"stream":true,"stream_options":{"include_usage":true}}`,
    `{"model":"alias",${messages},"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"model":{"type":"string"}}}}}]}`,
    '{"model":"alias","messages":[{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{ }"}}],"content":null,"role":"assistant"},{"role":"tool","tool_call_id":"a","content":"ä\\n😀"}]}'
  ]
  for (const text of reused) {
    const expected = text.replace(/"al(\\u0069|i)as"/, '"exact-model"')
    t.equal(reuse(text), expected)
  }
})

t.test('a request in which something else has to change is written anew', async t => {
  const other = [
    ['a developer', '{"model":"alias","messages":[{"role":"developer","content":"a"}]}'],
    ['the other name of a limit', `{"model":"alias",${messages},"max_completion_tokens":5}`],
    ['no wish for the usage', `{"model":"alias",${messages},"stream":true}`],
    ['a member that is not sent', `{"model":"alias",${messages},"prompt_cache_key":"x"}`],
    ['null', `{"model":"alias",${messages},"temperature":null}`],
    ['a member twice', `{"model":"alias",${messages},"max_tokens":1,"max_tokens":2}`],
    ['the model twice', `{"model":"x","model":"alias",${messages}}`],
    ['the model twice, spelled differently', `{"mod\\u0065l":"x","model":"alias",${messages}}`],
    ['the model with escapes only', `{"mod\\u0065l":"alias",${messages}}`],
    ['a byte order mark', `\ufeff{"model":"alias",${messages}}`],
    [
      'a nested member twice',
      '{"model":"alias","messages":[{"role":"user","content":"a"}],"metadata":{"a":"1","a":"2"}}'
    ],
    [
      'an id of another form',
      '{"model":"alias","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a.b","type":"function","function":{"name":"f","arguments":"{}"}}]}]}'
    ]
  ] as const
  for (const [name, text] of other) {
    if (text.startsWith('\ufeff')) {
      const body = JSON.parse(text.slice(1)) as JsonObject
      t.equal(chatCompatibleRelay.reuseBody(Buffer.from(text), body, write('completions', body).body), undefined, name)
    } else t.equal(reuse(text), undefined, name)
  }
  const broken = Buffer.from(`{"model":"alias","messages":[{"role":"user","content":"\xff"}]}`, 'latin1')
  const body = JSON.parse(broken.toString()) as JsonObject
  t.equal(chatCompatibleRelay.reuseBody(broken, body, write('completions', body).body), undefined, 'broken UTF-8')
})

t.test('responses are taken as bytes only where nothing is cut from them', async t => {
  const accepts = (members: JsonObject) => {
    const body = { model: 'alias', messages: [{ role: 'user', content: 'a' }], ...members }
    return chatCompatibleRelay.acceptsResponse(readRequest('completions', body), write('completions', body).reading)
  }
  t.equal(accepts({}), true)
  t.equal(accepts({ tools: [{ type: 'function', function: { name: 'f' } }] }), true)
  for (const members of [
    { stream: true },
    { stop: 'a' },
    { parallel_tool_calls: false },
    { functions: [{ name: 'f' }] },
    { tools: [{ type: 'function', function: { name: 'a.b' } }] }
  ]) {
    t.equal(accepts(members), false, JSON.stringify(members))
  }
})

t.test('the bytes of a plain response are passed on with the model renamed', async t => {
  const relay = (bytes: Buffer) => openReader().relayBody?.(bytes, { publicModel: 'alias', wantsEvents: true })
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
  const plain = [
    answer({ content: 'Hello "model": ä', refusal: null, annotations: [] }, 'stop', { usage, system_fingerprint: 'x' }),
    answer({ content: null, tool_calls: [call], function_call: null }, 'tool_calls'),
    answer({ content: 'a', reasoning_content: 'hm', tool_calls: [] }, 'length'),
    answer({ content: 'I am upstream-model' }, 'stop', { vendor: { route: ['x'] } }),
    Buffer.from(answer({ content: 'a' }).toString().replaceAll(':', ' : '))
  ]
  for (const bytes of plain) {
    const relayed = relay(bytes)
    t.equal(Buffer.from(relayed?.bytes ?? []).toString(), bytes.toString().replace('"upstream-model"', '"alias"'))
    t.equal(relayed?.events.at(-1)?.type, 'finish')
  }
  t.match(relay(plain[0] as Buffer)?.events, [
    { type: 'start' },
    {},
    {},
    {},
    { type: 'usage', usage: { totalTokens: 3 } }
  ])
  const other = [
    answer({ content: '<think>hm</think>yes' }),
    answer({ content: ' \n<think>hm</think>yes' }),
    answer({ content: 'a', reasoning: 'hm' }),
    answer({ content: 'a', reasoning_details: [] }),
    answer({ content: null, tool_calls: [{ ...call, id: 'functions.f:0' }] }, 'tool_calls'),
    answer({ content: null, tool_calls: [call, call] }, 'tool_calls'),
    answer({ content: null, tool_calls: [{ ...call, extra_content: { a: 1 } }] }, 'tool_calls'),
    answer({ content: null, tool_calls: [{ ...call, function: { name: 'f', arguments: '' } }] }, 'tool_calls'),
    answer({ content: null, tool_calls: [call] }, 'stop'),
    answer({ content: 'a' }, 'tool_calls'),
    answer({ content: null, function_call: { name: 'f', arguments: '{}' } }, 'function_call'),
    answer({ content: 'a' }, 'stop', { id: null }),
    // What breaks an SDK is put right (decisions.md 81).
    answer({ content: 'a' }, 'eos'),
    answer({ content: 'a' }, null),
    answer({ content: [{ type: 'text', text: 'a' }] }),
    answer({ content: null, tool_calls: [{ ...call, type: undefined }] }, 'tool_calls'),
    answer({ content: null, tool_calls: [{ ...call, function: { name: 'f', arguments: {} } }] }, 'tool_calls'),
    answer({ content: 'a' }, 'stop', { usage: { prompt_tokens: 10, total_tokens: 12, cached_tokens: 8 } }),
    answer({ content: 'a' }, 'stop', { vendor: { route: ['x/upstream-model'] } }),
    Buffer.from(answer({ content: 'a' }).toString().replace('{', '{"model":"other",'))
  ]
  for (const bytes of other) {
    const relayed = relay(bytes)
    t.equal(relayed?.bytes, undefined, bytes.toString())
    t.equal(relayed?.events.at(-1)?.type, 'finish')
  }
  t.throws(() => relay(answer({ content: 'a' }, 7)), { cause: 'invalid_finish_reason' })
  t.throws(() => relay(Buffer.from('{"error":{"message":"m","code":429}}')), { code: 'rate_limited' })
})

t.test('members are counted and found beside strings with any characters', async t => {
  const scan = (text: string) => {
    const { memberCount, value } = scanJson(Buffer.from(text), 'm')
    return [memberCount, value === undefined ? undefined : text.slice(value.start, value.end)]
  }
  t.same(scan('{}'), [0, undefined])
  t.same(scan('{"m":"x"}'), [1, '"x"'])
  t.same(scan('{"m":7}'), [1, undefined])
  t.same(scan('{"a":{"m":"x"},"b":["m",":"],"m" : "y\\"\\\\" }'), [4, '"y\\"\\\\"'])
  t.same(scan('{"a\\"m":1,"\\\\":2}'), [2, undefined])
  t.same(scan('{"m":"x","m":"y"}'), [2, undefined])
})

t.test('counts that are corrected are written anew, whole as in a stream (D3)', async t => {
  const relayWith = (usage: object, wantsEvents: boolean) =>
    openReader().relayBody?.(answer({ content: 'a' }, 'stop', { usage }), { publicModel: 'alias', wantsEvents })
  const plain = { prompt_tokens: 10, completion_tokens: 30, total_tokens: 40 }
  const exact = [
    plain,
    { ...plain, completion_tokens_details: { reasoning_tokens: 20 } },
    { ...plain, prompt_tokens_details: { cached_tokens: 5 }, prompt_cache_hit_tokens: 5 },
    { ...plain, prompt_tokens_details: { cached_tokens: null }, completion_tokens_details: null },
    { prompt_tokens: null, completion_tokens: null, total_tokens: null }
  ]
  const corrected = [
    [{ ...plain, total_tokens: 60, completion_tokens_details: { reasoning_tokens: 20 } }, { outputTokens: 50 }],
    [{ ...plain, completion_tokens_details: { reasoning_tokens: 31 } }, { reasoningTokens: 30 }],
    [{ ...plain, prompt_tokens_details: { cached_tokens: 11 } }, { cacheReadTokens: 10 }],
    [{ ...plain, prompt_cache_hit_tokens: 5 }, { cacheReadTokens: 5 }],
    [{ prompt_tokens: 10, completion_tokens: 30 }, { totalTokens: 40 }]
  ] as const
  for (const wantsEvents of [true, false]) {
    for (const usage of exact) t.ok(relayWith(usage, wantsEvents)?.bytes, JSON.stringify(usage))
    for (const [usage, read] of corrected) {
      const relayed = relayWith(usage, wantsEvents)
      t.equal(relayed?.bytes, undefined, JSON.stringify(usage))
      t.match(
        relayed?.events.find(({ type }) => type === 'usage'),
        { usage: read },
        JSON.stringify(read)
      )
    }
  }
})
