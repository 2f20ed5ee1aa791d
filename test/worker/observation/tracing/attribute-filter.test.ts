import t from 'tap'
import { createRedactor } from '../../../../shared/secrets/redaction.ts'
import { ContentText, createAttributeFilter } from '../../../../worker/observation/tracing/attribute-filter.ts'
import * as fc from '../../../support/properties.ts'
import { CANARY, EVERYTHING, NOTHING, SECRET } from './support.ts'

/** The keys of operations.md 11.3. */
const CONTENT_KEYS = (
  'content input input.value input.messages llm.input_messages llm.output_messages llm.tool_calls llm.tools messages output ' +
  'output.value output.messages prompt error.message error_message llm.request.extensions request.body request_body response.body ' +
  'response_body any.extensions any_extensions'
).split(' ')
const MARK = '...[truncated]'

t.test(
  'scalars and lists of scalars are kept, nulls are dropped, other values become JSON text with sorted keys',
  async t => {
    const filter = createAttributeFilter(NOTHING)
    t.same(
      filter({
        text: 'a',
        empty: '',
        number: 1.5,
        zero: 0,
        no: false,
        list: ['a', 'b'],
        numbers: [1, 2],
        flags: [true],
        none: [],
        nothing: null,
        absent: undefined,
        infinite: Number.NaN,
        object: { b: 1, a: { d: [], c: null } },
        mixed: [1, 'a', null],
        action: () => 1
      }),
      {
        text: 'a',
        empty: '',
        number: 1.5,
        zero: 0,
        no: false,
        list: ['a', 'b'],
        numbers: [1, 2],
        flags: [true],
        none: [],
        object: '{"a":{"c":null,"d":[]},"b":1}',
        mixed: '[1,"a",null]'
      }
    )
  }
)

t.test('without the main switch no attribute with content passes', async () => {
  const filter = createAttributeFilter({ ...EVERYTHING, content: false })
  const name = fc.oneof(
    fc.constantFrom(...CONTENT_KEYS),
    fc.string().map(text => `${text}_extensions`),
    fc.string()
  )
  fc.assert(
    fc.property(fc.dictionary(name, fc.jsonValue()), values => {
      const names = Object.keys(filter(values))
      return names.every(
        one => !CONTENT_KEYS.includes(one) && !one.endsWith('.extensions') && !one.endsWith('_extensions')
      )
    })
  )
})

t.test('with the main switch every one of these keys passes', async t => {
  const filter = createAttributeFilter(EVERYTHING)
  for (const name of CONTENT_KEYS) t.same(filter({ [name]: CANARY }), { [name]: CANARY })
})

t.test('any value becomes one that spans can have, bounded', async () => {
  const max = 1024
  const filter = createAttributeFilter({ ...NOTHING, charactersMax: 20 })
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.anything()), values => {
      return Object.values(filter(values)).every(value => {
        if (Array.isArray(value)) {
          const kinds = new Set(value.map(item => typeof item))
          const text = value.filter(item => typeof item === 'string').join('')
          return kinds.size <= 1 && text.length <= max
        }
        return typeof value === 'string' ? value.length <= max : ['number', 'boolean'].includes(typeof value)
      })
    })
  )
})

t.test('every attribute is redacted, in texts, lists and values', async t => {
  const filter = createAttributeFilter({
    ...EVERYTHING,
    redactor: createRedactor({ knownSecrets: ['configured-key'] })
  })
  const written = filter({
    'caller.user_agent': `client Bearer ${SECRET}`,
    names: ['configured-key', 'a'],
    metadata: { api_key: { deep: 1 }, note: `x ${SECRET}`, text: '{"password": "hunter2"}' },
    'input.value': new ContentText([{ content: 'data:image/png;base64,AAAA configured-key' }], true)
  })
  t.same(written, {
    'caller.user_agent': 'client Bearer ***',
    names: ['***', 'a'],
    metadata: '{"api_key":"***","note":"x ***","text":"{\\"password\\": \\"***\\"}"}',
    'input.value': `[{"content":"[image/png;base64 3 bytes] ***"}]${MARK}`
  })
  t.match(createAttributeFilter({ ...EVERYTHING, redactor: undefined })({ a: SECRET }), { a: SECRET })
})

t.test('a text that is cut ends with the mark, inside of the limit', async t => {
  const filter = createAttributeFilter({ ...EVERYTHING, charactersMax: 30 })
  const written = filter({
    content: 'a'.repeat(30),
    input: 'b '.repeat(40_000),
    output: { a: 'c'.repeat(50) },
    'output.value': new ContentText('short', true),
    messages: ['d'.repeat(20), 'e'.repeat(20)],
    request_id: 'f'.repeat(40),
    'caller.user_agent': 'g '.repeat(40_000)
  })
  t.same(written, {
    content: 'a'.repeat(30),
    input: `${'b '.repeat(8)}${MARK}`,
    output: `{"a":"${'c'.repeat(10)}${MARK}`,
    'output.value': `short${MARK}`,
    messages: ['d'.repeat(20)],
    request_id: 'f'.repeat(40),
    'caller.user_agent': `${'g '.repeat(505)}${MARK}`
  })
  t.equal(createAttributeFilter({ ...EVERYTHING, charactersMax: 5 })({ input: 'abcdefgh' }).input, '...[t')
  const halved = createAttributeFilter({ ...EVERYTHING, charactersMax: 16 })({ input: `a${'😀'.repeat(20)}` }).input
  t.ok(String(halved).isWellFormed())
})

t.test('no part of a secret is left at the end of a text that was cut', async t => {
  const filter = createAttributeFilter({ ...EVERYTHING, charactersMax: 100 })
  for (let at = 60; at < 4300; at += 7) {
    const written = String(filter({ input: `${'x '.repeat(at / 2)}${SECRET} ${'y '.repeat(3000)}` }).input)
    t.notMatch(written, /sk-/)
  }
})
