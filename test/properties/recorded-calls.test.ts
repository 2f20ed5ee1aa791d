// What a span says of any response: the same for streamed and whole ones, and what a client accumulates.

import assert from 'node:assert/strict'
import t from 'tap'
import { accumulateEvents, GatewayError } from '../../worker/normalized/index.ts'
import { createSpanDescriber } from '../../worker/observation/tracing/describe-span.ts'
import * as fc from '../support/properties.ts'
import { EVERYTHING, endedRequest, NOTHING } from '../worker/observation/tracing/support.ts'
import { playResponse, randomResponse } from './random-responses.ts'

const open = { ...EVERYTHING, redactor: undefined, charactersMax: 1_000_000 }

t.test('the attributes of a response are what a client accumulates', async () => {
  const describer = createSpanDescriber(open)
  fc.assert(
    fc.property(randomResponse, response => {
      const reads = playResponse(response)
      const events = reads.flat()
      const streamed = endedRequest({ capture: open, isStream: true })
      for (const read of reads) streamed.record.take(read, 1)
      const { attributes } = describer.describeRequest(streamed)
      const whole = describer.describeRequest(endedRequest({ capture: open, events })).attributes

      const { items, usage, finish } = accumulateEvents(events)
      const text = items.flatMap(item => (item.type === 'text' || item.type === 'refusal' ? [item.text] : [])).join('')
      const calls = items.filter(item => item.type === 'tool-call')
      const runs = items.filter(item => item.type === 'hosted-tool')
      const hasCallReason = finish.reason === 'tool-calls' || (finish.reason === 'stop' && calls.length > 0)
      assert.deepEqual(attributes['output.value'] ?? '', text)
      assert.equal(attributes['llm.tool_calls.count'], calls.length + runs.length)
      assert.equal(attributes['llm.finish_reason'] === 'tool_calls', hasCallReason)
      assert.equal(attributes['llm.token_count.completion'], usage?.outputTokens ?? undefined)
      const written = JSON.parse(String(attributes['llm.tool_calls'] ?? '[]')) as Array<{ arguments: string }>
      assert.deepEqual(
        written.map(call => call.arguments),
        calls.map(call => call.arguments)
      )
      for (const [name, value] of Object.entries(whole)) {
        if (!['llm.streaming', 'metadata'].includes(name)) assert.deepEqual(attributes[name], value, name)
      }
    }),
    { numRuns: 60 }
  )
})

t.test('any response that fails has few events, and no content without the switches', async () => {
  const describer = createSpanDescriber(NOTHING)
  const error = new GatewayError('provider_failure', { message: 'canary' })
  fc.assert(
    fc.property(randomResponse, response => {
      const ended = endedRequest({
        isStream: true,
        events: playResponse(response, error).flat(),
        closed: { lifecycle: 'streaming_aborted', errorType: 'http_500', failure: error }
      })
      const span = describer.describeRequest(ended)
      assert.equal(span.error?.description, 'http_500')
      assert.ok(span.events.length < 100)
      assert.equal(span.events.at(-1)?.name, 'stream.error')
      assert.doesNotMatch(JSON.stringify(span), /canary|output.value/)
    }),
    { numRuns: 60 }
  )
})
