// The cost of reading a response and of writing a request grows as fast as they do, for every list that a provider or a client can make
// long: one line each.

import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../../support/growth.ts'
import { readResponse } from '../../read-response.ts'
import { answer, chunk, openReader, type Protocol, write, writeFrames } from './support.ts'

/** The smaller size, how often it is read to be measurable, and the deltas of a response of that size. */
type ListMaker = [size: number, times: number, make: (size: number) => object[]]

const repeat = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))
const call = (index: number, text = '{}', more: object = {}) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name: 'f', arguments: text },
  ...more
})

const deltas: Record<string, ListMaker> = {
  'texts of one character': [2000, 1, size => repeat(size, () => ({ content: 'a' }))],
  'texts that differ in more than the text': [
    1000,
    1,
    size => repeat(size, index => ({ content: 'a', role: `r${index}` }))
  ],
  'reasoning in pieces': [2000, 1, size => repeat(size, () => ({ reasoning_content: 'a' }))],
  'texts in turn with reasoning': [
    500,
    1,
    size => repeat(size, () => [{ content: 'a' }, { reasoning_content: 'b' }]).flat()
  ],
  'a thought in pieces': [2000, 1, size => [{ content: '<think>' }, ...repeat(size, () => ({ content: 'a<' }))]],
  'a thought full of tags': [5000, 2, size => [{ content: `<think>${'</thin<'.repeat(size)}` }]],
  'a text full of tags': [5000, 2, size => [{ content: 'x<think>'.repeat(size) }]],
  'refusals in pieces': [2000, 1, size => repeat(size, () => ({ refusal: 'a' }))],
  'details that continue': [
    1000,
    1,
    size => repeat(size, () => ({ reasoning_details: [{ type: 'reasoning.text', text: 'a', index: 0 }] }))
  ],
  'details of their own': [
    1000,
    1,
    size => repeat(size, index => ({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'a', index }] }))
  ],
  calls: [100, 8, size => repeat(size, index => ({ tool_calls: [call(index)] }))],
  'calls that wait for each other': [
    100,
    8,
    size => [
      ...repeat(size, index => ({ tool_calls: [call(index, '{')] })),
      ...repeat(size, index => ({ tool_calls: [{ index, function: { arguments: '}' } }] }))
    ]
  ],
  'calls of one index': [100, 8, size => repeat(size, index => ({ tool_calls: [call(index, '{}', { index: 0 })] }))],
  'calls without an id': [100, 8, size => repeat(size, index => ({ tool_calls: [call(index, '{}', { id: '' })] }))],
  'calls with one id': [100, 8, size => repeat(size, index => ({ tool_calls: [call(index, '{}', { id: 'same' })] }))],
  'calls with signatures': [
    100,
    8,
    size => repeat(size, index => ({ tool_calls: [call(index, '{}', { extra_content: { s: `${index}` } })] }))
  ],
  'arguments in pieces': [
    4000,
    1,
    size =>
      repeat(size, index => ({
        tool_calls: [index === 0 ? call(0, '{"a":"') : { index: 0, function: { arguments: 'xx' } }]
      }))
  ],
  'text behind an open call': [
    1000,
    1,
    size => [{ tool_calls: [call(0, '{')] }, ...repeat(size, () => ({ content: 'a' }))]
  ]
}

const end = chunk({}, 'stop')

function measure([size, times]: ListMaker, make: (size: number) => Buffer, isWhole: boolean): number {
  return measureGrowth(size, count => {
    const bytes = make(count)
    return () => {
      for (let time = 0; time < times; time++) readResponse(openReader(), bytes, isWhole)
    }
  })
}

for (const [name, maker] of Object.entries(deltas)) {
  t.test(`cost 7: chat_compatible: ${name}`, async t => {
    const frames = (size: number) => writeFrames([...maker[2](size).map(delta => chunk(delta)), end])
    const growth = measure(maker, frames, false)
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}

const messages: Record<string, ListMaker> = {
  'one long text': [35_000, 4, size => [{ content: 'word '.repeat(size) }]],
  'a long thought': [35_000, 4, size => [{ content: `<think>${'a <b'.repeat(size)}` }]],
  calls: [100, 8, size => [{ content: null, tool_calls: repeat(size, index => call(index)) }]],
  details: [
    1000,
    2,
    size => [{ content: 'a', reasoning_details: repeat(size, index => ({ type: 'reasoning.text', text: 'a', index })) }]
  ]
}

for (const [name, maker] of Object.entries(messages)) {
  t.test(`cost 7: chat_compatible: whole responses: ${name}`, async t => {
    const growth = measure(maker, size => answer(maker[2](size)[0] ?? {}), true)
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}

/** The smaller size, and a client's body of that size. */
const requests: Record<string, [size: number, protocol: Protocol, make: (size: number) => JsonObject]> = {
  messages: [1000, 'completions', size => ({ messages: repeat(size, () => ({ role: 'user', content: 'a' })) })],
  'parts of one message': [
    1000,
    'completions',
    size => ({ messages: [{ role: 'user', content: repeat(size, () => ({ type: 'text', text: 'a' })) }] })
  ],
  'pieces of one text': [1000, 'content', size => ({ contents: [{ parts: repeat(size, () => ({ text: 'a' })) }] })],
  'calls in turn with results': [
    300,
    'completions',
    size => ({
      messages: repeat(size, index => [
        { role: 'assistant', tool_calls: [call(index)] as never },
        { role: 'tool', tool_call_id: `call_${index}`, content: 'x' }
      ]).flat()
    })
  ],
  'calls as items of their own': [
    300,
    'responses',
    size => ({
      input: [
        ...repeat(size, index => ({ type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '{}' })),
        ...repeat(size, index => ({ type: 'function_call_output', call_id: `c${index}`, output: 'x' }))
      ]
    })
  ],
  'calls and results of one id': [
    300,
    'completions',
    size => ({
      messages: [
        { role: 'assistant', tool_calls: repeat(size, () => call(0)) as never },
        ...repeat(size, () => ({ role: 'tool', tool_call_id: 'call_0', content: 'x' }))
      ]
    })
  ],
  'calls and results without ids': [
    300,
    'content',
    size => ({
      contents: [
        { role: 'user', parts: [{ text: 'go' }] },
        { role: 'model', parts: repeat(size, () => ({ functionCall: { name: 'f', args: {} } })) },
        { role: 'user', parts: repeat(size, () => ({ functionResponse: { name: 'f', response: {} } })) }
      ]
    })
  ],
  tools: [
    300,
    'completions',
    size => ({
      messages: [{ role: 'user', content: 'a' }],
      tools: repeat(size, index => ({ type: 'function', function: { name: `f${index}` } }))
    })
  ],
  'tools whose names are replaced': [
    300,
    'completions',
    size => ({
      messages: [{ role: 'user', content: 'a' }],
      tools: repeat(size, index => ({ type: 'function', function: { name: `${'f'.repeat(70)}${index}` } }))
    })
  ]
}

for (const [name, [size, protocol, make]] of Object.entries(requests)) {
  t.test(`cost 2: chat_compatible: ${name}`, async t => {
    const growth = measureGrowth(size, count => {
      const body = make(count)
      return () => {
        for (let time = 0; time < 2; time++) JSON.stringify(write(protocol, body).body)
      }
    })
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}
