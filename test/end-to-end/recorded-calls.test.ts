// What spans say of calls equals what their clients received, in every family, whole and streamed, inline and in a thread.

import t, { type Test } from 'tap'
import { parseSettings } from '../../shared/settings.ts'
import type { RequestObserver, RequestView } from '../../worker/observation/observer.ts'
import { CallRecord } from '../../worker/observation/tracing/call-record.ts'
import { readCaptureSwitches, toDescriptionOptions } from '../../worker/observation/tracing/capture-switches.ts'
import { createSpanDescriber, type DescribedSpan } from '../../worker/observation/tracing/describe-span.ts'
import { providerFaces } from '../../worker/protocols/registry.ts'
import { providerKinds } from '../../worker/providers/registry.ts'
import type { HttpResponse } from '../support/client.ts'
import { emulatorVariables, startEmulator } from '../support/in-process-gateway.ts'
import { waitUntil } from '../support/processes.ts'
import { startWorker, workerOptions } from '../support/worker-app.ts'
import { type AskOptions, askIn, type Family, families } from './system/support.ts'

const emulator = await startEmulator(t)

interface DescribingWorker {
  url: string
  /** The span of the request with this response. */
  spanOf(response: HttpResponse): Promise<DescribedSpan>
}

/** A worker whose requests are described like the spans of tracing. */
async function startDescribing(t: Test, env: Record<string, string> = {}): Promise<DescribingWorker> {
  const settings = parseSettings({ ...emulatorVariables(emulator), ...env })
  const capture = readCaptureSwitches(settings, [])
  const describer = createSpanDescriber(capture)
  const records = new WeakMap<RequestView, CallRecord>()
  const spans = new Map<string, DescribedSpan>()
  const recordOf = (request: RequestView): CallRecord => {
    const record = records.get(request) ?? new CallRecord(capture)
    records.set(request, record)
    return record
  }
  const observer: RequestObserver = {
    name: 'describing',
    descriptionOptions: toDescriptionOptions(capture),
    described(request, description) {
      recordOf(request).description = description
    },
    planned(request, facts) {
      recordOf(request).planned = facts
    },
    events: (request, events) => recordOf(request).take(events, performance.now()),
    usage(request, usage) {
      recordOf(request).usage = usage
    },
    closed: (request, closed) =>
      void spans.set(request.requestId, describer.describeRequest({ request, closed, record: recordOf(request) }))
  }
  const parts = { faces: providerFaces, kinds: providerKinds, observers: [observer] }
  const { url } = await startWorker(t, workerOptions(settings), parts)
  return {
    url,
    async spanOf(response) {
      const id = String(response.headers.get('x-request-id'))
      await waitUntil(() => spans.has(id), `the request ${id} is closed`)
      return spans.get(id) as DescribedSpan
    }
  }
}

/** The JSON objects of a response: one, or those of its server-sent events. */
// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
function payloadsOf({ text, json }: HttpResponse): any[] {
  if (json !== undefined) return [json]
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
}

interface Received {
  id: string
  outputTokens: number
}

/** What a client of the family reads of a response: its last id, and the last count of output tokens. */
function receivedIn(family: Family, response: HttpResponse): Received {
  const payloads = payloadsOf(response)
  const last = <Value>(read: (payload: ReturnType<typeof payloadsOf>[number]) => Value | undefined): Value =>
    payloads
      .map(read)
      .filter(value => value !== undefined && value !== null)
      .at(-1) as Value
  switch (family) {
    case 'completions':
      return { id: last(one => one.id), outputTokens: last(one => one.usage?.completion_tokens) }
    case 'responses':
      return {
        id: last(one => (one.response ?? one).id),
        outputTokens: last(one => (one.response ?? one).usage?.output_tokens)
      }
    case 'messages':
      return { id: last(one => one.message?.id ?? one.id), outputTokens: last(one => one.usage?.output_tokens) }
    case 'content':
      return { id: last(one => one.responseId), outputTokens: last(one => one.usageMetadata?.candidatesTokenCount) }
  }
}

const optionsOf = (family: Family, stream: boolean): AskOptions => ({
  stream,
  ...(family === 'content' && stream && { query: '?alt=sse' }),
  ...(family === 'completions' && stream && { more: { stream_options: { include_usage: true } } })
})

const places = { inline: {}, 'in a thread': { GATEWAY_POOL_THRESHOLD_BYTES: '1' } }
for (const [place, env] of Object.entries(places)) {
  t.test(`the ids and counts of spans are those of the responses: ${place}`, async t => {
    const worker = await startDescribing(t, env)
    for (const family of families) {
      for (const stream of [false, true]) {
        const label = `${family} ${stream ? 'streamed' : 'whole'}`
        const response = await askIn(worker, family, 'hello there', optionsOf(family, stream))
        t.equal(response.status, 200, label)
        const { attributes, events, error } = await worker.spanOf(response)
        const { id, outputTokens } = receivedIn(family, response)
        t.match(
          attributes,
          { 'llm.response.id': id, output_tokens: outputTokens, 'llm.streaming': stream, 'llm.finish_reason': 'stop' },
          label
        )
        t.equal(error, undefined)
        t.same(
          events.map(({ name }) => name),
          stream ? ['stream.start', 'stream.first_token', 'stream.completed'] : [],
          label
        )
        t.notMatch(JSON.stringify(attributes), /hello there/, label)
      }
    }
  })
}

t.test('a stored conversation is the session of its responses', async t => {
  const worker = await startDescribing(t)
  for (const stream of [false, true]) {
    const first = await askIn(worker, 'responses', 'hi', { prefix: '/v2', stream, more: { store: true } })
    const { id } = receivedIn('responses', first)
    const thread = id.replace('resp_', '')
    const session = { 'session.id': thread, 'conversation.id': thread, 'gen_ai.conversation.id': thread }
    t.match((await worker.spanOf(first)).attributes, { 'llm.response.id': id, ...session })
    const more = { previous_response_id: id }
    const second = await askIn(worker, 'responses', 'and', { prefix: '/v2', stream, more })
    t.match((await worker.spanOf(second)).attributes, {
      'llm.response.id': receivedIn('responses', second).id,
      ...session
    })
  }
})

t.test(
  'canary texts of a request and its response are in no span, and with all switches in the attributes for them',
  async t => {
    const question = 'canary-question [[tool:look_up {"where":"canary-argument"}]]'
    const parameters = { type: 'object', properties: { where: { type: 'string', description: 'canary-schema' } } }
    const toolsOf: Record<Family, object[]> = {
      completions: [{ type: 'function', function: { name: 'look_up', parameters } }],
      responses: [{ type: 'function', name: 'look_up', parameters }],
      messages: [{ name: 'look_up', input_schema: parameters }],
      content: [{ functionDeclarations: [{ name: 'look_up', parameters }] }]
    }
    const silent = await startDescribing(t)
    const open = await startDescribing(t, {
      GATEWAY_OBSERVABILITY_CAPTURE_CONTENT: 'true',
      GATEWAY_OBSERVABILITY_CAPTURE_MESSAGES: 'true',
      GATEWAY_OBSERVABILITY_CAPTURE_TOOL_ARGS: 'true',
      GATEWAY_OBSERVABILITY_CAPTURE_RESPONSES: 'true'
    })
    for (const family of families) {
      for (const stream of [false, true]) {
        const { more, ...options } = optionsOf(family, stream)
        const asked = { ...options, more: { ...more, tools: toolsOf[family] } }
        const closed = await silent.spanOf(await askIn(silent, family, question, asked))
        t.match(closed.attributes, { 'llm.tool_calls.names': ['look_up'], 'llm.finish_reason': 'tool_calls' }, family)
        t.notMatch(JSON.stringify(closed), /canary/, family)
        const { attributes, events } = await open.spanOf(await askIn(open, family, question, asked))
        t.match(attributes['input.value'], /canary-question/, family)
        t.match(attributes['llm.tools'], /canary-schema/, family)
        t.match(attributes['llm.tool_calls'], /canary-argument/, family)
        t.match(attributes['llm.output_messages'], /canary-argument/, family)
        t.match(
          events.find(({ name }) => name === 'llm.tool_call')?.attributes['llm.tool_calls'],
          /canary-argument/,
          family
        )
      }
    }
  }
)
