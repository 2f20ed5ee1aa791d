import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { accumulateEvents, GatewayError, type JsonObject } from '../../worker/normalized/index.ts'
import type { ResponseContext } from '../../worker/protocols/face.ts'
import { createResponsesStreamWriter } from '../../worker/protocols/responses/client/stream.ts'
import { writeResponsesResponse } from '../../worker/protocols/responses/client/write-response.ts'
import {
  accumulateWithSdk,
  responseContext,
  withoutHelperMembers,
  writeStream
} from '../worker/protocols/responses/client/support.ts'
import { playAnswer, randomAnswer } from './random-answers.ts'
import { readResponsesStrictly } from './responses-events.ts'

const hosted = [{ type: 'web_search' }, { type: 'image_generation' }]
const namespace = { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'g' }] }

const context: fc.Arbitrary<ResponseContext> = fc
  .constantFrom<JsonObject>(
    {},
    { tools: hosted },
    { tools: [...hosted, namespace] },
    { tools: [...hosted, { type: 'function', name: 'imagegen' }] },
    { instructions: 'be', metadata: { k: 'v' }, text: { verbosity: 'low' }, previous_response_id: 'resp_th' }
  )
  .map(body => responseContext(body))

t.test('any answer is a stream that an SDK can rely on (A2, A3, A5, C4, F1, F2)', async () => {
  fc.assert(
    fc.property(randomAnswer, context, (answer, context) => {
      const { response } = readResponsesStrictly(writeStream(playAnswer(answer), context))
      assert.ok(response.status === 'completed' || response.status === 'incomplete')
    }),
    { numRuns: 1000 }
  )
})

t.test('the last event of any stream holds the whole answer (B3, F3)', async () => {
  fc.assert(
    fc.property(randomAnswer, context, (answer, context) => {
      const reads = playAnswer(answer)
      const { response } = readResponsesStrictly(writeStream(reads, context))
      const whole = writeResponsesResponse(accumulateEvents(reads.flat()), context)
      assert.deepEqual(response, JSON.parse(JSON.stringify(whole)))
    }),
    { numRuns: 1000 }
  )
})

t.test('any stream adds up, in the official SDK, to the whole answer (B1, B2, B3)', async () => {
  await fc.assert(
    fc.asyncProperty(randomAnswer, context, async (answer, context) => {
      const reads = playAnswer(answer)
      const response = await accumulateWithSdk(writeStream(reads, context))
      const whole = writeResponsesResponse(accumulateEvents(reads.flat()), context)
      assert.deepEqual(withoutHelperMembers(response), JSON.parse(JSON.stringify(whole)))
    }),
    { numRuns: 300 }
  )
})

t.test('the items that the official SDK adds up piece by piece are those of the last event', async () => {
  await fc.assert(
    fc.asyncProperty(randomAnswer, context, async (answer, context) => {
      const text = writeStream(playAnswer(answer), context)
      const { response, events } = readResponsesStrictly(text)
      // Without its last event the SDK has only its own sum.
      const last = text.lastIndexOf('event: ')
      const sum = withoutHelperMembers(await accumulateWithSdk(text.slice(0, last)))
      assert.deepEqual(sum.output, response.output)
      assert.equal(events.length, text.split('\n\n').length - 1)
    }),
    { numRuns: 200 }
  )
})

t.test('an error anywhere ends the stream with a failed response that the official SDK gives back (A14)', async () => {
  await fc.assert(
    fc.asyncProperty(randomAnswer, context, async (answer, context) => {
      const error = new GatewayError('provider_failure', { message: 'The connection was lost.' })
      const text = writeStream(playAnswer(answer, error), context)
      const { response } = readResponsesStrictly(text)
      assert.equal(response.status, 'failed')
      assert.deepEqual(response.error, { code: 'server_error', message: 'The connection was lost.' })
      assert.deepEqual(withoutHelperMembers(await accumulateWithSdk(text)), response)
    }),
    { numRuns: 200 }
  )
})

t.test('where the upstream is cut into reads has no influence on the bytes, and nothing follows the end', async () => {
  fc.assert(
    fc.property(randomAnswer, context, (answer, context) => {
      const reads = playAnswer(answer)
      const writer = createResponsesStreamWriter(context)
      const text = reads.map(read => writer.write(read)).join('')
      assert.equal(writer.write(reads.flat()), '')
      assert.equal(writeStream([reads.flat()], context), text)
    }),
    { numRuns: 300 }
  )
})
