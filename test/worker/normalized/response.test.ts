import t from 'tap'
import {
  accumulateEvents,
  createResponseAccumulator,
  GatewayError,
  type NormalizedEvent
} from '../../../worker/normalized/index.ts'

const start: NormalizedEvent = { type: 'start', providerModel: 'm:1', metadata: { a: '1', b: '1' } }

t.test('items stand in the order of their first appearance and hold all their pieces', async t => {
  const response = accumulateEvents([
    start,
    { type: 'hosted-tool-start', index: 0, kind: 'web_search', name: 'web_search' },
    { type: 'reasoning-start' },
    { type: 'reasoning-delta', text: 'wh' },
    { type: 'reasoning-delta', text: 'y' },
    { type: 'reasoning-end', state: { messages_compatible: { signature: 's' } } },
    { type: 'text-start' },
    { type: 'text-delta', text: 'a' },
    {
      type: 'citation',
      citation: { type: 'url-citation', startIndex: 1, endIndex: 1, url: 'https://a.test', title: 'A' }
    },
    { type: 'hosted-tool-progress', index: 0, status: 'searching', secondsLeft: 2, isCensored: false },
    { type: 'text-delta', text: 'b' },
    { type: 'text-end' },
    { type: 'tool-call-start', index: 0, id: 'c0', name: 'f', namespace: 'n', state: { native: { toolStateId: 't' } } },
    { type: 'tool-call-delta', index: 0, arguments: '{"a"' },
    { type: 'tool-call-delta', index: 0, arguments: ':1}' },
    { type: 'tool-call-end', index: 0 },
    { type: 'hosted-tool-end', index: 0, status: 'completed', sources: [], inlineData: { images: [] } },
    { type: 'refusal-start' },
    { type: 'refusal-delta', text: 'no' },
    { type: 'refusal-end' },
    { type: 'file', file: { fileId: 'f1' } },
    {
      type: 'usage',
      usage: {
        inputTokens: 1,
        cacheReadTokens: null,
        cacheWriteTokens: null,
        outputTokens: 2,
        reasoningTokens: null,
        totalTokens: 3
      }
    },
    {
      type: 'finish',
      reason: 'tool-calls',
      providerReason: 'function_call',
      state: { native: { threadId: 'th' } },
      metadata: { b: '2' }
    }
  ])
  t.same(response, {
    providerModel: 'm:1',
    items: [
      {
        type: 'hosted-tool',
        kind: 'web_search',
        name: 'web_search',
        status: 'completed',
        secondsLeft: 2,
        isCensored: false,
        sources: [],
        inlineData: { images: [] },
        itemsAtEnd: 4
      },
      { type: 'reasoning', text: 'why', state: { messages_compatible: { signature: 's' } } },
      {
        type: 'text',
        text: 'ab',
        citations: [{ type: 'url-citation', startIndex: 1, endIndex: 1, url: 'https://a.test', title: 'A' }]
      },
      {
        type: 'tool-call',
        id: 'c0',
        name: 'f',
        namespace: 'n',
        arguments: '{"a":1}',
        state: { native: { toolStateId: 't' } }
      },
      { type: 'refusal', text: 'no' },
      { type: 'file', file: { fileId: 'f1' } }
    ],
    usage: {
      inputTokens: 1,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      outputTokens: 2,
      reasoningTokens: null,
      totalTokens: 3
    },
    finish: { reason: 'tool-calls', providerReason: 'function_call' },
    state: { native: { threadId: 'th' } },
    metadata: { a: '1', b: '2' }
  })
})

t.test('a response that was cut names its stop string', async t => {
  const response = accumulateEvents([
    start,
    { type: 'finish', reason: 'stop', providerReason: null, stopSequence: 'END', metadata: {} }
  ])
  t.same(response.finish, { reason: 'stop', providerReason: null, stopSequence: 'END' })
  t.equal(response.usage, null)
})

t.test('an error event is thrown, and what came before stays readable', async t => {
  const accumulator = createResponseAccumulator()
  for (const event of [start, { type: 'text-start' }, { type: 'text-delta', text: 'a' }] as const) {
    accumulator.push(event)
  }
  const error = new GatewayError('provider_failure')
  t.throws(() => accumulator.push({ type: 'error', error }), { code: 'provider_failure' })
  t.same(accumulator.response().items, [{ type: 'text', text: 'a', citations: [] }])
})
