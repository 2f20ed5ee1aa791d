// The cost of reading a response and of writing a request grows as fast as they do, for every list that a provider or a client can make
// long: one line each.

import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../../support/growth.ts'
import { readResponse } from '../../read-response.ts'
import {
  answer,
  call,
  delta,
  inputDelta,
  openReader,
  type Protocol,
  start,
  stop,
  stream,
  text,
  textDelta,
  write
} from './support.ts'

/** The smaller size, how often it is read to be measurable, and what a response of that size holds. */
type ListMaker = [size: number, times: number, make: (size: number) => object[]]

const repeat = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))
const openText = start(0, { type: 'text', text: '' })
const openThinking = start(0, { type: 'thinking', thinking: '', signature: '' })
const openCall = start(0, { type: 'tool_use', id: 'a', name: 'f', input: {} })

const frames: Record<string, ListMaker> = {
  'texts of one character': [2000, 1, size => [openText, ...repeat(size, () => textDelta(0, 'a'))]],
  'texts that differ in more than the text': [
    1000,
    1,
    size => [openText, ...repeat(size, index => ({ ...textDelta(0, 'a'), note: `r${index}` }))]
  ],
  'blocks of text': [500, 1, size => repeat(size, index => text(index, 'a')).flat()],
  'thinking in pieces': [
    2000,
    1,
    size => [openThinking, ...repeat(size, () => delta(0, { type: 'thinking_delta', thinking: 'a' }))]
  ],
  'signatures of one block': [
    1000,
    1,
    size => [openThinking, ...repeat(size, () => delta(0, { type: 'signature_delta', signature: 'a' }))]
  ],
  'redacted thinking': [
    500,
    1,
    size => repeat(size, index => [start(index, { type: 'redacted_thinking', data: 'a' }), stop(index)]).flat()
  ],
  calls: [100, 8, size => repeat(size, index => call(index, {}, '{}')).flat()],
  'calls with one id': [100, 8, size => repeat(size, index => call(index, { id: 'same' }, '{}')).flat()],
  'arguments in pieces': [
    4000,
    1,
    size => [openCall, inputDelta(0, '{"a":"'), ...repeat(size, () => inputDelta(0, 'x'))]
  ],
  'blocks that are ignored': [
    1000,
    1,
    size => repeat(size, index => [start(index, { type: `other_${index}` }), stop(index)]).flat()
  ],
  'citations of one text': [
    1000,
    1,
    size => [openText, ...repeat(size, () => delta(0, { type: 'citations_delta', citation: {} })), textDelta(0, 'a')]
  ],
  'events of unknown kinds': [1000, 1, size => repeat(size, index => ({ type: `other_${index}` }))]
}

function measure([size, times]: ListMaker, make: (size: number) => Buffer, isWhole: boolean): number {
  return measureGrowth(size, count => {
    const bytes = make(count)
    return () => {
      for (let time = 0; time < times; time++) readResponse(openReader(), bytes, isWhole)
    }
  })
}

for (const [name, maker] of Object.entries(frames)) {
  t.test(`cost 7: messages_compatible: ${name}`, async t => {
    const growth = measure(maker, size => stream(maker[2](size)), false)
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}

const contents: Record<string, ListMaker> = {
  'one long text': [35_000, 4, size => [{ type: 'text', text: 'word '.repeat(size) }]],
  'blocks of text': [500, 2, size => repeat(size, () => ({ type: 'text', text: 'a' }))],
  calls: [100, 8, size => repeat(size, index => ({ type: 'tool_use', id: `a${index}`, name: 'f', input: {} }))],
  'calls with large integers': [
    100,
    8,
    size =>
      repeat(size, index => ({ type: 'tool_use', id: `a${index}`, name: 'f', input: { n: 1234567890123456 * 100 } }))
  ],
  thinking: [300, 4, size => repeat(size, () => ({ type: 'thinking', thinking: 'a', signature: 's' }))]
}

for (const [name, maker] of Object.entries(contents)) {
  t.test(`cost 7: messages_compatible: whole responses: ${name}`, async t => {
    const growth = measure(maker, size => answer(maker[2](size)), true)
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}

const toolCall = (index: number, name = 'f') => ({
  id: `call_${index}`,
  type: 'function',
  function: { name, arguments: '{}' }
})

/** The smaller size, and a client's body of that size. */
const requests: Record<string, [size: number, protocol: Protocol, make: (size: number) => JsonObject]> = {
  'messages of one role': [
    1000,
    'completions',
    size => ({ messages: repeat(size, () => ({ role: 'user', content: 'a' })) })
  ],
  'messages in turn': [
    500,
    'completions',
    size => ({
      messages: repeat(size, () => [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' }
      ]).flat()
    })
  ],
  instructions: [1000, 'completions', size => ({ messages: repeat(size, () => ({ role: 'system', content: 'a' })) })],
  'parts of one message': [
    1000,
    'completions',
    size => ({ messages: [{ role: 'user', content: repeat(size, () => ({ type: 'text', text: 'a' })) }] })
  ],
  'pieces of one text': [1000, 'content', size => ({ contents: [{ parts: repeat(size, () => ({ text: 'a' })) }] })],
  'thoughts in pieces': [
    1000,
    'content',
    size => ({
      contents: [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [...repeat(size, () => ({ text: 'a', thought: true })), { text: 'b' }] },
        { role: 'user', parts: [{ text: 'a' }] }
      ]
    })
  ],
  'thinking at the end of a turn': [
    500,
    'messages',
    size => ({
      max_tokens: 5,
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'a' },
            ...repeat(size, () => ({ type: 'thinking', thinking: 'a', signature: 's' }))
          ]
        },
        { role: 'user', content: 'a' }
      ]
    })
  ],
  'calls in turn with results': [
    300,
    'completions',
    size => ({
      messages: repeat(size, index => [
        { role: 'assistant', tool_calls: [toolCall(index)] as never },
        { role: 'tool', tool_call_id: `call_${index}`, content: 'x' }
      ]).flat()
    })
  ],
  'calls and results of one id in turn': [
    300,
    'completions',
    size => ({
      messages: repeat(size, () => [
        { role: 'assistant', tool_calls: [toolCall(0)] as never },
        { role: 'tool', tool_call_id: 'call_0', content: 'x' }
      ]).flat()
    })
  ],
  'calls and results of one id': [
    300,
    'completions',
    size => ({
      messages: [
        { role: 'assistant', tool_calls: repeat(size, () => toolCall(0)) as never },
        ...repeat(size, () => ({ role: 'tool', tool_call_id: 'call_0', content: 'x' }))
      ]
    })
  ],
  'calls without results': [
    300,
    'completions',
    size => ({
      messages: [
        { role: 'assistant', tool_calls: repeat(size, toolCall) as never },
        { role: 'user', content: 'a' }
      ]
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
  'called functions without a declaration': [
    300,
    'completions',
    size => ({
      messages: [
        { role: 'assistant', tool_calls: repeat(size, index => toolCall(index, `f${index}`)) as never },
        ...repeat(size, index => ({ role: 'tool', tool_call_id: `call_${index}`, content: 'x' }))
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
  ]
}

for (const [name, [size, protocol, make]] of Object.entries(requests)) {
  t.test(`cost 2: messages_compatible: ${name}`, async t => {
    const growth = measureGrowth(size, count => {
      const body = make(count)
      return () => {
        for (let time = 0; time < 2; time++) JSON.stringify(write(protocol, body).body)
      }
    })
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}
