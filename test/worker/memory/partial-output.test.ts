import t from 'tap'
import { PartialOutput } from '../../../worker/memory/partial-output.ts'
import type { JsonObject } from '../../../worker/normalized/index.ts'

function collect(events: JsonObject[], status: 'in_progress' | 'incomplete' = 'incomplete'): JsonObject[] {
  const output = new PartialOutput()
  for (const event of events) output.add(event)
  return output.read(status)
}

t.test('items are those of the stream so far, and one that has not ended says so (memory.md 2)', t => {
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
  const message = { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] }
  const reasoning = { id: 'rs_1', type: 'reasoning', summary: [] }
  const events: JsonObject[] = [
    { type: 'response.output_item.added', output_index: 0, item: reasoning },
    {
      type: 'response.reasoning_summary_part.added',
      output_index: 0,
      summary_index: 0,
      part: { type: 'summary_text', text: '' }
    },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'why' },
    { type: 'response.output_item.added', output_index: 1, item: message },
    { type: 'response.content_part.added', output_index: 1, content_index: 0, part },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hel' },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'lo' },
    {
      type: 'response.output_text.annotation.added',
      output_index: 1,
      content_index: 0,
      annotation: { type: 'url_citation' }
    }
  ]
  t.same(collect(events), [
    { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'why' }] },
    {
      ...message,
      status: 'incomplete',
      content: [{ ...part, text: 'Hello', annotations: [{ type: 'url_citation' }] }]
    }
  ])
  t.match(collect(events, 'in_progress')[1], { status: 'in_progress' })
  const done = { ...message, status: 'completed', content: [{ ...part, text: 'Hello!' }] }
  const ended = [...events, { type: 'response.output_item.done', output_index: 1, item: done }]
  t.same(collect(ended)[1], done)
  t.same(message.content, [], 'events are not changed')
  t.end()
})

t.test('calls grow by their arguments', t => {
  const call = { id: 'fc_1', type: 'function_call', status: 'in_progress', call_id: 'c', name: 'f', arguments: '' }
  t.match(
    collect([
      { type: 'response.output_item.added', output_index: 0, item: call },
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"a"' },
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: ':1' }
    ]),
    [{ status: 'incomplete', arguments: '{"a":1' }]
  )
  t.end()
})

t.test('events of a provider that belong to nothing change nothing', t => {
  t.same(
    collect([
      { type: 'response.output_text.delta', output_index: 4, delta: 'a' },
      { type: 'response.output_item.added', output_index: 0, item: null },
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', content: 'text' } },
      { type: 'response.content_part.added', output_index: 0, content_index: 7, part: { type: 'output_text' } },
      { type: 'response.output_text.delta', output_index: 0, content_index: 3, delta: 'a' },
      { type: 'response.output_text.delta', output_index: 0, delta: 1 },
      { type: 'response.odd', output_index: 0 },
      { type: 1 }
    ]),
    [{ type: 'message', content: 'text' }]
  )
  t.end()
})
