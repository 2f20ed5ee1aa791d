import assert from 'node:assert/strict'
import t from 'tap'
import { GatewayError, type JsonObject, type JsonValue } from '../../worker/normalized/index.ts'
import { readCountTokensRequest } from '../../worker/protocols/content/client/count-tokens.ts'
import {
  readBatchEmbedContentsRequest,
  readEmbedContentRequest
} from '../../worker/protocols/content/client/embeddings.ts'
import { readContentRequest } from '../../worker/protocols/content/client/face.ts'
import { convertOpenApiSchema } from '../../worker/protocols/content/client/openapi-schema.ts'
import {
  batchEmbedContentsParameters,
  countTokensParameters,
  embedContentParameters
} from '../../worker/protocols/content/client/schema.ts'
import { contentParameters, generationParameters } from '../../worker/protocols/content/members.ts'
import { nativeV1Face } from '../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../worker/protocols/native/v2/face.ts'
import * as fc from '../support/properties.ts'
import { settings } from '../worker/protocols/content/client/support.ts'

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>
const text = fc.constantFrom(
  'text',
  'user',
  'model',
  'ANY',
  'AUTO',
  'f',
  'application/json',
  'files/a',
  'AA==',
  '',
  '12'
)

/** Members of every object of this wire, in both spellings. */
const memberNames = [
  ...['role', 'parts', 'text', 'thought', 'inlineData', 'inline_data', 'mimeType', 'mime_type', 'data', 'fileData'],
  ...['fileUri', 'functionCall', 'function_call', 'functionResponse', 'name', 'args', 'id', 'response', 'content'],
  ...[
    'thoughtSignature',
    'executableCode',
    'functionDeclarations',
    'function_declarations',
    'parameters',
    'googleSearch'
  ],
  ...['functionCallingConfig', 'mode', 'allowedFunctionNames', 'thinkingConfig', 'thinkingBudget', 'includeThoughts'],
  ...['responseSchema', 'responseMimeType', 'type', 'nullable', 'enum', 'anyOf', 'properties', 'propertyOrdering'],
  ...['__proto__', 'constructor']
]

/** Values that resemble valid ones, so that the readers get past their first check. */
const { value: likely } = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    json,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...memberNames), tie('value'), { maxKeys: 5 })
  )
}))

const bodyOf = (...tables: object[]): fc.Arbitrary<JsonObject> => {
  const names = fc.constantFrom(
    ...tables.flatMap(table => Object.keys(table)),
    'unknown',
    'system_instruction',
    '__proto__'
  )
  return fc.dictionary(names, likely, { maxKeys: 8 })
}

/** Reads a body from text, as the gateway does: only parsing creates members such as `__proto__`. */
function readOrRefuse(body: JsonObject, read: (body: JsonObject) => unknown): GatewayError | undefined {
  try {
    read(JSON.parse(JSON.stringify(body)))
    return undefined
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
}

function assertRefusal(error: GatewayError): void {
  assert.match(`${error.status} ${error.param}`, /^400 \w+(\.\w+|\[\d+\])*$/)
}

t.test('every body is read or refused with the path of a member', async t => {
  let readCount = 0
  fc.assert(
    fc.property(
      bodyOf(contentParameters),
      bodyOf(generationParameters),
      fc.boolean(),
      (random, config, isPlausible) => {
        const contents = [{ role: 'user', parts: [{ text: 'hi' }] }, ...[random.contents ?? []].flat()]
        const body = isPlausible ? { ...random, contents, generationConfig: config } : random
        const error = readOrRefuse(body, body => readContentRequest(body, { requestId: 'r' }))
        if (error === undefined) readCount += 1
        else assertRefusal(error)
      }
    ),
    { numRuns: 2000 }
  )
  if (fc.areRunsFull) t.ok(readCount > 50, `some bodies are fine: ${readCount}`)
  t.equal(({} as JsonObject).polluted, undefined)
})

t.test('every body of the other operations is read or refused with the path of a member', async () => {
  const operations: Array<[object, (body: JsonObject) => unknown]> = [
    [countTokensParameters, readCountTokensRequest],
    [embedContentParameters, readEmbedContentRequest],
    [batchEmbedContentsParameters, readBatchEmbedContentsRequest]
  ]
  for (const [table, read] of operations) {
    fc.assert(
      fc.property(bodyOf(table), body => {
        const error = readOrRefuse(body, read)
        if (error !== undefined) assertRefusal(error)
      }),
      { numRuns: 500 }
    )
  }
})

// Conversations with parts in any order and ids in any form.

const id = fc.option(fc.constantFrom('ts-1', 'ts-1#1', 'call_x', 'ts-2'), { nil: undefined })
const part: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ text: fc.constantFrom('', 'a', 'b') }),
  fc.record({ text: fc.constant('secret'), thought: fc.constant(true) }),
  fc.record({ inlineData: fc.constant({ mimeType: 'image/png', data: 'AAEC' }) }),
  fc.record({ executableCode: fc.constant({}) })
)
const callPart = fc.record({ functionCall: fc.record({ name: fc.constantFrom('f', 'g', 'web_search'), id }) })
const resultPart = fc.record({
  functionResponse: fc.record({ name: fc.constantFrom('f', 'g'), id, response: fc.constant({ ok: true }) })
})
const content: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ role: fc.constant('model'), parts: fc.array(fc.oneof(part, callPart), { minLength: 1, maxLength: 3 }) }),
  fc.record({ role: fc.constant('user'), parts: fc.array(fc.oneof(part, resultPart), { minLength: 1, maxLength: 3 }) })
)

t.test(
  'every conversation that is read can be written for both contracts, without thoughts (B8, B13, C1)',
  async () => {
    fc.assert(
      fc.property(fc.array(content, { minLength: 1, maxLength: 6 }), contents => {
        const body = { contents: [...contents, { parts: [{ text: 'end' }] }] }
        const request = readContentRequest(JSON.parse(JSON.stringify(body)), { requestId: 'r' })
        for (const write of [nativeV1Face.writeChat, nativeV2Face.writeChat]) {
          const { body: sent } = write(request, { upstreamModel: 'm' }, settings)
          const wire = JSON.stringify(sent)
          assert.ok(!wire.includes('secret'))
          const messages = sent.messages as JsonObject[]
          assert.ok(messages.length > 0)
          const speakers = messages.map(message => message.role).filter(role => role === 'user')
          assert.ok(speakers.length > 0)
        }
      }),
      { numRuns: 500 }
    )
  }
)

t.test('converting a converted schema changes nothing', async () => {
  const plain = {
    type: fc.constantFrom('STRING', 'object', 'TYPE_UNSPECIFIED', 'NULL'),
    nullable: fc.boolean(),
    enum: fc.constant(['a']),
    minItems: fc.constantFrom('1', 2),
    example: fc.constantFrom('x', 0),
    description: fc.constant('d'),
    $ref: fc.constant('#/$defs/a')
  }
  const names = fc.constantFrom('type', 'nullable', 'example', 'min_items', 'properties', '__proto__')
  const { schema } = fc.letrec<{ schema: JsonObject }>(tie => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.record(plain, { requiredKeys: [] }),
      fc.record(
        {
          ...plain,
          anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
          items: tie('schema'),
          properties: fc.dictionary(names, tie('schema'), { maxKeys: 3 })
        },
        { requiredKeys: [] }
      )
    ) as fc.Arbitrary<JsonObject>
  }))
  fc.assert(
    fc.property(schema, schema => {
      const once = convertOpenApiSchema(JSON.parse(JSON.stringify(schema)))
      assert.deepEqual(convertOpenApiSchema(once), once)
    }),
    { numRuns: 500 }
  )
})
