import t from 'tap'
import { invalidRequest } from '../../../../../worker/normalized/index.ts'
import { readToolSchema } from '../../../../../worker/protocols/shared/tools/tool-schema.ts'

t.test('a schema stays unchanged, and the first of its names wins', async t => {
  const schema = { $ref: '#/$defs/A', $defs: { A: { type: ['object', 'null'] } } }
  t.equal(readToolSchema({ input_schema: schema }, 'tools[0]', ['input_schema', 'parameters']), schema)
  t.equal(readToolSchema({ input_schema: {}, parameters: schema }, 'tools[0]', ['parameters', 'input_schema']), schema)
})

t.test('a missing schema becomes that of a function without parameters', async t => {
  const none = { type: 'object', properties: {} }
  t.strictSame(readToolSchema({}, 'tools[0]', ['parameters']), none)
  t.strictSame(readToolSchema({ parameters: null }, 'tools[0]', ['parameters']), none)
})

t.test('a schema that is no object is refused with its path', async t => {
  const read = () => readToolSchema({ parameters: true }, 'tools[0]', ['parameters'])
  t.throws(read, invalidRequest('tools[0].parameters', "'tools[0].parameters' must be an object, but it is a boolean."))
})
