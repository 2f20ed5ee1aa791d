// Examples for JSON Schemas and for regular expressions.

import t from 'tap'
import type { JsonValue } from '../../../ops/emulator/json.ts'
import { exampleOfRegex } from '../../../ops/emulator/regex-example.ts'
import { exampleOfSchema } from '../../../ops/emulator/schema-example.ts'
import * as fc from '../../support/properties.ts'

t.test('only required properties are filled, or all properties when required is absent', async t => {
  const properties = { a: { type: 'string' }, b: { type: 'integer' } }
  t.same(exampleOfSchema({ type: 'object', properties, required: ['b'] }), { b: 1 })
  t.same(exampleOfSchema({ type: 'object', properties }), { a: 'example', b: 1 })
  t.same(exampleOfSchema({ type: 'object', properties, required: [] }), {})
  t.same(exampleOfSchema({ type: 'OBJECT', properties: { a: { type: 'NUMBER' } } }), { a: 1 })
})

t.test('values satisfy the constraints of the schema', async t => {
  const cases: Array<[JsonValue, JsonValue]> = [
    [{ enum: ['x', 'y'] }, 'x'],
    [{ const: 7 }, 7],
    [{ type: 'integer', minimum: 3 }, 3],
    [{ type: 'integer', exclusiveMinimum: 3 }, 4],
    [{ type: 'integer', maximum: -2 }, -2],
    [{ type: 'integer', multipleOf: 5, minimum: 11 }, 15],
    [{ type: 'number', minimum: 0.25, maximum: 0.3 }, 0.3],
    [{ type: ['null', 'boolean'] }, true],
    [{ type: 'null' }, null],
    [{ type: 'string', format: 'email' }, 'person@example.test'],
    [{ type: 'string', pattern: '^[A-Z]{2}-\\d+$' }, 'AA-1'],
    [{ type: 'string', minLength: 10 }, 'exampleeee'],
    [{ type: 'string', maxLength: 3 }, 'exa'],
    [{ type: 'array', items: { type: 'boolean' }, minItems: 2 }, [true, true]],
    [{ type: 'array', items: { type: 'boolean' }, maxItems: 0 }, []],
    [{ prefixItems: [{ const: 1 }, { const: 2 }], items: false }, [1, 2]],
    [{ anyOf: [{ type: 'null' }, { type: 'integer' }] }, 1],
    [{ oneOf: [{ const: 'a' }, { const: 'b' }] }, 'a'],
    [
      {
        allOf: [
          { properties: { a: { const: 1 } }, required: ['a'] },
          { properties: { b: { const: 2 } }, required: ['b'] }
        ]
      },
      { a: 1, b: 2 }
    ],
    [{ type: 'integer', default: 9 }, 9],
    [true, 'example']
  ]
  for (const [schema, instance] of cases) t.same(exampleOfSchema(schema), instance, JSON.stringify(schema))
})

t.test('references are followed, recursive ones too, and an invalid reference is ignored', async t => {
  const node = {
    type: 'object',
    properties: { name: { const: 'n' }, next: { $ref: '#/$defs/Node' } },
    required: ['name']
  }
  t.same(exampleOfSchema({ $ref: '#/$defs/Node', $defs: { Node: node } }), { name: 'n' })
  t.same(exampleOfSchema({ $ref: '#/$defs/A~1B', $defs: { 'A/B': { const: 1 } } }), 1)
  t.same(exampleOfSchema({ $ref: '#/%/missing' }), 'example')
})

t.test('a schema that requires itself several times gives a bounded instance', async t => {
  const tree = {
    type: 'object',
    properties: { l: { $ref: '#' }, m: { $ref: '#' }, r: { $ref: '#' } },
    required: ['l', 'm', 'r']
  }
  t.ok(JSON.stringify(exampleOfSchema(tree)).length < 200_000)
})

t.test('the example of a regular expression matches it', async t => {
  const sources = [
    '[A-Z]{3}-\\d{4}',
    '^(?:red|green)$',
    '(yes|no)+',
    'a*b?c+',
    '[^a-z]x',
    '\\w{2,5}@[a-z]+\\.test',
    '.\\s\\S',
    '(?<year>\\d{4})-(?<month>\\d{2})',
    '\\u0041\\x42',
    '[\\]x]',
    '(|a)b'
  ]
  for (const source of sources) t.match(exampleOfRegex(source), new RegExp(`^(?:${source})$`, 'u'), source)
})

t.test('the example of any text as a regular expression is a string (property)', async t => {
  fc.assert(fc.property(fc.string(), source => typeof exampleOfRegex(source) === 'string'))
  t.pass()
})

t.test('any JSON value as a schema gives an instance (property)', async t => {
  fc.assert(fc.property(fc.jsonValue(), schema => exampleOfSchema(schema as JsonValue) !== undefined))
  t.pass()
})
