import t from 'tap'
import { createStopSequenceFilter, GatewayError, type NormalizedEvent } from '../../../worker/normalized/index.ts'
import { checkGrammar } from './grammar.ts'

const start: NormalizedEvent = { type: 'start', providerModel: null, metadata: {} }
const finish: NormalizedEvent = { type: 'finish', reason: 'length', providerReason: 'length', metadata: { a: '1' } }

function textEvents(...pieces: string[]): NormalizedEvent[] {
  const deltas = pieces.map(text => ({ type: 'text-delta', text }) as const)
  return [{ type: 'text-start' }, ...deltas, { type: 'text-end' }]
}

function filter(stops: string[], events: NormalizedEvent[]): { events: NormalizedEvent[]; match: string | undefined } {
  const stopFilter = createStopSequenceFilter(stops)
  const passed = events.flatMap(event => stopFilter.push([event]))
  return { events: passed, match: stopFilter.match }
}

function readText(events: readonly NormalizedEvent[]): string {
  return events.map(event => (event.type === 'text-delta' ? event.text : '')).join('')
}

t.test('the text is cut before the stop string and the end says so', async t => {
  const { events, match } = filter(['END'], [start, ...textEvents('abENDcd'), finish])
  t.equal(readText(events), 'ab')
  t.equal(match, 'END')
  t.match(events.at(-1), { type: 'finish', reason: 'stop', stopSequence: 'END', metadata: { a: '1' } })
  t.same(checkGrammar(events), [])
})

t.test('a stop string that is split over pieces is never shown', async t => {
  const { events } = filter(['lo'], [start, ...textEvents('Hel', 'l', 'o', ' you'), finish])
  t.equal(readText(events), 'Hel')
})

t.test('text that only looked like a beginning is passed on', async t => {
  const { events, match } = filter(['END'], [start, ...textEvents('aEN', 'Xb', 'E'), finish])
  t.equal(readText(events), 'aENXbE')
  t.equal(match, undefined)
  t.match(events.at(-1), { type: 'finish', reason: 'length' })
})

t.test('of two stop strings the one that is complete first counts', async t => {
  const whole = filter(['abcd', 'bc'], [start, ...textEvents('xabcd'), finish])
  const pieces = filter(['abcd', 'bc'], [start, ...textEvents('x', 'a', 'b', 'c', 'd'), finish])
  t.equal(whole.match, 'bc')
  t.equal(readText(whole.events), 'xa')
  t.same([pieces.match, readText(pieces.events)], [whole.match, readText(whole.events)])
})

t.test('a response that begins with the stop string has no text block', async t => {
  const { events } = filter(['a'], [start, ...textEvents('abc'), finish])
  t.same(
    events.map(event => event.type),
    ['start', 'finish']
  )
})

t.test('reasoning and arguments of calls are not searched', async t => {
  const { events, match } = filter(
    ['END'],
    [
      start,
      { type: 'reasoning-start' },
      { type: 'reasoning-delta', text: 'END' },
      { type: 'reasoning-end' },
      { type: 'tool-call-start', index: 0, id: 'c', name: 'f' },
      { type: 'tool-call-delta', index: 0, arguments: '{"a":"END"}' },
      { type: 'tool-call-end', index: 0 },
      finish
    ]
  )
  t.equal(match, undefined)
  t.equal(events.length, 8)
})

t.test('after the cut only the usage and the end come', async t => {
  const usage = {
    inputTokens: 1,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: 1,
    reasoningTokens: null,
    totalTokens: 2
  }
  const { events } = filter(
    ['END'],
    [
      start,
      ...textEvents('aEND'),
      { type: 'tool-call-start', index: 0, id: 'c', name: 'f' },
      { type: 'tool-call-end', index: 0 },
      { type: 'file', file: { fileId: 'f' } },
      { type: 'hosted-tool-start', index: 0, kind: 'other', name: 'x' },
      { type: 'hosted-tool-end', index: 0, status: 'completed', sources: [] },
      { type: 'usage', usage },
      finish
    ]
  )
  t.same(
    events.map(event => event.type),
    ['start', 'text-start', 'text-delta', 'text-end', 'usage', 'finish']
  )
})

t.test('a hosted run that was under way at the cut still ends', async t => {
  const run: NormalizedEvent = { type: 'hosted-tool-start', index: 0, kind: 'web_search', name: 'web_search' }
  const ended = filter(
    ['END'],
    [start, run, ...textEvents('aEND'), { type: 'hosted-tool-end', index: 0, status: 'failed', sources: [] }, finish]
  )
  t.match(ended.events.at(-2), { type: 'hosted-tool-end', status: 'failed' })
  const stopFilter = createStopSequenceFilter(['END'])
  const events = [...stopFilter.push([start, run, ...textEvents('aEND')]), ...stopFilter.finish()]
  t.same(checkGrammar(events), [])
})

t.test('a failure after the cut does not change the response', async t => {
  const error: NormalizedEvent = { type: 'error', error: new GatewayError('provider_failure') }
  const { events } = filter(['END'], [start, ...textEvents('aEND'), error])
  t.match(events.at(-1), { type: 'finish', stopSequence: 'END' })
  t.equal(filter(['END'], [start, ...textEvents('a'), error]).events.at(-1), error)
})

t.test('a filter ends a response only when it cut it, and only once', async t => {
  const uncut = createStopSequenceFilter(['END'])
  uncut.push([start, ...textEvents('a')])
  t.same(uncut.finish(), [])
  const cut = createStopSequenceFilter(['END'])
  cut.push([start, ...textEvents('aEND')])
  t.equal(cut.finish().length, 1)
  t.same(cut.finish(), [])
  t.same(cut.push([finish]), [])
})

t.test('a citation waits for the text that it points into, and falls with it', async t => {
  const citation = (endIndex: number): NormalizedEvent => ({
    type: 'citation',
    citation: { type: 'url-citation', startIndex: endIndex, endIndex, url: 'u', title: 't' }
  })
  const text = (piece: string): NormalizedEvent => ({ type: 'text-delta', text: piece })
  const events: NormalizedEvent[] = [
    start,
    { type: 'text-start' },
    text('EN'),
    citation(2),
    text('X'),
    text('abE'),
    citation(6),
    text('ND'),
    { type: 'text-end' },
    finish
  ]
  const { events: passed } = filter(['END'], events)
  t.equal(readText(passed), 'ENXab')
  t.same(
    passed.flatMap(event => (event.type === 'citation' ? [event.citation.endIndex] : [])),
    [2]
  )
  t.same(checkGrammar(passed), [])
})
