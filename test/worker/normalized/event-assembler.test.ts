import t from 'tap'
import {
  accumulateEvents,
  EventAssembler,
  FILES_MAX,
  GatewayError,
  HOSTED_RUNS_MAX,
  JSON_DEPTH_MAX,
  type NormalizedEvent,
  RESPONSE_CHARACTERS_MAX,
  TOOL_CALLS_MAX
} from '../../../worker/normalized/index.ts'
import { checkGrammar } from './grammar.ts'

const stop = { reason: 'stop', providerReason: 'stop', metadata: {} } as const

function open(): EventAssembler {
  const assembler = new EventAssembler()
  assembler.start({ providerModel: 'm', metadata: {} })
  return assembler
}

function types(events: readonly NormalizedEvent[]): string[] {
  return events.map(event => event.type)
}

t.test('a block opens on its first content and closes when another kind begins', async t => {
  const assembler = open()
  assembler.reasoning('why')
  assembler.text('a')
  assembler.text('b')
  assembler.refusal('no')
  assembler.finish(stop, null)
  const events = assembler.take()
  t.same(types(events), [
    'start',
    'reasoning-start',
    'reasoning-delta',
    'reasoning-end',
    'text-start',
    'text-delta',
    'text-delta',
    'text-end',
    'refusal-start',
    'refusal-delta',
    'refusal-end',
    'finish'
  ])
  t.same(checkGrammar(events), [])
})

t.test('empty pieces open nothing (A7, C2)', async t => {
  const assembler = open()
  assembler.text('')
  assembler.reasoning('')
  assembler.refusal('')
  t.same(types(assembler.take()), ['start'])
  t.equal(assembler.openBlock, undefined)
})

t.test('calls are numbered from 0 in order of opening (B1)', async t => {
  const assembler = open()
  assembler.toolCall({ id: 'a', name: 'f' }, '{}')
  assembler.startToolCall({ id: 'b', name: 'f', namespace: 'n' })
  assembler.toolCallArguments('{"a"')
  assembler.toolCallArguments(':1}')
  assembler.finish(stop, null)
  const events = assembler.take()
  t.same(checkGrammar(events), [])
  t.same(
    events.flatMap(event => (event.type === 'tool-call-start' ? [[event.index, event.id, event.namespace]] : [])),
    [
      [0, 'a', undefined],
      [1, 'b', 'n']
    ]
  )
  t.equal(assembler.toolCallCount, 2)
})

t.test('the state of reasoning travels with the end of its block', async t => {
  const assembler = open()
  assembler.reasoning('why')
  assembler.blockState({ messages_compatible: { signature: 's' } })
  assembler.text('a')
  assembler.reasoning('again')
  assembler.closeBlock()
  const ends = assembler.take().filter(event => event.type === 'reasoning-end')
  t.same(ends, [
    { type: 'reasoning-end', state: { messages_compatible: { signature: 's' } } },
    { type: 'reasoning-end' }
  ])
})

t.test('every block carries state, and a signed block takes no further piece', async t => {
  const assembler = open()
  assembler.text('a')
  assembler.blockState({ content_compatible: { thoughtSignature: 's1' } })
  assembler.text('b')
  assembler.refusal('no')
  assembler.blockState({ chat_compatible: { reasoningDetails: '[]' } })
  assembler.startToolCall({ id: 'c', name: 'f' })
  assembler.toolCallArguments('{')
  assembler.blockState({ chat_compatible: { reasoningDetails: '1' } })
  assembler.blockState({ chat_compatible: { extraContent: '2' } })
  assembler.toolCallArguments('}')
  assembler.closeBlock()
  assembler.file({ fileId: 'f' }, { content_compatible: { thoughtSignature: 's2' } })
  const { items } = accumulateEvents(assembler.take())
  t.strictSame(items, [
    { type: 'text', text: 'a', citations: [], state: { content_compatible: { thoughtSignature: 's1' } } },
    { type: 'text', text: 'b', citations: [] },
    { type: 'refusal', text: 'no', state: { chat_compatible: { reasoningDetails: '[]' } } },
    {
      type: 'tool-call',
      id: 'c',
      name: 'f',
      arguments: '{}',
      state: { chat_compatible: { reasoningDetails: '1', extraContent: '2' } }
    },
    { type: 'file', file: { fileId: 'f' }, state: { content_compatible: { thoughtSignature: 's2' } } }
  ])
})

t.test('state without an open block belongs to the whole message', async t => {
  const assembler = open()
  assembler.text('a')
  assembler.closeBlock()
  assembler.blockState({ native: { messageId: 'm' } })
  const state = { native: { threadId: 't' } }
  assembler.finish({ reason: 'stop', providerReason: null, conversationId: 't', metadata: {}, state }, null)
  const response = accumulateEvents(assembler.take())
  t.strictSame(response.state, { native: { messageId: 'm', threadId: 't' } })
  t.equal(response.conversationId, 't')
})

t.test('redacted and signature-only reasoning are blocks without text', async t => {
  const assembler = open()
  assembler.reasoning('why')
  assembler.opaqueReasoning({ messages_compatible: { redacted: 'r' } })
  assembler.opaqueReasoning({ messages_compatible: { signature: 's' } })
  assembler.opaqueText({ content_compatible: { thoughtSignature: 'c' } })
  const { items } = accumulateEvents(assembler.take())
  t.strictSame(items, [
    { type: 'reasoning', text: 'why' },
    { type: 'reasoning', text: '', state: { messages_compatible: { redacted: 'r' } } },
    { type: 'reasoning', text: '', state: { messages_compatible: { signature: 's' } } },
    { type: 'text', text: '', citations: [], state: { content_compatible: { thoughtSignature: 'c' } } }
  ])
})

t.test('a citation needs text to point into', async t => {
  const assembler = open()
  const citation = { type: 'url-citation', startIndex: 0, endIndex: 0, url: 'u', title: 't' } as const
  assembler.citation(citation)
  assembler.text('a')
  assembler.citation(citation)
  assembler.closeBlock()
  assembler.citation(citation)
  t.same(types(assembler.take()), ['start', 'text-start', 'text-delta', 'citation', 'text-end'])
})

t.test('hosted runs overlap blocks, keep their index while open, and are closed by the end', async t => {
  const assembler = open()
  const first = assembler.startHostedTool({ kind: 'web_search', name: 'web_search' })
  t.equal(assembler.startHostedTool({ kind: 'web_search', name: 'web_search' }), first)
  assembler.text('a')
  assembler.hostedToolProgress(first, { status: 'searching' })
  assembler.endHostedTool(first, { status: 'failed' })
  assembler.hostedToolProgress(first, { status: 'searching' })
  assembler.endHostedTool(first, { status: 'completed' })
  t.equal(assembler.startHostedTool({ kind: 'web_search', name: 'web_search' }), 1)
  assembler.finish(stop, null)
  const events = assembler.take()
  t.same(checkGrammar(events), [])
  t.same(
    events.flatMap(event => (event.type === 'hosted-tool-end' ? [event.status] : [])),
    ['failed', 'completed']
  )
})

t.test('a hosted run and a file end the reasoning before them, and no other block (C4)', async t => {
  const assembler = open()
  assembler.reasoning('why')
  assembler.startHostedTool({ kind: 'web_search', name: 'web_search' })
  assembler.reasoning('so')
  assembler.file({ fileId: 'f' })
  assembler.text('a')
  assembler.file({ fileId: 'g' })
  t.same(types(assembler.take()), [
    'start',
    ...['reasoning-start', 'reasoning-delta', 'reasoning-end', 'hosted-tool-start'],
    ...['reasoning-start', 'reasoning-delta', 'reasoning-end', 'file'],
    ...['text-start', 'text-delta', 'file']
  ])
})

t.test('a second start, and everything after the end, is ignored', async t => {
  const assembler = open()
  assembler.start({ providerModel: 'other', metadata: {} })
  assembler.fail(new GatewayError('provider_failure'))
  assembler.text('late')
  assembler.toolCall({ id: 'x', name: 'f' }, '{}')
  assembler.startHostedTool({ kind: 'other', name: 'x' })
  assembler.file({ fileId: 'f' })
  assembler.finish(stop, null)
  assembler.fail(new GatewayError('provider_timeout'))
  t.same(types(assembler.take()), ['start', 'error'])
  t.equal(assembler.isTerminated, true)
  t.same(assembler.take(), [])
})

t.test('the usage comes directly before the end, and only when it is known', async t => {
  const assembler = open()
  const usage = {
    inputTokens: 1,
    cacheReadTokens: 0,
    cacheWriteTokens: null,
    outputTokens: 2,
    reasoningTokens: null,
    totalTokens: 3
  }
  assembler.text('a')
  assembler.finish(stop, usage)
  t.same(types(assembler.take()), ['start', 'text-start', 'text-delta', 'text-end', 'usage', 'finish'])
})

t.test('cost 9: a response beyond a bound ends with an error, and one within them does not', async t => {
  type Fill = (assembler: EventAssembler, index: number) => void
  const half = 'x'.repeat(RESPONSE_CHARACTERS_MAX / 2)
  const bounds: Record<string, [count: number, fill: Fill]> = {
    calls: [TOOL_CALLS_MAX, (assembler, index) => assembler.toolCall({ id: `c${index}`, name: 'f' }, '{}')],
    runs: [HOSTED_RUNS_MAX, (assembler, index) => assembler.startHostedTool({ kind: 'other', name: `t${index}` })],
    files: [FILES_MAX, (assembler, index) => assembler.file({ fileId: `f${index}` })],
    text: [1, assembler => assembler.text(half)],
    reasoning: [1, assembler => assembler.reasoning(half)],
    refusal: [1, assembler => assembler.refusal(half)],
    arguments: [1, assembler => assembler.toolCall({ id: 'c', name: 'f' }, half)],
    state: [1, assembler => assembler.opaqueText({ content_compatible: { thoughtSignature: half } })],
    'what is kept': [2, assembler => assembler.keep(half.length)]
  }
  for (const [name, [count, fill]] of Object.entries(bounds)) {
    const within = open()
    for (let index = 0; index < count; index++) fill(within, index)
    within.finish(stop, null)
    const events = within.take()
    t.equal(events.at(-1)?.type, 'finish', name)
    t.same(checkGrammar(events), [], name)
    const beyond = open()
    for (let index = 0; index <= count * 2; index++) fill(beyond, index)
    beyond.finish(stop, null)
    t.match(beyond.take().at(-1), { type: 'error', error: { code: 'provider_protocol_error' } }, name)
  }
})

t.test('cost 11: arguments that nest too deeply end the response, however they are cut', async t => {
  const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`
  for (const [text, last] of [
    [nested(JSON_DEPTH_MAX), 'finish'],
    [nested(JSON_DEPTH_MAX + 2), 'error'],
    [`{"a":"${'[{'.repeat(JSON_DEPTH_MAX)}\\"${'[{'.repeat(JSON_DEPTH_MAX)}"}`, 'finish']
  ] as const) {
    for (const length of [1, 7, text.length]) {
      const assembler = open()
      assembler.startToolCall({ id: 'c', name: 'f' })
      for (let at = 0; at < text.length; at += length) assembler.toolCallArguments(text.slice(at, at + length))
      assembler.finish(stop, null)
      t.equal(assembler.take().at(-1)?.type, last)
    }
  }
})
