import t from 'tap'
import {
  type EventAssembler,
  type FinishReason,
  isJsonObject,
  type NormalizedEvent
} from '../../../../../worker/normalized/index.ts'
import { writeDeltaUsage, writeStop } from '../../../../../worker/protocols/messages/client/write-response.ts'
import { eventsOf, read, requestId, writeFrames, writeResponse } from './support.ts'

const contentOf = (build: (assembler: EventAssembler) => void, body = {}) =>
  writeResponse(eventsOf(build), body).content
const text = (text: string) => ({ type: 'text', text })

t.test('a response has every member that the SDK requires', async t => {
  const response = writeResponse(
    eventsOf(assembler => {
      assembler.reasoning('hm')
      assembler.text('Hello')
      assembler.toolCall({ id: 'call_gw_A', name: 'get_weather' }, '{"city": "Paris"}')
      const usage = {
        inputTokens: 19,
        cacheReadTokens: 5,
        cacheWriteTokens: null,
        outputTokens: 8,
        reasoningTokens: null,
        totalTokens: 27
      }
      assembler.finish({ reason: 'tool-calls', providerReason: 'function_call', metadata: { a: 'b' } }, usage)
    })
  )
  t.strictSame(response, {
    id: `msg_${requestId}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [
      { type: 'thinking', thinking: 'hm', signature: '' },
      { type: 'text', text: 'Hello' },
      {
        type: 'tool_use',
        id: 'call_gw_A',
        name: 'get_weather',
        input: { city: 'Paris' },
        caller: { type: 'direct' }
      }
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 14,
      output_tokens: 8,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 5,
      service_tier: 'standard'
    }
  })
})

t.test('an empty response has one empty text, and a response with only calls has no text', async t => {
  t.strictSame(
    contentOf(() => undefined),
    [text('')]
  )
  const calls = contentOf(assembler => assembler.toolCall({ id: 'a', name: 'f' }, '{}'))
  t.strictSame(
    calls.map(block => block.type),
    ['tool_use']
  )
  t.strictSame(
    contentOf(assembler => {
      assembler.startHostedTool({ kind: 'web_search', name: 'web_search' })
      assembler.file({ fileId: 'f1', target: 'image' })
    }),
    [text('')],
    'hosted tool runs and pictures are not shown'
  )
  t.strictSame(
    contentOf(assembler => assembler.file({ fileId: 'f1', target: 'model' })),
    [text('3D model: f1')],
    'a file that is no picture is named'
  )
})

t.test('blocks keep their order, and later reasoning has a separate block', async t => {
  const content = contentOf(assembler => {
    assembler.reasoning('1')
    assembler.text('a')
    assembler.reasoning('2')
    assembler.text('b')
  })
  t.match(content, [{ thinking: '1' }, { text: 'a' }, { thinking: '2' }, { text: 'b' }])
})

t.test('arguments that are not an object become an empty object', async t => {
  const inputOf = (text: string) => contentOf(assembler => assembler.toolCall({ id: 'a', name: 'f' }, text))[0]
  for (const broken of ['', '{"a":', '[1]', 'null', '"x"']) t.match(inputOf(broken), { input: {} }, broken)
  t.match(inputOf('{"a":{"b":null}}'), { input: { a: { b: null } } })
})

t.test('a namespace is written before the name', async t => {
  t.match(
    contentOf(assembler => assembler.toolCall({ id: 'a', name: 'f', namespace: 'n' }, '')),
    [{ name: 'n__f' }]
  )
})

t.test('every call of the response is a block, in order (B1, B2)', async t => {
  const content = contentOf(assembler => {
    assembler.toolCall({ id: 'a', name: 'f' }, '{"x":1}')
    assembler.toolCall({ id: 'b', name: 'f' }, '{"x":2}')
    assembler.text('so')
  })
  t.strictSame(
    content.map(block => (block.type === 'tool_use' ? block.id : block.type)),
    ['a', 'b', 'text']
  )
})

t.test('hidden reasoning becomes a block without text', async t => {
  const content = contentOf(
    assembler => {
      assembler.reasoning('secret')
      assembler.text('a')
    },
    { thinking: { type: 'adaptive', display: 'omitted' } }
  )
  t.strictSame(content, [{ type: 'thinking', thinking: '', signature: '' }, text('a')])
})

t.test('signatures and redacted reasoning of a provider are passed on', async t => {
  const content = writeResponse([
    { type: 'reasoning-start' },
    { type: 'reasoning-delta', text: 'hm' },
    { type: 'reasoning-end', state: { messages_compatible: { signature: 'sig' } } },
    { type: 'reasoning-start' },
    { type: 'reasoning-end', state: { messages_compatible: { redacted: 'enc' } } }
  ]).content
  t.strictSame(content, [
    { type: 'thinking', thinking: 'hm', signature: 'sig' },
    { type: 'redacted_thinking', data: 'enc' }
  ])
})

t.test('the stop reason follows from the finish reason and the content (A6)', async t => {
  const none = { stop_sequence: null, stop_details: null }
  const refusal = {
    stop_reason: 'refusal',
    stop_sequence: null,
    stop_details: { type: 'refusal', category: null, explanation: null }
  }
  const finish = (reason: FinishReason, stopSequence?: string) => ({
    reason,
    providerReason: null,
    ...(stopSequence === undefined ? {} : { stopSequence })
  })
  const empty = { callCount: 0, hasCutCall: false, hasRefusal: false }
  for (const reason of ['stop', 'tool-calls', 'cancelled'] as const) {
    t.strictSame(writeStop(finish(reason), empty), { stop_reason: 'end_turn', ...none })
  }
  for (const reason of ['stop', 'tool-calls', 'length', 'content-filter'] as const) {
    t.strictSame(writeStop(finish(reason, 'END'), { callCount: 1, hasCutCall: false, hasRefusal: true }), {
      stop_reason: 'tool_use',
      ...none
    })
  }
  t.strictSame(writeStop(finish('length'), empty), { stop_reason: 'max_tokens', ...none })
  t.strictSame(writeStop(finish('stop', 'END'), empty), {
    stop_reason: 'stop_sequence',
    stop_sequence: 'END',
    stop_details: null
  })
  t.strictSame(writeStop(finish('content-filter'), empty), refusal)
  t.strictSame(writeStop(finish('stop'), { ...empty, hasRefusal: true }), refusal)
})

t.test('a call that the response was cut in is no call to run, whole and streamed', async t => {
  const cutIn = (texts: readonly string[], reason: FinishReason = 'length') =>
    eventsOf(assembler => {
      for (const [index, text] of texts.entries()) assembler.toolCall({ id: `c${index}`, name: 'f' }, text)
      assembler.finish({ reason, providerReason: null, metadata: {} }, null)
    })
  const stopOf = (events: readonly NormalizedEvent[]) =>
    writeFrames(events).find(({ type }) => type === 'message_delta')?.delta
  for (const text of ['{"city":"Os', '']) {
    const whole = writeResponse(cutIn(['{"city":"Bergen"}', text]))
    t.match(whole, { stop_reason: 'max_tokens', content: [{ id: 'c0', input: { city: 'Bergen' } }] })
    t.equal(whole.content.length, 1)
    t.match(writeResponse(cutIn([text])), { stop_reason: 'max_tokens', content: [{ type: 'text', text: '' }] })
    t.match(stopOf(cutIn(['{"city":"Bergen"}', text])), { stop_reason: 'max_tokens' })
    t.match(stopOf(cutIn([text], 'content-filter')), { stop_reason: 'refusal' })
  }
  t.match(writeResponse(cutIn(['{}'])), { stop_reason: 'tool_use' }, 'the call is complete')
  t.match(stopOf(cutIn(['{}'])), { stop_reason: 'tool_use' })
})

t.test('the state of a call survives the response, the echo of the client and the next request (C3)', async t => {
  const state = { chat_compatible: { extraContent: '{"google":{"thought_signature":"abc=="}}' } }
  const events = eventsOf(assembler => {
    assembler.text('I look.')
    assembler.toolCall({ id: 'c0', name: 'f', state }, '{}')
    assembler.toolCall({ id: 'c1', name: 'f' }, '{}')
    assembler.toolCall({ id: 'c2', name: 'f', state: { native: { toolStateId: 'x' } } }, '{}')
  })
  const { content } = writeResponse(events)
  const types = ['text', 'thinking', 'tool_use', 'tool_use', 'tool_use']
  t.same(
    content.map(({ type }) => type),
    types
  )
  const frames = writeFrames(events)
  const started = frames.filter(({ type }) => type === 'content_block_start')
  t.same(
    started.map(({ content_block: block }) => isJsonObject(block) && block.type),
    types
  )
  const signed = frames.find(({ delta }) => isJsonObject(delta) && delta.type === 'signature_delta')
  t.match(signed, { index: 1, delta: { signature: content[1]?.type === 'thinking' ? content[1].signature : '' } })
  const echo = JSON.parse(JSON.stringify(content))
  const results = ['c0', 'c1', 'c2'].map(id => ({ type: 'tool_result', tool_use_id: id, content: 'ok' }))
  const { messages } = read({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: echo },
      { role: 'user', content: results }
    ]
  })
  const parts = messages[1]?.content ?? []
  t.same(
    parts.map(({ type }) => type),
    ['text', 'tool-call', 'tool-call', 'tool-call']
  )
  t.same(
    parts.map(part => (part.type === 'tool-call' ? part.state : undefined)),
    [undefined, state, undefined, undefined]
  )
})

t.test('a refusal text is a text block with the stop reason refusal', async t => {
  t.match(writeResponse(eventsOf(assembler => assembler.refusal('No.'))), {
    content: [{ type: 'text', text: 'No.' }],
    stop_reason: 'refusal'
  })
})

t.test('counts that the provider did not report are zero (D3)', async t => {
  const unknown = {
    inputTokens: null,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: null,
    reasoningTokens: null,
    totalTokens: null
  }
  const zeros = {
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0
  }
  t.strictSame(writeDeltaUsage(null), zeros)
  t.strictSame(writeDeltaUsage(unknown), zeros)
  t.match(writeDeltaUsage({ ...unknown, cacheReadTokens: 4, cacheWriteTokens: 3 }), {
    cache_creation_input_tokens: 3,
    cache_read_input_tokens: 4
  })
  t.match(
    writeDeltaUsage({ ...unknown, inputTokens: 30, cacheReadTokens: 20, cacheWriteTokens: 3 }),
    { input_tokens: 7, cache_read_input_tokens: 20, cache_creation_input_tokens: 3 },
    'the input excludes what the cache reports, because clients add the three (decisions.md 84)'
  )
  t.match(writeDeltaUsage({ ...unknown, inputTokens: 3, cacheReadTokens: 4 }), { input_tokens: 0 })
  t.match(writeDeltaUsage({ ...unknown, reasoningTokens: 0 }), { output_tokens_details: { thinking_tokens: 0 } })
})
