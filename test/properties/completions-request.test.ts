import assert from 'node:assert/strict'
import t from 'tap'
import { GatewayError, type JsonObject, type JsonValue } from '../../worker/normalized/index.ts'
import { readEmbeddingsRequest } from '../../worker/protocols/completions/client/embeddings.ts'
import { readCompletionsRequest } from '../../worker/protocols/completions/client/face.ts'
import { embeddingsParameters } from '../../worker/protocols/completions/client/schema.ts'
import { chatParameters } from '../../worker/protocols/completions/members.ts'
import * as fc from '../support/properties.ts'

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>
const text = fc.constantFrom('text', 'function', 'tool', 'assistant', 'user', 'auto', 'json_schema', '{"a":1}', '', 'x')

/** Values that resemble valid ones, so that the readers go beyond their first check. */
const { value: plausible } = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    json,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        ...['role', 'content', 'type', 'text', 'tool_calls', 'function', 'function_call', 'name', 'arguments', 'id'],
        ...['image_url', 'url', 'file', 'input_audio', 'refusal', 'parameters', 'json_schema', 'schema', 'tools'],
        ...['allowed_tools', 'effort', 'include_usage', '__proto__', 'constructor']
      ),
      tie('value'),
      { maxKeys: 5 }
    )
  )
}))

function bodyOf(table: object): fc.Arbitrary<JsonObject> {
  const names = fc.constantFrom(...Object.keys(table), 'unknown', '__proto__')
  return fc.dictionary(names, plausible, { maxKeys: 8 })
}

/** Reads a body from its JSON text, as the gateway does: only parsing creates members such as `__proto__`. */
function readOrRefuse(body: JsonObject, read: (body: JsonObject) => unknown): GatewayError | undefined {
  try {
    read(JSON.parse(JSON.stringify(body)))
    return undefined
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
}

t.test('any chat body is read or refused with the path of a member', async t => {
  let readCount = 0
  fc.assert(
    fc.property(bodyOf(chatParameters), fc.boolean(), (random, isPlausible) => {
      const body = isPlausible
        ? { ...random, messages: [{ role: 'user', content: 'hi' }, ...[random.messages ?? []].flat()] }
        : random
      const error = readOrRefuse(body, body => readCompletionsRequest(body, { requestId: 'r' }))
      if (error === undefined) readCount += 1
      else assert.match(`${error.status} ${error.param}`, /^400 \w+(\.\w+|\[\d+\])*$/)
    }),
    { numRuns: 2000 }
  )
  if (fc.areRunsFull) t.ok(readCount > 50, 'more than 50 bodies are valid')
  t.equal(({} as JsonObject).polluted, undefined)
})

t.test('any embeddings body is read or refused with the path of a member', async () => {
  fc.assert(
    fc.property(bodyOf(embeddingsParameters), body => {
      const error = readOrRefuse(body, readEmbeddingsRequest)
      assert.ok(error === undefined || (error.status === 400 && error.param !== undefined))
    }),
    { numRuns: 1000 }
  )
})
