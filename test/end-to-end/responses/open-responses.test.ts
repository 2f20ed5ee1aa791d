// The cases of the compliance suite of the Open Responses specification in our own words, on the native upstream and on aliases of every
// wire of an external provider, without a store and with one (decisions.md 91). Those over a WebSocket have a file of their own.

import t from 'tap'
import { post } from '../../support/client.ts'
import { compactionSchema, responseSchema } from './open-responses-schemas.ts'
import { askStream, askWhole, type Cases, say, testCases } from './open-responses-support.ts'
import { callsOf, type Loose, textOf } from './support.ts'

const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PLAN = [
  { type: 'message', role: 'user', content: 'The release is on Friday.' },
  { type: 'message', role: 'assistant', content: 'Noted: Friday.' }
]
const weather = {
  type: 'function',
  name: 'read_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
}

const cases: Cases = [
  [
    'a text',
    async (t, place) => {
      const response = await askWhole(t, place, { input: [say('[[text:Good day to you]]')] })
      t.equal(textOf(response), 'Good day to you')
    }
  ],
  [
    'turns of the assistant with their phase',
    async (t, place) => {
      const input = [
        say('I look it up.', 'assistant', { phase: 'commentary' }),
        say('It is seven.', 'assistant', { phase: 'final_answer' }),
        say('Only the number.')
      ]
      await askWhole(t, place, { input })
    }
  ],
  [
    'an output with phases has the form of the specification',
    async (t, place) => {
      const response = await askWhole(t, place, { input: [say('x')] })
      const output = ['commentary', 'final_answer'].map(phase => ({ ...response.output[0], phase }))
      t.ok(responseSchema.safeParse({ ...response, output }).success)
      const unknown = { ...response, output: [{ ...response.output[0], phase: 'other' }] }
      t.notOk(responseSchema.safeParse(unknown).success)
    }
  ],
  [
    'a stream',
    async (t, place) => {
      const events = await askStream(t, place, { input: [say('[[chunks:one |two |three]]')] })
      const deltas = events.filter(({ type }) => type === 'response.output_text.delta')
      t.equal(deltas.map(({ delta }) => delta).join(''), 'one two three')
    }
  ],
  [
    'a system message in the input',
    async (t, place) => {
      await askWhole(t, place, { input: [say('Speak like a sailor.', 'system'), say('Greet me.')] })
    }
  ],
  [
    'a call of a function',
    async (t, place) => {
      const input = [say('[[tool:read_weather {"city":"Oslo"}]]')]
      const response = await askWhole(t, place, { input, tools: [weather] })
      const [call] = callsOf(response)
      t.equal(call.name, 'read_weather')
      t.strictSame(JSON.parse(call.arguments), { city: 'Oslo' })
      await askStream(t, place, { input, tools: [weather] })
    }
  ],
  [
    'a picture',
    async (t, place) => {
      const content = [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: PICTURE }
      ]
      await askWhole(t, place, { input: [say(content)] })
    }
  ],
  [
    'a conversation of several turns',
    async (t, place) => {
      const input = [say('I am Vera.'), say('Hello Vera.', 'assistant'), say('[[recall]]')]
      t.match(textOf(await askWhole(t, place, { input })), /Vera/)
    }
  ],
  [
    'a conversation is compacted',
    async (t, { baseUrl, model }) => {
      const { status, json } = await post(`${baseUrl}/responses/compact`, {
        model,
        prompt_cache_key: 'of-this-test',
        input: PLAN
      })
      t.equal(status, 200)
      t.equal(compactionSchema.safeParse(json).error?.message, undefined)
      t.ok(json.output.some((item: Loose) => item.type === 'compaction'))
    }
  ],
  [
    'a conversation is not compacted without a model',
    async (t, { baseUrl }) => {
      const { status } = await post(`${baseUrl}/responses/compact`, { input: PLAN })
      t.ok(status === 400 || status === 422)
    }
  ]
]

/** They need a store. */
const statefulCases: Cases = [
  [
    'memory 3: a stored response is continued by its id',
    async (t, place) => {
      const first = await askWhole(t, place, { input: 'The word is papaya.' })
      t.equal(first.store, true)
      const second = await askWhole(t, place, { previous_response_id: first.id, input: '[[recall]]' })
      t.match(textOf(second), /papaya/)
      t.equal(second.previous_response_id, first.id)
    }
  ],
  [
    'memory 3: the result of a call is sent alone, behind its response',
    async (t, place) => {
      const input = '[[tool:read_weather {"city":"Oslo"}]]'
      const first = await askWhole(t, place, { input, tools: [weather] })
      const [{ call_id }] = callsOf(first)
      const output = { type: 'function_call_output', call_id, output: '{"degrees":21}' }
      const body = { previous_response_id: first.id, input: [output], tools: [weather] }
      t.match(textOf(await askWhole(t, place, body)), /21/)
    }
  ]
]

await testCases(t, cases, statefulCases)
