import assert from 'node:assert/strict'
import t from 'tap'
import { GatewayError, type JsonObject, type JsonValue } from '../../worker/normalized/index.ts'
import { writeEcho } from '../../worker/protocols/responses/client/echo.ts'
import { readResponsesRequest } from '../../worker/protocols/responses/client/face.ts'
import { responsesParameters } from '../../worker/protocols/responses/members.ts'
import * as fc from '../support/properties.ts'

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>
const text = fc.constantFrom(
  ...['message', 'function_call', 'function_call_output', 'reasoning', 'input_text', 'input_image', 'input_file'],
  ...['function', 'namespace', 'user', 'assistant', 'tool', 'auto', 'json_schema', '{"a":1}', '', 'resp_x', 'x']
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
        ...['role', 'content', 'type', 'text', 'output', 'call_id', 'id', 'name', 'namespace', 'arguments', 'function'],
        ...['image_url', 'file_data', 'file_id', 'file_url', 'refusal', 'parameters', 'format', 'schema', 'tools'],
        ...['effort', 'summary', 'storage', 'thread_id', '__proto__', 'constructor']
      ),
      tie('value'),
      { maxKeys: 5 }
    )
  )
}))

const body: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...Object.keys(responsesParameters), 'unknown', '__proto__'), likely, { maxKeys: 8 }),
    fc.boolean()
  )
  .map(([random, isPlausible]) =>
    isPlausible ? { ...random, input: [{ role: 'user', content: 'hi' }, ...[random.input ?? []].flat()] } : random
  )

t.test('any body and header is read or refused with the path of a member', async t => {
  let readCount = 0
  fc.assert(
    fc.property(body, fc.option(fc.string({ maxLength: 6 }), { nil: undefined }), (random, attachmentIds) => {
      try {
        // Read from JSON text, as the gateway does, because only parsing creates members such as `__proto__`.
        const request = readResponsesRequest(JSON.parse(JSON.stringify(random)), { requestId: 'r', attachmentIds })
        readCount += 1
        // The echo of every valid request can be written, also after the request comes back from a pool thread.
        assert.deepEqual(writeEcho(structuredClone({ ...request, messages: [] })), writeEcho(request))
      } catch (thrown) {
        if (!GatewayError.is(thrown)) throw thrown
        assert.match(`${thrown.status} ${thrown.param}`, /^400 [\w-]+(\.\w+|\[\d+\])*$/)
      }
    }),
    { numRuns: 2000 }
  )
  if (fc.areRunsFull) t.ok(readCount > 50, 'some bodies are valid')
  t.equal(({} as JsonObject).polluted, undefined)
})
