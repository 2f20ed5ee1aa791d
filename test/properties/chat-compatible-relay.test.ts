import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../worker/normalized/index.ts'
import { countMembers, isSameJson, scanJson } from '../../worker/protocols/completions/provider/raw-json.ts'
import { chatCompatibleRelay } from '../../worker/protocols/completions/provider/relay.ts'
import { write } from '../worker/protocols/completions/provider/support.ts'

const text = fc.oneof(
  fc.constantFrom('"model":"x"', '\\', '"', ':', '{', '}', '\u2028'),
  fc.string({ unit: 'grapheme', maxLength: 9 })
)
const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })

t.test('members are counted whatever their names and values are', async t => {
  fc.assert(
    fc.property(fc.dictionary(text, value), fc.constantFrom(undefined, 1, '\t'), (object, space) => {
      const written = JSON.stringify(object, null, space)
      const { memberCount } = scanJson(Buffer.from(written), 'model')
      // Not of the parsed text: the parser of some engines loses one of the members named `"` and `\\`.
      if (memberCount !== countMembers(object as JsonObject)) throw new Error(`${memberCount} members`)
    }),
    { numRuns: 1000 }
  )
  t.pass()
})

t.test('reused bytes say what would have been written, with the model renamed', async t => {
  let reused = 0
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('system', 'user', 'assistant', 'developer'), content: text }),
    fc.record({
      role: fc.constant('user'),
      content: fc.array(fc.record({ type: fc.constant('text'), text }), { minLength: 1, maxLength: 3 })
    })
  )
  const body = fc.record(
    {
      messages: fc.array(message, { minLength: 1, maxLength: 4 }),
      model: fc.constantFrom('alias', 'team/"large"'),
      temperature: fc.constantFrom(0, 0.5, null),
      max_tokens: fc.nat({ max: 9 }).map(count => count + 1),
      stop: fc.constantFrom('END', ['a', 'b'], []),
      stream: fc.boolean(),
      stream_options: fc.constantFrom({ include_usage: true }, {}),
      metadata: fc.dictionary(text, text, { maxKeys: 2 }),
      user: text
    },
    { requiredKeys: ['messages', 'model'] }
  )
  fc.assert(
    fc.property(body, fc.constantFrom(undefined, 1), (body, space) => {
      const sent = JSON.stringify(body, null, space)
      const parsed = JSON.parse(sent) as JsonObject
      const written = JSON.parse(JSON.stringify(write('completions', parsed).body)) as JsonObject
      const bytes = chatCompatibleRelay.reuseBody(Buffer.from(sent), parsed, written)
      if (bytes === undefined) return
      reused++
      const { stream = false, stop, ...others } = JSON.parse(Buffer.from(bytes).toString()) as JsonObject
      const list = stop === undefined ? {} : { stop: typeof stop === 'string' ? [stop] : stop }
      if (!isSameJson({ stream, ...list, ...others }, written)) throw new Error('another meaning')
    }),
    { numRuns: 1000 }
  )
  t.ok(reused > 20, 'many bodies need no other change')
})
