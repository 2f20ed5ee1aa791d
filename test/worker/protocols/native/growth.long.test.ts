// Alone: it measures processor times, for a minute on a busy machine.
// The cost of reading a response grows as fast as the response, for every list that the upstream can make long: one line each.
// Nesting has no line: its depth is bounded, and `JSON.stringify` compares each level with those around it.

import t from 'tap'
import { nativeV1Face } from '../../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../../worker/protocols/native/v2/face.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../support/growth.ts'
import { readResponse } from '../read-response.ts'
import { type NativeFace, openReader, plainReading } from './support.ts'

/** The smaller size, how often it is read to be measurable, and the frames of a response of that size. */
type ListMaker<Frame> = [size: number, times: number, make: (size: number) => Frame[]]

const repeat = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))
const call = (index: number, more: object = {}) => ({ function_call: { name: 'f', arguments: { index } }, ...more })

const bySpelling = { '<': '<', '[': '[', marker: '[sources=[1]]', tag: '<think>' }

/** Parts of one assistant message of v2, or whole messages. */
const v2Lists: Record<string, ListMaker<object>> = {
  'texts of one character': [2000, 1, size => repeat(size, () => ({ text: 'a' }))],
  'one long text': [35_000, 4, size => [{ text: 'word '.repeat(size) }]],
  ...Object.fromEntries(
    Object.entries(bySpelling).map(([name, text]): [string, ListMaker<object>] => [
      `text full of: ${name}`,
      [5000, 2, size => [{ text: text.repeat(size) }]]
    ])
  ),
  thoughts: [500, 2, size => [{ text: '<think>a</think>b'.repeat(size) }]],
  'reasoning in pieces': [2000, 1, size => repeat(size, () => ({ role: 'reasoning', content: [{ text: 'a' }] }))],
  calls: [120, 8, size => repeat(size, index => call(index))],
  'calls with ids': [120, 8, size => repeat(size, index => call(index, { id: `p${index}` }))],
  'calls without arguments': [120, 8, size => repeat(size, () => ({ function_call: { name: 'f' } }))],
  'calls that wait for a state id': [
    120,
    8,
    size => [...repeat(size, index => ({ content: [call(index)], tool_state_id: '' })), { tool_state_id: 's' }]
  ],
  'calls with a state id each': [
    120,
    8,
    size => repeat(size, index => ({ content: [call(index)], tool_state_id: `s${index}` }))
  ],
  'calls that may be answered': [120, 8, size => repeat(size, index => ({ function_call: { name: `u${index}` } }))],
  'a call repeated': [1000, 1, size => repeat(size, () => call(0, { id: 'p' }))],
  'a large call repeated in small': [
    1000,
    1,
    size => [
      { id: 'p', function_call: { name: 'f', arguments: Object.fromEntries(repeat(size, index => [`m${index}`, 1])) } },
      ...repeat(size, () => ({ id: 'p', function_call: { name: 'f', arguments: { a: 1 } } }))
    ]
  ],
  'results without a call': [1000, 2, size => repeat(size, () => ({ function_result: { name: 'g', result: {} } }))],
  'long arguments': [
    600,
    4,
    size => [{ function_call: { name: 'f', arguments: Object.fromEntries(repeat(size, index => [`m${index}`, 1])) } }]
  ],
  'runs of one tool': [
    60,
    8,
    size =>
      repeat(size, () => [
        { tool_execution: { name: 'code_interpreter' } },
        { tool_execution: { name: 'code_interpreter', status: 'success' } }
      ]).flat()
  ],
  'open runs of many tools': [120, 8, size => repeat(size, index => ({ tool_execution: { name: `t${index}` } }))],
  'open searches of many names': [
    120,
    8,
    size => [
      ...repeat(size, index => ({ tool_execution: { name: `web_search_${index}` } })),
      ...repeat(size, () => ({ inline_data: { sources: { 1: { url: 'https://e.test' } } } }))
    ]
  ],
  progress: [
    1000,
    1,
    size => repeat(size, index => ({ tool_execution: { name: 'image_generate', seconds_left: index } }))
  ],
  sources: [
    500,
    1,
    size => [
      { text: repeat(size, index => `[sources=[${index}]]x`).join('') },
      {
        inline_data: { sources: Object.fromEntries(repeat(size, index => [index, { url: `https://e.test/${index}` }])) }
      }
    ]
  ],
  'sources and their markers': [
    500,
    1,
    size => [
      {
        inline_data: { sources: Object.fromEntries(repeat(size, index => [index, { url: `https://e.test/${index}` }])) }
      },
      { text: repeat(size, index => `[sources=[${index}]]x`).join('') }
    ]
  ],
  'queries of searches': [
    500,
    2,
    size => repeat(size, index => ({ additional_data: { execution_steps: [{ query: `q${index}` }] }, text: 'a' }))
  ],
  files: [30, 40, size => [{ files: repeat(size, index => ({ id: `f${index}`, target: 'image' })) }]],
  'files one by one': [30, 40, size => repeat(size, index => ({ files: [{ id: `f${index}` }] }))],
  'state ids': [1000, 1, size => repeat(size, index => ({ content: [{ text: 'a' }], tools_state_id: `s${index}` }))],
  'message ids': [1000, 1, size => repeat(size, index => ({ content: [{ text: 'a' }], message_id: `m${index}` }))]
}

const toMessage = (part: object): object =>
  'content' in part || 'tool_state_id' in part ? { role: 'assistant', ...part } : { role: 'assistant', content: [part] }

/** Deltas of v1. */
const v1Lists: Record<string, ListMaker<object>> = {
  'texts of one character': [2000, 1, size => repeat(size, () => ({ content: 'a' }))],
  'texts in turn with reasoning': [
    500,
    1,
    size => repeat(size, () => [{ content: 'a' }, { reasoning_content: 'b' }]).flat()
  ],
  'reasoning in pieces': [2000, 1, size => repeat(size, () => ({ reasoning_content: 'a' }))],
  'one text full of tags': [5000, 2, size => [{ content: '<think>'.repeat(size) }]],
  calls: [120, 8, size => repeat(size, index => call(index))],
  'arguments in pieces': [
    5000,
    1,
    size => repeat(size, index => ({ function_call: { name: 'f', arguments: index === 0 ? '{"a":"' : 'xx' } }))
  ],
  'arguments in pieces that end an object': [
    5000,
    1,
    size => repeat(size, index => ({ function_call: { name: 'f', arguments: index === 0 ? '{"a":"' : 'x}' } }))
  ],
  'arguments of closed objects': [
    2000,
    1,
    size => repeat(size, index => ({ function_call: { name: 'f', arguments: index === 0 ? '{"a":1}{' : '}{}' } }))
  ],
  'results without a call': [1000, 2, size => repeat(size, () => ({ role: 'function', name: 'g', content: '{}' }))],
  'state ids': [1000, 1, size => repeat(size, index => ({ content: 'a', functions_state_id: `s${index}` }))],
  'message ids': [1000, 1, size => repeat(size, index => ({ content: 'a', id: `m${index}` }))]
}

const usageV1 = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
const usageV2 = { input_tokens: 1, output_tokens: 2, total_tokens: 3 }
const v2End = { messages: [], finish_reason: 'stop', usage: usageV2 }
const v1End = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: usageV1 }

const encode = (frames: readonly object[]): Buffer =>
  Buffer.from(frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join(''))

function grows(
  name: string,
  face: NativeFace,
  [size, times]: ListMaker<object>,
  write: (size: number) => Buffer,
  isWhole: boolean
) {
  // Calls may wait for the end of the response.
  const holdings = /call|arguments/.test(name) ? [false, true] : [false]
  const ratios = holdings.map(isBuffered =>
    measureGrowth(size, count => {
      const bytes = write(count)
      return () => {
        for (let time = 0; time < times; time++) {
          readResponse(openReader(face, { reading: { ...plainReading, buffersToolCalls: isBuffered } }), bytes, isWhole)
        }
      }
    })
  )
  return Math.max(...ratios)
}

const list = (makers: Record<string, ListMaker<object>>) => Object.entries(makers)

for (const [name, maker] of list(v2Lists)) {
  t.test(`cost 7: v2: ${name}`, async t => {
    const messages = (size: number) => maker[2](size).map(toMessage)
    const whole = (size: number) => ({ ...v2End, messages: messages(size) })
    const forms = {
      whole: grows(name, nativeV2Face, maker, size => Buffer.from(JSON.stringify(whole(size))), true),
      'in one frame': grows(name, nativeV2Face, maker, size => encode([whole(size)]), false),
      'in many frames': grows(
        name,
        nativeV2Face,
        maker,
        size => encode([...messages(size).map(message => ({ messages: [message], usage: usageV2 })), v2End]),
        false
      )
    }
    for (const [form, growth] of Object.entries(forms)) {
      t.ok(growth <= LINEAR_GROWTH_MAX, `${form}: ${growth.toFixed(1)} times for eight times the work`)
    }
  })
}

for (const [name, maker] of list(v1Lists)) {
  t.test(`cost 7: v1: ${name}`, async t => {
    const frames = (size: number) =>
      maker[2](size).map(delta => ({ choices: [{ index: 0, delta: { ...delta } }], usage: usageV1 }))
    const growth = grows(name, nativeV1Face, maker, size => encode([...frames(size), v1End]), false)
    t.ok(growth <= LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times for eight times the work`)
  })
}
