// State that a provider wants back travels through every client protocol that has a place for it
// (field-lessons.md C3).

import t from 'tap'
import { accumulateEvents, type JsonObject, type NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'
import { joinFrames } from '../../../../../worker/protocols/shared/stream/stream-frames.ts'
import { answer, type Protocol, readRequest, readWhole, write } from './support.ts'

const details = [
  { type: 'reasoning.text', text: 'hm', signature: 's', index: 0 },
  { type: 'reasoning.encrypted', data: 'x', index: 1 }
]
const extra = { google: { thought_signature: 'sig' } }
const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: extra }
const events = readWhole(answer({ content: 'yes', reasoning_details: details, tool_calls: [call] }, 'tool_calls'))

const hi = { messages: [{ role: 'user', content: 'hi' }] }
const bodies: Partial<Record<Protocol, JsonObject>> = {
  completions: hi,
  messages: { model: 'a', max_tokens: 5, ...hi },
  content: { contents: [{ parts: [{ text: 'hi' }] }] }
}

function contextOf(protocol: Protocol) {
  const request = readRequest(protocol, bodies[protocol] ?? {})
  return { requestId: 'r', createdAt: 1, model: 'alias', request }
}

function respond(protocol: Protocol): JsonObject {
  return clientFaces[protocol].writeResponse(accumulateEvents(events), contextOf(protocol))
}

const result = { role: 'tool', tool_call_id: 'a', content: 'r' }

t.test('completions: the members come back as they were sent', async t => {
  const { choices } = respond('completions') as { choices: Array<{ message: JsonObject }> }
  const message = choices[0]?.message ?? {}
  t.match(message, { reasoning_content: 'hm', reasoning_details: details, tool_calls: [{ extra_content: extra }] })
  const next = write('completions', { messages: [...hi.messages, message, result] }).body
  t.match(next.messages, [{}, { reasoning_details: details, tool_calls: [{ extra_content: extra }] }, { role: 'tool' }])
  t.notMatch(JSON.stringify(next), 'reasoning_content')
})

t.test('completions: a stream has the same members', async t => {
  const text = joinFrames(clientFaces.completions.createStreamWriter(contextOf('completions')).write(events))
  const deltas = text
    .split('\n\n')
    .filter(frame => frame.startsWith('data: {'))
    .map(frame => (JSON.parse(frame.slice(6)) as { choices: Array<{ delta: JsonObject }> }).choices[0]?.delta)
  t.same(
    deltas.flatMap(delta => delta?.reasoning_details ?? []),
    details
  )
  t.match(
    deltas.flatMap(delta => delta?.tool_calls ?? []),
    [{ index: 0, id: 'a', extra_content: extra }]
  )
})

t.test('messages: the signature of the thinking carries it', async t => {
  const { content } = respond('messages')
  const results = [{ type: 'tool_result', tool_use_id: 'a', content: 'r' }]
  const next = write('messages', {
    model: 'a',
    max_tokens: 5,
    messages: [...hi.messages, { role: 'assistant', content: content ?? null }, { role: 'user', content: results }]
  }).body
  t.match(next.messages, [{}, { reasoning_details: details }, { role: 'tool' }])
})

t.test('content: the thought signature of a call carries it', async t => {
  const { candidates } = respond('content') as { candidates: Array<{ content: JsonObject }> }
  const next = write('content', {
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      candidates[0]?.content ?? {},
      { role: 'user', parts: [{ functionResponse: { name: 'f', id: 'a', response: { r: 1 } } }] }
    ]
  }).body
  t.match(next.messages, [{}, { tool_calls: [{ extra_content: extra }] }, { role: 'tool' }])
})

t.test('state that came late belongs to its call', async t => {
  const late: NormalizedEvent[] = [
    { type: 'start', providerModel: null, metadata: {} },
    { type: 'tool-call-start', index: 0, id: 'a', name: 'f' },
    { type: 'tool-call-delta', index: 0, arguments: '{}' },
    { type: 'tool-call-end', index: 0, state: { chat_compatible: { extraContent: JSON.stringify(extra) } } },
    { type: 'finish', reason: 'tool-calls', providerReason: null, metadata: {} }
  ]
  const text = clientFaces.completions.createStreamWriter(contextOf('completions')).write(late)
  t.match(text, `"tool_calls":[{"index":0,"extra_content":${JSON.stringify(extra)},"function":{"arguments":""}}]`)
})
