import assert from 'node:assert/strict'
import t from 'tap'
import { GatewayError, type JsonObject, type JsonValue } from '../../worker/normalized/index.ts'
import { readCountTokensRequest } from '../../worker/protocols/messages/client/count-tokens.ts'
import { readMessagesRequest } from '../../worker/protocols/messages/client/face.ts'
import { countTokensParameters } from '../../worker/protocols/messages/client/schema.ts'
import { messagesParameters } from '../../worker/protocols/messages/members.ts'
import * as fc from '../support/properties.ts'

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>
const text = fc.constantFrom(
  ...['text', 'image', 'tool_use', 'tool_result', 'thinking', 'assistant', 'user', 'system', 'auto', 'any', 'tool'],
  ...['json_schema', 'base64', 'url', 'enabled', 'disabled', 'custom', 'web_search_20250305', '{"a":1}', '', 'x']
)

/** Values with plausible types and member names, so that the readers get past their first check. */
const { value: likely } = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    json,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        ...['role', 'content', 'type', 'text', 'source', 'data', 'media_type', 'url', 'file_id', 'id', 'name', 'input'],
        ...['tool_use_id', 'is_error', 'thinking', 'signature', 'input_schema', 'parameters', 'format', 'schema'],
        ...['effort', 'budget_tokens', 'display', 'disable_parallel_tool_use', '__proto__', 'constructor']
      ),
      tie('value'),
      { maxKeys: 5 }
    )
  )
}))

function bodyOf(table: object): fc.Arbitrary<JsonObject> {
  const names = fc.constantFrom(...Object.keys(table), 'unknown', '__proto__')
  return fc.dictionary(names, likely, { maxKeys: 8 })
}

/** Reads from JSON text, as the gateway does, because only parsing creates members such as `__proto__`. */
function readOrRefuse(body: JsonObject, read: (body: JsonObject) => unknown): GatewayError | undefined {
  try {
    read(JSON.parse(JSON.stringify(body)))
    return undefined
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
}

function makePlausible(body: JsonObject): JsonObject {
  return { ...body, messages: [{ role: 'user', content: 'hi' }, ...[body.messages ?? []].flat()] }
}

for (const { operation, table, read } of [
  { operation: 'message', table: messagesParameters, read: readMessagesRequest },
  { operation: 'count', table: countTokensParameters, read: readCountTokensRequest }
]) {
  t.test(`any body of a ${operation} is read or refused with the path of a member`, async t => {
    let readCount = 0
    fc.assert(
      fc.property(bodyOf(table), fc.boolean(), (random, isPlausible) => {
        const body = isPlausible ? makePlausible(random) : random
        const error = readOrRefuse(body, body => read(body, { requestId: 'r' }))
        if (error === undefined) readCount += 1
        else assert.match(`${error.status} ${error.param}`, /^400 [\w-]+(\.\w+|\[\d+\])*$/)
      }),
      { numRuns: 2000 }
    )
    if (fc.areRunsFull) t.ok(readCount > 50, 'some bodies are valid')
    t.equal(({} as JsonObject).polluted, undefined)
  })
}
