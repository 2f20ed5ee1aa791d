import { type FunctionDeclaration, type GoogleGenAI, type Schema, Type } from '@google/genai'
import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { convertOpenApiSchema } from '../../../../../worker/protocols/content/client/openapi-schema.ts'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'
import { createExchange } from './sdk.ts'
import { eventsOf } from './support.ts'

t.test('types become lower case at every depth, and an unspecified type is left out', async t => {
  t.strictSame(
    convertOpenApiSchema({
      type: 'OBJECT',
      properties: {
        list: { type: 'Array', items: { type: 'STRING' } },
        either: {
          anyOf: [
            { type: 'INTEGER', format: 'int32' },
            { type: 'OBJECT', properties: { x: { type: 'NUMBER' } } }
          ]
        },
        open: { type: 'TYPE_UNSPECIFIED', description: 'anything' }
      }
    }),
    {
      type: 'object',
      properties: {
        list: { type: 'array', items: { type: 'string' } },
        either: {
          anyOf: [
            { type: 'integer', format: 'int32' },
            { type: 'object', properties: { x: { type: 'number' } } }
          ]
        },
        open: { description: 'anything' }
      }
    }
  )
})

t.test('nullable becomes the type null, a null in the enum, or a further alternative', async t => {
  const cases: Array<[JsonObject, JsonObject]> = [
    [{ type: 'STRING', nullable: true }, { type: ['string', 'null'] }],
    [{ type: 'STRING', nullable: false }, { type: 'string' }],
    [{ type: 'NULL', nullable: true }, { type: 'null' }],
    [
      { type: 'STRING', enum: ['a', 'b'], nullable: true },
      { type: ['string', 'null'], enum: ['a', 'b', null] }
    ],
    [{ enum: ['a'], nullable: true }, { enum: ['a', null] }],
    [
      { nullable: true, anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] },
      { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] }
    ],
    [
      { nullable: true, anyOf: [{ type: 'STRING' }, { type: 'NULL' }] },
      { anyOf: [{ type: 'string' }, { type: 'null' }] }
    ],
    [{ type: ['STRING', 'NULL'], nullable: true }, { type: ['string', 'null'] }],
    [{ type: ['string', 'number'], nullable: true }, { type: ['string', 'number', 'null'] }],
    [
      { $ref: '#/$defs/A', description: 'an A', nullable: true },
      { description: 'an A', anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] }
    ],
    [{ description: 'anything', nullable: true }, { description: 'anything' }]
  ]
  for (const [schema, expected] of cases) t.strictSame(convertOpenApiSchema(schema), expected, JSON.stringify(schema))
})

t.test('sizes sent as text become numbers, bounds of values stay unchanged', async t => {
  t.strictSame(
    convertOpenApiSchema({
      minItems: '1',
      maxItems: '9007199254740991',
      minLength: '0',
      maxLength: 5,
      minProperties: '2',
      maxProperties: 'many',
      minimum: 1.5,
      maximum: 7
    }),
    {
      minItems: 1,
      maxItems: 9007199254740991,
      minLength: 0,
      maxLength: 5,
      minProperties: 2,
      maxProperties: 'many',
      minimum: 1.5,
      maximum: 7
    }
  )
})

t.test('propertyOrdering becomes the order of the properties, and other properties come last', async t => {
  const converted = convertOpenApiSchema({
    type: 'OBJECT',
    properties: { a: {}, b: {}, c: {}, d: {} },
    propertyOrdering: ['d', 'b', 'unknown']
  })
  t.strictSame(Object.keys(converted.properties as JsonObject), ['d', 'b', 'a', 'c'])
  t.notOk('propertyOrdering' in converted)
})

t.test('an example is added to the examples', async t => {
  t.strictSame(convertOpenApiSchema({ example: { a: 1 } }), { examples: [{ a: 1 }] })
  t.strictSame(convertOpenApiSchema({ examples: [1], example: 2 }), { examples: [1, 2] })
  t.strictSame(convertOpenApiSchema({ example: null }), {})
})

t.test('names of properties are never read as members of a schema', async t => {
  const properties = { type: { type: 'STRING' }, nullable: { type: 'BOOLEAN' }, example: {}, min_items: {} }
  t.strictSame(convertOpenApiSchema({ properties, required: ['type'] }), {
    properties: { ...properties, type: { type: 'string' }, nullable: { type: 'boolean' } },
    required: ['type']
  })
})

t.test('values are never read as schemas', async t => {
  const schema = { default: { type: 'OBJECT' }, enum: ['STRING'], title: 'T', pattern: '^A', format: 'date' }
  t.strictSame(convertOpenApiSchema({ ...schema, example: { nullable: true } }), {
    ...schema,
    examples: [{ nullable: true }]
  })
})

t.test('the snake-case spelling of a schema means the same', async t => {
  t.strictSame(
    convertOpenApiSchema({ any_of: [{ type: 'STRING', max_length: '3' }], min_items: '1', property_ordering: [] }),
    { anyOf: [{ type: 'string', maxLength: 3 }], minItems: 1 }
  )
  t.strictSame(convertOpenApiSchema({ min_items: '1', minItems: 2 }), { minItems: 2 })
})

t.test('a JSON Schema keeps its meaning (B10, E3)', async t => {
  const schema = {
    type: 'object',
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    properties: { a: { oneOf: [{ const: 1 }, { type: ['string', 'null'] }] }, b: true, c: { not: {} } },
    additionalProperties: false,
    allOf: [{ required: ['a'] }],
    'x-vendor_key': { any_of: 1 }
  }
  t.strictSame(convertOpenApiSchema(schema), schema)
})

t.test('a property named like a prototype stays an ordinary property', async t => {
  const converted = convertOpenApiSchema(
    JSON.parse('{"properties":{"__proto__":{"type":"STRING"}},"__proto__":{"a":1}}')
  )
  t.equal(JSON.stringify(converted), '{"properties":{"__proto__":{"type":"string"}},"__proto__":{"a":1}}')
})

// Schemas that the SDK's own transformers rewrite before the gateway converts them.

async function declareWithSdk(declaration: FunctionDeclaration) {
  const { sdk, requests } = createExchange([[eventsOf(assembler => assembler.text('ok'))]])
  await ask(sdk, { tools: [{ functionDeclarations: [declaration] }] })
  const tool = requests[0]?.tools[0]
  return tool?.type === 'function' ? tool : undefined
}

async function formatWithSdk(responseSchema: Schema | JsonObject) {
  const { sdk, requests } = createExchange([[eventsOf(assembler => assembler.text('"ok"'))]])
  await ask(sdk, { responseMimeType: 'application/json', responseSchema: responseSchema as Schema })
  return requests[0]?.output
}

function ask(sdk: GoogleGenAI, config: NonNullable<Parameters<GoogleGenAI['models']['generateContent']>[0]['config']>) {
  return sdk.models.generateContent({ model: 'm', contents: 'hi', config })
}

t.test("the SDK's own schema words become JSON Schema", async t => {
  const tool = await declareWithSdk({
    name: 'f',
    parameters: {
      type: Type.OBJECT,
      properties: {
        city: { type: Type.STRING, nullable: true, example: 'Omsk' },
        days: { type: Type.INTEGER, format: 'int32', minimum: 1 },
        tags: { type: Type.ARRAY, items: { type: Type.STRING, enum: ['a', 'b'] }, minItems: '1', maxItems: '3' }
      },
      propertyOrdering: ['tags', 'city', 'days'],
      required: ['city']
    },
    response: { type: Type.STRING, nullable: true }
  })
  t.equal(
    JSON.stringify(tool?.parameters.properties),
    JSON.stringify({
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, maxItems: 3 },
      city: { type: ['string', 'null'], examples: ['Omsk'] },
      days: { type: 'integer', format: 'int32', minimum: 1 }
    })
  )
  t.strictSame(tool?.parameters.required, ['city'])
  t.strictSame(tool?.returnParameters, { type: ['string', 'null'] })
})

t.test('a JSON Schema that the SDK rewrites in its own words is restored', async t => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: ['string', 'null'] },
      size: { anyOf: [{ type: 'number' }, { type: 'string' }, { type: 'null' }] },
      list: { anyOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'null' }] }
    },
    required: ['name']
  }
  t.strictSame(await formatWithSdk(schema), {
    type: 'json-schema',
    schema: {
      ...schema,
      properties: { ...schema.properties, list: { type: ['array', 'null'], items: { type: 'integer' } } }
    }
  })
})

t.test('a type array that the SDK turns into alternatives keeps its meaning', async t => {
  t.strictSame(await formatWithSdk({ type: ['string', 'number', 'null'] }), {
    type: 'json-schema',
    schema: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] }
  })
})

t.test('the SDK sends a schema with $schema unchanged, and so does the gateway', async t => {
  const parameters = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { a: { $ref: '#/$defs/A' } },
    $defs: { A: { type: ['string', 'null'], nullable: true } },
    additionalProperties: false
  }
  const tool = await declareWithSdk({ name: 'f', parameters: parameters as unknown as Schema })
  t.strictSame(tool?.parameters, parameters)
})

t.test('the enum of a numeric type holds numbers, and the format enum is dropped (decisions.md 83)', async t => {
  const cases: Array<[JsonObject, JsonObject]> = [
    [
      { type: 'INTEGER', format: 'enum', enum: ['1', '2', '3'] },
      { type: 'integer', enum: [1, 2, 3] }
    ],
    [
      { type: 'NUMBER', format: 'enum', enum: ['-1.5', '2e3'] },
      { type: 'number', enum: [-1.5, 2000] }
    ],
    [
      { type: 'STRING', format: 'enum', enum: ['1', '2'] },
      { type: 'string', enum: ['1', '2'] }
    ],
    [
      { type: 'INTEGER', enum: ['1', 'two', 3], nullable: true },
      { type: ['integer', 'null'], enum: [1, 'two', 3, null] }
    ],
    [
      { type: ['INTEGER', 'NULL'], enum: ['1', null] },
      { type: ['integer', 'null'], enum: [1, null] }
    ],
    [
      { type: ['INTEGER', 'STRING'], enum: ['1'] },
      { type: ['integer', 'string'], enum: ['1'] }
    ],
    [{ enum: ['1'] }, { enum: ['1'] }],
    [
      { type: 'INTEGER', format: 'int64', enum: ['1'] },
      { type: 'integer', format: 'int64', enum: [1] }
    ]
  ]
  for (const [schema, expected] of cases) {
    const nested = { type: 'OBJECT', properties: { list: { type: 'ARRAY', items: schema } } }
    t.strictSame(convertOpenApiSchema(schema), expected)
    t.match(convertOpenApiSchema(nested), { properties: { list: { items: expected } } })
  }
  const large = convertOpenApiSchema({ type: 'INTEGER', enum: ['9007199254740993'] })
  t.equal(JSON.stringify(large), '{"type":"integer","enum":[9007199254740993]}')
})

t.test('bounds that are texts become numbers (decisions.md 83)', async t => {
  t.strictSame(
    convertOpenApiSchema({
      type: 'OBJECT',
      properties: {
        x: { type: 'NUMBER', minimum: '1', maximum: '5.5', multipleOf: '0.5', exclusive_minimum: '0' },
        z: { type: 'ARRAY', minItems: '1', max_items: '3', items: { type: 'STRING' } },
        other: { type: 'NUMBER', minimum: 'low', maximum: 4 }
      }
    }),
    {
      type: 'object',
      properties: {
        x: { type: 'number', minimum: 1, maximum: 5.5, multipleOf: 0.5, exclusiveMinimum: 0 },
        z: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string' } },
        other: { type: 'number', minimum: 'low', maximum: 4 }
      }
    }
  )
})

t.test('ref and defs are $ref and $defs (decisions.md 83)', async t => {
  t.strictSame(
    convertOpenApiSchema({
      type: 'OBJECT',
      properties: {
        x: { ref: '#/defs/P' },
        list: { type: 'ARRAY', items: { $ref: '#/defs/P' } },
        ref: { type: 'STRING' },
        defs: { ref: '#/properties/ref' }
      },
      defs: { P: { type: 'STRING', format: 'enum', enum: ['a'] } }
    }),
    {
      type: 'object',
      properties: {
        x: { $ref: '#/$defs/P' },
        list: { type: 'array', items: { $ref: '#/$defs/P' } },
        ref: { type: 'string' },
        defs: { $ref: '#/properties/ref' }
      },
      $defs: { P: { type: 'string', enum: ['a'] } }
    }
  )
})

t.test('every schema of a request is converted (decisions.md 83)', async t => {
  const schema = { type: 'OBJECT', properties: { n: { type: 'INTEGER', format: 'enum', enum: ['1', '2'] } } }
  const converted = { type: 'object', properties: { n: { type: 'integer', enum: [1, 2] } } }
  const { tools, output } = clientFaces.content.readRequest(
    {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'f', parameters: schema, response: schema }] }],
      generationConfig: { responseMimeType: 'application/json', responseSchema: schema }
    },
    { requestId: 'r', path: { model: 'alias', isStream: false } }
  )
  t.match(tools, [{ parameters: converted, returnParameters: converted }])
  t.match(output, { schema: converted })
})
