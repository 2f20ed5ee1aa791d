import assert from 'node:assert/strict'
import t from 'tap'
import { accumulateEvents, GatewayError, type JsonObject } from '../../worker/normalized/index.ts'
import type { ResponseContext } from '../../worker/protocols/client-face.ts'
import { createResponsesStreamWriter } from '../../worker/protocols/responses/client/stream.ts'
import { writeResponsesResponse } from '../../worker/protocols/responses/client/write-response.ts'
import * as fc from '../support/properties.ts'
import {
  accumulateWithSdk,
  responseContext,
  withoutHelperMembers,
  writeStream
} from '../worker/protocols/responses/client/support.ts'
import { playResponse, randomResponse, withoutLateState } from './random-responses.ts'
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

t.test('the stream of any response follows the rules of the SDK (A2, A3, A5, C4, F1, F2)', async () => {
  fc.assert(
    fc.property(randomResponse, context, (given, context) => {
      const { response } = readResponsesStrictly(writeStream(playResponse(given), context))
      assert.ok(response.status === 'completed' || response.status === 'incomplete')
    }),
    { numRuns: 1000 }
  )
})

t.test('the last event of any stream has the whole response (B3, F3)', async () => {
  fc.assert(
    fc.property(randomResponse, context, (given, context) => {
      const reads = withoutLateState(playResponse(given))
      const { response } = readResponsesStrictly(writeStream(reads, context))
      const whole = writeResponsesResponse(accumulateEvents(reads.flat()), context)
      assert.deepEqual(response, JSON.parse(JSON.stringify(whole)))
    }),
    { numRuns: 1000 }
  )
})

t.test('the official SDK accumulates any stream into the whole response (B1, B2, B3)', async () => {
  await fc.assert(
    fc.asyncProperty(randomResponse, context, async (given, context) => {
      const reads = withoutLateState(playResponse(given))
      const response = await accumulateWithSdk(writeStream(reads, context))
      const whole = writeResponsesResponse(accumulateEvents(reads.flat()), context)
      assert.deepEqual(withoutHelperMembers(response), JSON.parse(JSON.stringify(whole)))
    }),
    { numRuns: 300 }
  )
})

t.test('the items that the official SDK accumulates from deltas are the items of the last event', async () => {
  await fc.assert(
    fc.asyncProperty(randomResponse, context, async (given, context) => {
      const text = writeStream(playResponse(given), context)
      const { response, events } = readResponsesStrictly(text)
      // Without the last event the SDK returns its accumulated items.
      const last = text.lastIndexOf('event: ')
      const accumulated = withoutHelperMembers(await accumulateWithSdk(text.slice(0, last)))
      assert.deepEqual(accumulated.output, response.output)
      assert.equal(events.length, text.split('\n\n').length - 1)
    }),
    { numRuns: 200 }
  )
})

t.test(
  'an error at any place ends the stream with a failed response, which the official SDK returns (A14)',
  async () => {
    await fc.assert(
      fc.asyncProperty(randomResponse, context, async (given, context) => {
        const error = new GatewayError('provider_failure', { message: 'The connection was lost.' })
        const text = writeStream(playResponse(given, error), context)
        const { response } = readResponsesStrictly(text)
        assert.equal(response.status, 'failed')
        assert.deepEqual(response.error, { code: 'server_error', message: 'The connection was lost.' })
        assert.deepEqual(withoutHelperMembers(await accumulateWithSdk(text)), response)
      }),
      { numRuns: 200 }
    )
  }
)

t.test('the boundaries of reads do not change the stream, and nothing follows its end', async () => {
  fc.assert(
    fc.property(randomResponse, context, (given, context) => {
      const reads = playResponse(given)
      const writer = createResponsesStreamWriter(context)
      const text = reads.map(read => writer.write(read)).join('')
      assert.equal(writer.write(reads.flat()), '')
      assert.equal(writeStream([reads.flat()], context), text)
    }),
    { numRuns: 300 }
  )
})
