import t from 'tap'
import { z } from 'zod'
import type { OpenApiDocument } from '../../../worker/docs/document.ts'
import { writeInteractivePage, writeReferencePage } from '../../../worker/docs/pages.ts'
import { describe, jsonObject, writeNamedSchemas } from '../../../worker/docs/schema.ts'
import type { JsonObject } from '../../../worker/normalized/index.ts'

const hostile = '<script>alert("1")</script>&`a`'

t.test('texts of the document cannot become markup', async t => {
  const document: OpenApiDocument = {
    openapi: '3.1.0',
    info: { title: hostile, version: '1', description: hostile },
    tags: [{ name: hostile }],
    paths: {
      '/<b>': {
        get: {
          operationId: 'a',
          tags: [hostile],
          summary: hostile,
          description: hostile,
          parameters: [{ name: hostile, in: 'query', description: hostile, schema: {} }],
          responses: { 200: { description: hostile, content: { [hostile]: { schema: { $ref: `#/x/${hostile}` } } } } }
        }
      }
    },
    components: { schemas: { [hostile]: { description: hostile } }, responses: {}, headers: {} }
  }
  for (const page of [writeReferencePage(document), writeInteractivePage(document.info)]) {
    t.notMatch(page, /<script>|<b>|alert\("/)
    t.match(page, /&lt;script&gt;alert\(&quot;1&quot;\)/)
  }
  t.match(writeReferencePage(document), '<code>a</code>')
})

t.test('a schema is written with its members, and refers to other named schemas', async t => {
  type Inner = { a: string | null }
  type Outer = { inner: Inner; more?: JsonObject; empty: [] }
  const inner = describe<Inner>()('TestInner', z.strictObject({ a: z.string().nullable() }))
  describe<Outer>()('TestOuter', z.strictObject({ inner, more: jsonObject.exactOptional(), empty: z.tuple([]) }))
  const { TestInner, TestOuter } = writeNamedSchemas()
  t.same(TestInner, {
    type: 'object',
    properties: { a: { type: ['string', 'null'] } },
    required: ['a'],
    additionalProperties: false
  })
  t.same(TestOuter, {
    type: 'object',
    properties: {
      inner: { $ref: '#/components/schemas/TestInner' },
      more: { type: 'object' },
      empty: { type: 'array', items: false, maxItems: 0 }
    },
    required: ['inner', 'empty'],
    additionalProperties: false
  })
})

t.test('a schema of another type than the writer does not compile', async t => {
  const refuse = describe<{ a: string; b?: number }>()
  // @ts-expect-error: the optional member is missing.
  refuse('TestMissing', z.strictObject({ a: z.string() }))
  // @ts-expect-error: the member is required.
  refuse('TestRequired', z.strictObject({ a: z.string(), b: z.number() }))
  // @ts-expect-error: the member may not be null.
  refuse('TestNull', z.strictObject({ a: z.string().nullable(), b: z.number().exactOptional() }))
  t.ok(refuse('TestSame', z.strictObject({ a: z.string(), b: z.number().exactOptional() })))
})
