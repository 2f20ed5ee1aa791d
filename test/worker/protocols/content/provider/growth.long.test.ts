// The cost of reading a response and of writing a request grows as fast as they do, for every list that a provider or a client can make
// long: one line each.

import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../../support/growth.ts'
import { readResponse } from '../../read-response.ts'
import { answer, chunk, openReader, type Protocol, write, writeFrames } from './support.ts'

/** The smaller size, how often it is read to be measurable, and the parts of a response of that size. */
type ListMaker = [size: number, times: number, make: (size: number) => object[]]

const repeat = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))
const call = (index: number, more: object = {}) => ({ functionCall: { id: `c${index}`, name: 'f', args: {} }, ...more })

const parts: Record<string, ListMaker> = {
  'texts of one character': [2000, 1, size => repeat(size, () => ({ text: 'a' }))],
  'thoughts in pieces': [2000, 1, size => repeat(size, () => ({ text: 'a', thought: true }))],
  'texts in turn with thoughts': [
    500,
    1,
    size => repeat(size, index => ({ text: 'a', ...(index % 2 === 0 ? {} : { thought: true }) }))
  ],
  'signed texts': [1000, 1, size => repeat(size, index => ({ text: 'a', thoughtSignature: `${index}` }))],
  'signatures alone': [1000, 1, size => repeat(size, index => ({ text: '', thoughtSignature: `${index}` }))],
  calls: [100, 8, size => repeat(size, index => call(index))],
  'calls without ids': [100, 8, size => repeat(size, () => ({ functionCall: { name: 'f' } }))],
  'calls with one id': [100, 8, size => repeat(size, () => call(0))],
  'signed calls': [100, 8, size => repeat(size, index => call(index, { thoughtSignature: `${index}` }))],
  'calls with large integers': [
    100,
    8,
    size => repeat(size, () => ({ functionCall: { name: 'f', args: { n: '1234567890123456789' } } }))
  ],
  files: [30, 16, size => repeat(size, () => ({ inlineData: { mimeType: 'image/png', data: 'aGk=' } }))],
  // As many names as the engine keeps shapes of objects for: with more of them `JSON.parse` alone grows faster than its text.
  'parts of unknown kinds': [2000, 1, size => repeat(size, index => ({ [`kind${index % 1000}`]: {} }))]
}

function measure([size, times]: ListMaker, make: (size: number) => Buffer, isWhole: boolean): number {
  return measureGrowth(size, count => {
    const bytes = make(count)
    return () => {
      for (let time = 0; time < times; time++) readResponse(openReader(), bytes, isWhole)
    }
  })
}

for (const [name, maker] of Object.entries(parts)) {
  t.test(`cost 7: content_compatible: ${name}`, async t => {
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1 }
    const frames = (size: number) =>
      writeFrames([...maker[2](size).map(part => chunk([part], undefined, { usageMetadata })), chunk([], 'STOP')])
    const growth = measure(maker, frames, false)
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}

for (const [name, maker] of Object.entries(parts)) {
  t.test(`cost 7: content_compatible: whole responses: ${name}`, async t => {
    const growth = measure(maker, size => answer(maker[2](size)), true)
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}

const plainJson: Record<string, [size: number, make: (size: number) => string]> = {
  'one object over many lines': [
    2000,
    size =>
      JSON.stringify(
        chunk(
          repeat(size, () => ({ text: 'a' })),
          'STOP'
        ),
        null,
        1
      )
  ],
  'a list of chunks': [
    1000,
    size =>
      JSON.stringify([...repeat(size, () => chunk([{ text: 'a' }])), chunk([], 'STOP')]).replaceAll('},{', '},\n{')
  ],
  'lines that end in brackets': [
    2000,
    size => `{"a": [\n${'[1],   ]]],,,\n'.repeat(size)}\n\n${writeFrames([chunk([{ text: 'a' }], 'STOP')])}`
  ],
  'lines of text': [5000, size => `${'no field\n'.repeat(size)}${writeFrames([chunk([{ text: 'a' }], 'STOP')])}`]
}

for (const [name, [size, make]] of Object.entries(plainJson)) {
  t.test(`cost 7: content_compatible: plain JSON: ${name}`, async t => {
    const growth = measureGrowth(size, count => {
      const bytes = Buffer.from(make(count))
      return () => readResponse(openReader(), bytes, false)
    })
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}

const completionsCall = (index: number) => ({
  id: `call_${index}`,
  type: 'function',
  function: { name: 'f', arguments: '{}' }
})

/** The smaller size, and a client's body of that size. */
const requests: Record<string, [size: number, protocol: Protocol, make: (size: number) => JsonObject]> = {
  'messages of one side': [
    1000,
    'completions',
    size => ({ messages: repeat(size, () => ({ role: 'user', content: 'a' })) })
  ],
  'messages in turn': [
    1000,
    'completions',
    size => ({ messages: repeat(size, index => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: 'a' })) })
  ],
  instructions: [
    1000,
    'completions',
    size => ({
      messages: [...repeat(size, () => ({ role: 'system', content: 'a' })), { role: 'user', content: 'a' }]
    })
  ],
  'parts of one message': [
    1000,
    'completions',
    size => ({ messages: [{ role: 'user', content: repeat(size, () => ({ type: 'text', text: 'a' })) }] })
  ],
  'calls in turn with results': [
    300,
    'completions',
    size => ({
      messages: [
        { role: 'user', content: 'a' },
        ...repeat(size, index => [
          { role: 'assistant', tool_calls: [completionsCall(index)] as never },
          { role: 'tool', tool_call_id: `call_${index}`, content: 'x' }
        ]).flat()
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
  'calls and results of one id': [
    300,
    'completions',
    size => ({
      messages: [
        { role: 'assistant', tool_calls: repeat(size, () => completionsCall(0)) as never },
        ...repeat(size, () => ({ role: 'tool', tool_call_id: 'call_0', content: 'x' }))
      ]
    })
  ],
  'abandoned calls': [
    300,
    'completions',
    size => ({
      messages: repeat(size, index => [
        { role: 'assistant', tool_calls: [completionsCall(index)] as never },
        { role: 'user', content: 'x' }
      ]).flat()
    })
  ],
  'signed messages': [
    300,
    'completions',
    size => ({
      messages: [
        { role: 'user', content: 'a' },
        ...repeat(size, () => ({ role: 'assistant', content: 'a', reasoning_details: [{ type: 'x' }] }))
      ]
    })
  ],
  tools: [
    300,
    'completions',
    size => ({
      messages: [{ role: 'user', content: 'a' }],
      tools: repeat(size, index => ({ type: 'function', function: { name: `f${index}` } })),
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'required',
          tools: repeat(size, index => ({ type: 'function', function: { name: `f${index}` } }))
        }
      }
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
  t.test(`cost 2: content_compatible: ${name}`, async t => {
    const growth = measureGrowth(size, count => {
      const body = make(count)
      return () => {
        for (let time = 0; time < 2; time++) {
          JSON.stringify(write(protocol, body, { upstreamModel: 'gemini-3-pro' }).body)
        }
      }
    })
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}
