import t from 'tap'
import { accumulateEvents, dropLaterCalls, type NormalizedEvent } from '../../worker/normalized/index.ts'
import { nativeV1Face } from '../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../worker/protocols/native/v2/face.ts'
import * as fc from '../support/properties.ts'
import { checkGrammar } from '../worker/normalized/grammar.ts'
import { type NativeFace, readStream, readWhole, writeLines } from '../worker/protocols/native/support.ts'

/** Text that contains tags and markers, complete and incomplete. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '<think>',
        '</think>',
        '<THINK>',
        '<',
        '<th',
        '[sources=[1]]',
        '[sources=[',
        '2]]',
        '[',
        ']]',
        '"',
        '\\',
        '\n'
      ),
      fc.string({ unit: 'grapheme', maxLength: 5 })
    ),
    { maxLength: 6 }
  )
  .map(pieces => pieces.join(''))

const callArguments = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, '', '{}', '{"a":1}', '{"a"', ':1}', 7, [1]),
  fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom<unknown>(1, 'x', null), { maxKeys: 2 })
)
const functionCall = fc.oneof(
  fc.record({ name: fc.constantFrom('f', 'g', ''), arguments: callArguments }),
  fc.record({ arguments: callArguments }),
  fc.constantFrom<unknown>(null, 'x', {})
)
const word = fc.constantFrom<unknown>('stop', 'length', 'function_call', 'blacklist', 'error', 'weird', '', null, 7)
const stateId = fc.constantFrom<unknown>('s-1', 's-2', '', null)
const usage = fc.constantFrom<unknown>({ prompt_tokens: 1, input_tokens: 1 }, {}, null, 'x')
const anything = fc.jsonValue({ maxDepth: 2 })

const v1Payload = fc.record(
  {
    choices: fc.oneof(
      fc.array(
        fc.record(
          {
            delta: fc.oneof(
              fc.record(
                {
                  content: fc.oneof(text, fc.constant(null)),
                  role: fc.constantFrom('assistant', 'function_in_progress'),
                  reasoning_content: fc.oneof(text, fc.constant(null)),
                  function_call: functionCall,
                  functions_state_id: stateId
                },
                { requiredKeys: [] }
              ),
              anything
            ),
            index: fc.constantFrom(0, 1),
            finish_reason: word
          },
          { requiredKeys: [] }
        ),
        { maxLength: 2 }
      ),
      anything
    ),
    usage,
    model: fc.constantFrom<unknown>('m', 7),
    thread_id: fc.constantFrom<unknown>('t', null),
    status: fc.constantFrom<unknown>(200, 429, 'x'),
    message: fc.constant('boom')
  },
  { requiredKeys: [] }
)

const toolExecution = fc.record(
  {
    name: fc.constantFrom<unknown>('web_search', 'image_generate', '', 3),
    status: fc.constantFrom<unknown>('success', 'fail', 'searching', 3)
  },
  { requiredKeys: ['name'] }
)
const inlineData = fc.constantFrom<unknown>(
  { images: [], sources: { '1': { url: 'https://a.test', title: 'A' }, '2': { url: 7 } } },
  { images: [], sources: {} },
  { sources: [{ url: 'https://b.test' }] },
  null
)
const part = fc.record(
  {
    text: fc.oneof(text, fc.constantFrom<unknown>(null, 5)),
    function_call: functionCall,
    id: fc.constantFrom('p-1', 'p-2'),
    tool_state_id: stateId,
    tool_execution: toolExecution,
    inline_data: inlineData,
    files: fc.constantFrom<unknown>([{ id: 'f', mime: 'image/png', target: 'image' }, { id: 7 }], null)
  },
  { requiredKeys: [] }
)
const v2Payload = fc.record(
  {
    messages: fc.oneof(
      fc.array(
        fc.record(
          {
            role: fc.constantFrom<unknown>('assistant', 'reasoning', 'tool', null),
            content: fc.oneof(fc.array(fc.oneof(part, anything), { maxLength: 3 }), text, anything),
            tools_state_id: stateId,
            function_call: functionCall,
            tool_execution: toolExecution,
            inline_data: inlineData,
            reasoning_content: text,
            message_id: fc.constantFrom<unknown>('m', 7),
            finish_reason: word
          },
          { requiredKeys: [] }
        ),
        { maxLength: 2 }
      ),
      anything
    ),
    finish_reason: word,
    usage,
    tool_execution: toolExecution,
    tool_state_id: stateId,
    model: fc.constant('m')
  },
  { requiredKeys: [] }
)
const eventName = fc.constantFrom(
  undefined,
  'response.message.delta',
  'response.message.done',
  'response.tool.in_progress',
  'response.error',
  'other'
)

const ending = fc.constantFrom('data: [DONE]\n\n', '', 'data: {"cut', ': bye')

function stream(payload: fc.Arbitrary<unknown>, name: fc.Arbitrary<string | undefined>): fc.Arbitrary<string> {
  const frame = fc
    .tuple(fc.oneof({ weight: 9, arbitrary: payload }, { weight: 1, arbitrary: anything }), name)
    .map(([data, name]) => `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`)
  return fc.tuple(fc.array(frame, { maxLength: 8 }), ending).map(([frames, end]) => frames.join('') + end)
}

const contracts: Array<[name: string, face: NativeFace, stream: fc.Arbitrary<string>, payload: fc.Arbitrary<unknown>]> =
  [
    ['v1', nativeV1Face, stream(v1Payload, fc.constant(undefined)), v1Payload],
    ['v2', nativeV2Face, stream(v2Payload, eventName), v2Payload]
  ]

function assertGrammar(events: readonly NormalizedEvent[]): void {
  const faults = checkGrammar(events)
  if (faults.length > 0) throw new Error(faults.join('; '))
}

for (const [name, face, stream, payload] of contracts) {
  for (const buffersToolCalls of [false, true]) {
    t.test(
      `${name}: the events of any frames obey the grammar wherever the bytes are cut (buffered calls: ${buffersToolCalls})`,
      async t => {
        fc.assert(
          fc.property(stream, fc.array(fc.nat(), { maxLength: 6 }), (text, cuts) => {
            const setup = { reading: { buffersToolCalls } }
            const bytes = Buffer.from(text)
            const borders = [0, ...cuts.map(cut => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
            const pieces = borders.slice(1).map((border, index) => bytes.subarray(borders[index], border))
            const events = readStream(face, pieces, setup)
            assertGrammar(events)
            assertGrammar(dropLaterCalls(events))
            const whole = writeLines(readStream(face, [bytes], setup))
            if (writeLines(events) !== whole) throw new Error(`${writeLines(events)}\ninstead of\n${whole}`)
          }),
          { numRuns: 500 }
        )
        t.pass()
      }
    )
  }

  t.test(`${name}: a whole response is read or refused, never partly read`, async t => {
    fc.assert(
      fc.property(payload, payload => {
        const body = Buffer.from(JSON.stringify(payload).replaceAll('"delta"', '"message"'))
        assertGrammar(readWhole(face, body))
      }),
      { numRuns: 300 }
    )
    t.pass()
  })
}

const response = fc.record({
  reasoning: fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }), { maxLength: 3 }),
  text: fc.array(text, { maxLength: 5 }),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom('f', 'g'),
      arguments: fc.dictionary(fc.constantFrom('a', 'b'), fc.nat(), { maxKeys: 2 })
    }),
    { maxLength: 3 }
  ),
  hasSources: fc.boolean(),
  reason: fc.constantFrom('stop', 'length', 'function_call', 'weird'),
  isCallInDone: fc.boolean()
})

/** The response as a client sees it, streamed or whole. */
function summarise(events: readonly NormalizedEvent[]): string {
  const { items, usage, finish, state, metadata } = accumulateEvents(events)
  return JSON.stringify({ items, usage, finish, state, metadata })
}

function assertSame(streamed: NormalizedEvent[], whole: NormalizedEvent[]): void {
  if (summarise(streamed) !== summarise(whole)) throw new Error(`${summarise(streamed)}\n${summarise(whole)}`)
}

t.test('v1: a streamed response and the whole one are the same (B3)', async t => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, precached_prompt_tokens: 1 }
  fc.assert(
    fc.property(response, ({ reasoning, text, calls, reason, isCallInDone }) => {
      const [call] = calls
      const withCall = call === undefined ? {} : { function_call: call, functions_state_id: 's-1' }
      const message = { role: 'assistant', reasoning_content: reasoning.join(''), content: text.join(''), ...withCall }
      const body = { choices: [{ message, index: 0, finish_reason: reason }], model: 'm', usage }
      const deltas: object[] = [
        ...reasoning.map(reasoning_content => ({ content: '', reasoning_content })),
        ...text.map(content => ({ content })),
        ...(isCallInDone ? [] : [{ content: '', ...withCall }])
      ]
      const frames = [
        ...deltas.map(delta => ({ choices: [{ delta, index: 0 }], model: 'm' })),
        {
          choices: [{ delta: { content: '', ...(isCallInDone ? withCall : {}) }, index: 0, finish_reason: reason }],
          model: 'm',
          usage
        }
      ]
      const bytes = Buffer.from(frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join(''))
      const whole = readWhole(nativeV1Face, Buffer.from(JSON.stringify(body)))
      assertSame(readStream(nativeV1Face, [bytes]), whole)
    }),
    { numRuns: 500 }
  )
  t.pass()
})

t.test('v2: a streamed response and the whole one are the same (B3)', async t => {
  const usage = { input_tokens: 3, input_tokens_details: { cached_tokens: 1 }, output_tokens: 4, total_tokens: 7 }
  const inline = {
    inline_data: {
      images: [],
      sources: { '1': { url: 'https://a.test', title: 'A' }, '2': { url: 'https://b.test', title: 'B' } }
    }
  }
  fc.assert(
    fc.property(response, ({ reasoning, text, calls, hasSources, reason, isCallInDone }) => {
      const sources = hasSources ? [inline] : []
      const parts = calls.map((call, index) => ({ function_call: call, id: `p-${index}` }))
      const why = reasoning.length === 0 ? [] : [{ role: 'reasoning', content: [{ text: reasoning.join('') }] }]
      const content = [...sources, { text: text.join('') }, ...parts]
      const body = {
        model: 'm',
        messages: [...why, { role: 'assistant', tool_state_id: 's-1', content }],
        finish_reason: reason,
        usage
      }
      const delta = (role: string, part: object) => ({ model: 'm', messages: [{ role, content: [part] }] })
      const frames: object[] = [
        ...reasoning.map(piece => delta('reasoning', { text: piece })),
        ...sources.map(part => delta('assistant', part)),
        ...text.map(piece => delta('assistant', { text: piece })),
        ...(isCallInDone ? [] : parts.map(part => delta('assistant', part)))
      ]
      const end = {
        model: 'm',
        messages: [{ role: 'assistant', tool_state_id: 's-1', content: isCallInDone ? parts : [] }],
        finish_reason: reason,
        usage
      }
      const bytes = Buffer.from(
        `${frames.map(frame => `event: response.message.delta\ndata: ${JSON.stringify(frame)}\n\n`).join('')}event: response.message.done\ndata: ${JSON.stringify(end)}\n\n`
      )
      const whole = readWhole(nativeV2Face, Buffer.from(JSON.stringify(body)))
      assertSame(readStream(nativeV2Face, [bytes]), whole)
    }),
    { numRuns: 500 }
  )
  t.pass()
})
