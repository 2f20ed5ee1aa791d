import t from 'tap'
import type { NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import { TOOL_CALLS_MAX } from '../../../../../worker/normalized/index.ts'
import { answer, chunk, findCause, openReader, readStream, readWhole, type Setup, writeFrames } from './support.ts'

const stream = (frames: ReadonlyArray<object | string>, setup?: Setup) => readStream([writeFrames(frames)], setup)
const causeOf = (frames: ReadonlyArray<object | string>) => findCause(stream(frames))

/** The names of the anomalies that a response reports, with their details. */
function anomaliesOf(read: (setup: Setup) => NormalizedEvent[], reading: Setup['reading'] = {}) {
  const reported: unknown[] = []
  read({ reading, onAnomaly: (name, details) => reported.push([name, details]) })
  return reported
}

function finishOf(events: readonly NormalizedEvent[]) {
  const last = events.at(-1)
  return last?.type === 'finish' ? { reason: last.reason, word: last.providerReason, filter: last.filter } : last
}

t.test('every finish reason has its meaning', async t => {
  const reasons = {
    STOP: 'stop',
    MAX_TOKENS: 'length',
    SAFETY: 'content-filter',
    RECITATION: 'content-filter',
    LANGUAGE: 'content-filter',
    BLOCKLIST: 'content-filter',
    PROHIBITED_CONTENT: 'content-filter',
    SPII: 'content-filter',
    MODEL_ARMOR: 'content-filter',
    JAILBREAK: 'content-filter',
    IMAGE_SAFETY: 'content-filter',
    OTHER: 'stop',
    NO_IMAGE: 'stop',
    MALFORMED_FUNCTION_CALL: 'stop',
    UNEXPECTED_TOOL_CALL: 'stop',
    TIRED: 'stop'
  }
  for (const [word, reason] of Object.entries(reasons)) {
    const finish = finishOf(readWhole(answer([{ text: 'a' }], word)))
    t.strictSame(finish, { reason, word, filter: word === 'BLOCKLIST' ? 'blocklist' : undefined }, word)
  }
})

t.test('a response with calls ends for them, unless it was cut (A6)', async t => {
  const parts = [{ functionCall: { name: 'f', args: {} } }]
  t.match(finishOf(readWhole(answer(parts))), { reason: 'tool-calls', word: 'STOP' })
  t.match(finishOf(readWhole(answer(parts, 'OTHER'))), { reason: 'tool-calls' })
  t.match(finishOf(readWhole(answer(parts, 'MAX_TOKENS'))), { reason: 'length' })
  t.match(finishOf(readWhole(answer(parts, 'SAFETY'))), { reason: 'content-filter' })
})

t.test('what the model could not write is an error where there is nothing else', async t => {
  for (const word of ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'MALFORMED_RESPONSE', 'TOO_MANY_TOOL_CALLS']) {
    t.match(readWhole(answer(undefined, word)), [{ error: { code: 'upstream_generation_error', status: 500 } }], word)
    t.match(stream([chunk(undefined, word)]).at(-1), { error: { code: 'upstream_generation_error' } }, word)
  }
  const unreadable = [
    [{ text: '', thoughtSignature: 'QUJD' }],
    [{ thoughtSignature: 'QUJD' }],
    [{ text: 'hm', thought: true }],
    [{ text: ' \n' }],
    [{ functionCall: { name: 'f', args: {} } }]
  ]
  for (const parts of unreadable) {
    const word = 'MALFORMED_FUNCTION_CALL'
    const failure = { error: { code: 'upstream_generation_error' } }
    t.match(readWhole(answer(parts, word)).at(-1), failure, JSON.stringify(parts))
    t.match(stream([chunk(parts), chunk(undefined, word)]).at(-1), failure, JSON.stringify(parts))
  }
  const reported = anomaliesOf(setup => readWhole(answer([{ text: 'a' }], 'MALFORMED_FUNCTION_CALL'), setup))
  t.strictSame(reported, [['failed_finish_reason', {}]])
})

t.test('a refused prompt is a filtered response without content', async t => {
  for (const blockReason of ['SAFETY', 'OTHER', 'PROHIBITED_CONTENT', 'IMAGE_SAFETY', 'NEW_WORD']) {
    const events = readWhole(Buffer.from(JSON.stringify({ promptFeedback: { blockReason } })))
    t.strictSame(finishOf(events), { reason: 'content-filter', word: blockReason, filter: undefined })
    t.equal(events.length, 2, 'start and finish')
  }
  const unknownEnd = { ...chunk(undefined, 'NEW_END'), promptFeedback: { blockReason: 'MODEL_ARMOR' } }
  t.match(finishOf(readWhole(Buffer.from(JSON.stringify(unknownEnd)))), { reason: 'content-filter' })
  const feedback = { promptFeedback: { safetyRatings: [], blockReason: 'BLOCK_REASON_UNSPECIFIED' } }
  t.match(finishOf(stream([feedback, chunk([{ text: 'a' }], 'STOP')])), { reason: 'stop' })
  t.equal(causeOf([feedback]), 'incomplete_stream')
})

t.test('oddities that are no failure are reported once, by a fixed name', async t => {
  const frames = [
    chunk([{ executableCode: { code: '1' } }, { toolCall: {} }, { text: 'a' }]),
    { candidates: [{ index: 1 }, { index: 2 }] },
    chunk([{ inlineData: { mimeType: 'image/png', data: 'aGk=' }, thought: true }], 'TIRED')
  ]
  t.strictSame(
    anomaliesOf(setup => stream(frames, setup), { droppedToolCalls: 2 }),
    [
      ['abandoned_tool_calls_dropped', { count: 2 }],
      ['part_ignored', {}],
      ['further_candidates_dropped', {}],
      ['unknown_finish_reason', {}]
    ]
  )
  t.strictSame(
    anomaliesOf(setup => readWhole(Buffer.from(JSON.stringify(chunk([{ text: 'a' }]))), setup)),
    [['finish_reason_missing', {}]]
  )
  t.strictSame(
    anomaliesOf(setup => stream([chunk([{ text: 'a' }, {}, { thought: true }], 'STOP')], setup)),
    []
  )
})

t.test('a finish reason without a value says nothing (A10)', async t => {
  for (const none of ['', null, 'FINISH_REASON_UNSPECIFIED']) {
    t.match(finishOf(stream([chunk([{ text: 'a' }], none), chunk(undefined, 'MAX_TOKENS')])), { reason: 'length' })
    t.equal(causeOf([chunk([{ text: 'a' }], none)]), 'incomplete_stream')
  }
})

t.test('counts of later chunks replace those of earlier ones', async t => {
  const usageOf = (...counts: object[]) => {
    const frames = counts.map(usageMetadata => ({ usageMetadata }))
    return stream([...frames, chunk(undefined, 'STOP')]).find(event => event.type === 'usage')?.usage
  }
  const usage = {
    inputTokens: 10,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: 5,
    reasoningTokens: null,
    totalTokens: 15
  }
  t.strictSame(
    usageOf(
      { promptTokenCount: 10, totalTokenCount: 10 },
      { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
    ),
    usage
  )
  t.strictSame(
    usageOf({ promptTokenCount: 10, candidatesTokenCount: 5 }),
    usage,
    'the total is the sum where there is none'
  )
  t.match(usageOf({ promptTokenCount: 7, toolUsePromptTokenCount: 3, candidatesTokenCount: 5 }), usage)
  t.match(
    usageOf({ promptTokenCount: 10, candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 15 }),
    { outputTokens: 5, reasoningTokens: 2 },
    'thoughts are counted beside the candidates'
  )
  t.match(
    usageOf({ promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 2, totalTokenCount: 15 }),
    { outputTokens: 5, reasoningTokens: 2 },
    'or among them (D3)'
  )
  t.match(
    usageOf({ promptTokenCount: 10, thoughtsTokenCount: 5, totalTokenCount: 15 }),
    { outputTokens: 5, reasoningTokens: 5 },
    'counts of zero are left out'
  )
  t.match(usageOf({ promptTokenCount: 10, totalTokenCount: 10 }), { outputTokens: 0 })
  t.match(usageOf({ promptTokenCount: 10 }), { outputTokens: null, totalTokens: null })
  t.match(
    usageOf({ promptTokenCount: 10, cachedContentTokenCount: 12 }),
    { cacheReadTokens: 10 },
    'a part is at most its whole (D3)'
  )
  t.equal(usageOf({ serviceTier: 'standard' }), undefined)
  t.equal(usageOf(), undefined)
})

t.test('shapes that a client could misread end the response, each with its id', async t => {
  const cases: Array<[string, object | string]> = [
    ['invalid_stream_json', '{"candidates":['],
    ['invalid_stream_chunk', '"text"'],
    ['invalid_stream_chunk', 'null'],
    ['invalid_stream_chunk', '[[]]'],
    ['invalid_stream_chunk', `{"a":${'['.repeat(1200)}${']'.repeat(1200)}}`],
    ['invalid_candidates', { candidates: {} }],
    ['invalid_candidate', { candidates: ['a'] }],
    ['invalid_content', { candidates: [{ content: 'a' }] }],
    ['invalid_parts', chunk('a')],
    ['invalid_part', chunk(['a'])],
    ['invalid_part', chunk([{ inlineData: { mimeType: 'image/png' } }])],
    ['invalid_finish_reason', chunk([], 3)],
    ['invalid_tool_call', chunk([{ functionCall: 'f' }])],
    ['invalid_tool_call', chunk([{ functionCall: { args: {} } }])],
    ['invalid_tool_call', chunk([{ functionCall: { name: '', args: {} } }])],
    ['invalid_usage', { usageMetadata: 3 }]
  ]
  for (const [id, frame] of cases) t.equal(causeOf([frame, chunk([{ text: 'a' }], 'STOP')]), id, JSON.stringify(frame))
  t.equal(causeOf([{ usageMetadata: { promptTokenCount: -1 } }, chunk([], 'STOP')]), 'invalid_usage')
  t.equal(causeOf([]), 'incomplete_stream')
  t.equal(causeOf(['']), 'incomplete_stream')
})

t.test('bridge 86: a whole body that cannot be used is refused with its id', async t => {
  const causeOfBody = (text: string) => findCause(readWhole(Buffer.from(text)))
  t.equal(causeOfBody('<html>'), 'invalid_json_response')
  t.equal(causeOfBody('[]'), 'invalid_json_response')
  t.equal(causeOfBody('[{},{}]'), 'invalid_json_response')
  t.equal(causeOfBody('{}'), 'invalid_finish_reason')
  t.equal(causeOfBody('{"candidates":[{}]}'), 'invalid_finish_reason')
  t.equal(causeOfBody(`{"a":${'['.repeat(1200)}${']'.repeat(1200)}}`), 'invalid_json_response')
})

t.test('an error in a response with status 200 keeps its meaning (A16)', async t => {
  const error = { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED' }
  const expected = [{ error: { code: 'rate_limited', status: 429, message: 'Slow down.' } }]
  t.match(readWhole(Buffer.from(JSON.stringify({ error }))), expected)
  t.match(readWhole(Buffer.from(JSON.stringify([{ error }]))), expected)
  t.match(stream([{ error }]), expected)
  t.match(stream([`[${JSON.stringify({ error })}]`]), expected)
  t.match(stream([{ error: { status: 'UNAVAILABLE' } }]), [{ error: { code: 'provider_failure', status: 503 } }])
})

t.test('an error that is no event is read as soon as its object ends', async t => {
  const reader = openReader()
  reader.push(writeFrames([chunk([{ text: 'a' }])]))
  const error = { error: { code: 500, message: '}', details: [{ list: [['x'], ['y']] }], status: 'INTERNAL' } }
  const text = JSON.stringify(error, null, 2).replaceAll('\n', '\r\n')
  t.strictSame(reader.push(Buffer.from(text.slice(0, -2))), [])
  t.match(reader.push(Buffer.from(`${text.slice(-2)}\n`)), [{ type: 'error', error: { status: 500 } }])
  t.strictSame(reader.end(), [])
})

t.test('other lines say nothing, and plain JSON may be as long as a response', async t => {
  const lines = Buffer.from('hello\nretry: 5\n{"unfinished": [\n')
  t.match(readStream([lines, writeFrames([chunk([{ text: 'a' }], 'STOP')])]).at(-1), { type: 'finish' })
  const line = `"${'x'.repeat(1_000_000)}",\n`
  const endless = [Buffer.from('{"error": [\n'), ...Array.from({ length: 51 }, () => Buffer.from(line))]
  t.equal(findCause(readStream(endless)), 'incomplete_stream')
})

t.test('an event with a picture may be as long as a response, and one of text as long as the texts of one', async t => {
  const large = (length: number) => [chunk([{ text: 'x'.repeat(length) }]), chunk(undefined, 'STOP')]
  // A generated picture is one event of the wire; the bytes of the whole stream are bounded in front of the reader (bridge.md 8.3).
  const picture = { inlineData: { mimeType: 'image/png', data: 'a'.repeat(60_000_000) } }
  t.equal(causeOf([chunk([picture]), chunk(undefined, 'STOP')]), undefined)
  t.match(causeOf(large(2_000_000)), /too many characters/)
  t.equal(causeOf(large(1_000_000)), undefined)
})

t.test('files and calls without end are bounded', async t => {
  const calls = Array.from({ length: TOOL_CALLS_MAX + 1 }, () => ({ functionCall: { name: 'f' } }))
  t.match(causeOf([chunk(calls, 'STOP')]), /too many tool calls/)
  t.match(causeOf(Array.from({ length: 300 }, () => chunk([{ inlineData: { data: 'aGk=' } }]))), /too many files/)
})

t.test('bridge 90: parallel calls have their own ids and the names of the client', async t => {
  const toolNames = new Map([['ns__fn', { name: 'fn', namespace: 'ns' }]])
  const parts = [
    { functionCall: { id: 'same', name: 'ns__fn', args: { a: 1 } } },
    { functionCall: { id: 'same', name: 'f' } },
    { functionCall: { id: 'an id: 3', name: 'f' } }
  ]
  const starts = stream([chunk(parts, 'STOP')], { reading: { toolNames } }).filter(
    event => event.type === 'tool-call-start'
  )
  t.match(starts, [
    { id: 'same', name: 'fn', namespace: 'ns' },
    { id: /^call_gw_/, name: 'f' },
    { id: /^[\w-]{1,40}$/ }
  ])
  t.equal(new Set(starts.map(({ id }) => id)).size, 3)
})

t.test('a signature covers the text before it: later text begins another block', async t => {
  const parts = [
    { text: 'a' },
    { text: 'b', thoughtSignature: 's1' },
    { text: 'c' },
    { text: '', thoughtSignature: 's2' }
  ]
  t.match(
    stream([chunk(parts, 'STOP')]).filter(event => event.type === 'text-end'),
    [
      { state: { content_compatible: { thoughtSignature: 's1' } } },
      { state: { content_compatible: { thoughtSignature: 's2' } } }
    ]
  )
  const alone = stream([chunk([{ thoughtSignature: 's' }, { text: '', thought: true, thoughtSignature: 'r' }], 'STOP')])
  t.strictSame(alone.slice(1, -1), [
    { type: 'text-start' },
    { type: 'text-end', state: { content_compatible: { thoughtSignature: 's' } } },
    { type: 'reasoning-start' },
    { type: 'reasoning-end', state: { content_compatible: { thoughtSignature: 'r' } } }
  ])
})

t.test('the provider names the response and the model', async t => {
  const head = (more: object) => readWhole(answer([{ text: 'a' }], 'STOP', more))[0]
  t.strictSame(head({ modelVersion: 'models/x', responseId: 'a-_1' }), {
    type: 'start',
    providerModel: 'x',
    metadata: {},
    identity: { id: 'a-_1' }
  })
  t.strictSame(head({ modelVersion: 3, responseId: 'a b' }), { type: 'start', providerModel: null, metadata: {} })
})

t.test('a reader that has ended takes nothing more', async t => {
  const reader = openReader()
  reader.push(writeFrames([{ error: { code: 500 } }]))
  t.strictSame(reader.push(writeFrames([chunk([{ text: 'a' }], 'STOP')])), [])
  t.strictSame(reader.push(Buffer.from('{"error":{}}\n')), [])
  t.strictSame(reader.end(), [])
})

t.test('of a response that is passed on, its end is the provider’s to say', async t => {
  const setup = { reading: { isPassed: true } } as const
  t.match(finishOf(readWhole(answer(undefined, 'MALFORMED_FUNCTION_CALL'), setup)), { word: 'MALFORMED_FUNCTION_CALL' })
  t.match(finishOf(stream([chunk(undefined, 'UNEXPECTED_TOOL_CALL')], setup)), { word: 'UNEXPECTED_TOOL_CALL' })
})
