// The attributes, events and status of spans (operations.md 11.2 to 11.6).

import t from 'tap'
import { GatewayError, type NormalizedEvent } from '../../../../worker/normalized/index.ts'
import type { CaptureSwitches } from '../../../../worker/observation/tracing/capture-switches.ts'
import { createSpanDescriber } from '../../../../worker/observation/tracing/describe-span.ts'
import type { EmbeddingsDescription } from '../../../../worker/translation/call-description.ts'
import { findOperation } from '../../../support/operations.ts'
import {
  CANARY,
  chat,
  type EndedOptions,
  EVERYTHING,
  endedRequest,
  NOTHING,
  SECRET,
  toolCallEvents,
  usage
} from './support.ts'

function describe(options: EndedOptions = {}) {
  return createSpanDescriber(options.capture ?? NOTHING).describeRequest(endedRequest(options))
}

const common = {
  request_id: 'r1',
  trace_id: 't1',
  span_id: 's1',
  protocol: 'openai',
  route: '/v1/chat/completions',
  method: 'POST',
  model_requested: 'm',
  model_effective: 'up',
  'caller.name': 'openai-python',
  'caller.category': 'sdk',
  'caller.client_family': 'openai',
  'caller.sdk': 'openai-python',
  'caller.user_agent': 'OpenAI/Python 1.0',
  'caller.agent_id': 'a7',
  annotations:
    '{"caller":{"agent_id":"a7","category":"sdk","client_family":"openai","name":"openai-python","sdk":"openai-python",' +
    '"user_agent":"OpenAI/Python 1.0"}}',
  metadata:
    '{"client_request_id":"mine","lifecycle":"request_completed","model_source":"payload","path":"/v1/chat/completions"}',
  latency_ms: 12.346,
  status: 'OK',
  'otel.status_code': 'OK',
  'http.request.method': 'POST',
  'http.route': '/v1/chat/completions',
  'http.response.status_code': 200
}

t.test('a chat that succeeded has exactly the attributes of the contract, and no content', async t => {
  const { name, attributes, error } = describe({ events: toolCallEvents })
  t.equal(name, 'Chat-Completions')
  t.equal(error, undefined)
  t.same(attributes, {
    ...common,
    'gateway.api_format': 'chat_completions',
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'm',
    'llm.provider': 'native',
    'llm.operation': 'chat',
    'llm.request.type': 'chat',
    'llm.streaming': false,
    'llm.input_messages.count': 2,
    'llm.tools.count': 1,
    'llm.tools.names': ['weather'],
    'llm.tool_choice': '{"name":"weather","type":"function"}',
    'llm.invocation_parameters':
      '{"frequency_penalty":0.2,"max_tokens":64,"presence_penalty":0.1,"seed":1,"temperature":0.5,"top_k":3,"top_p":0.9}',
    'llm.response_format': 'json_schema',
    'llm.output_messages.count': 1,
    'llm.tool_calls.count': 1,
    'llm.tool_calls.names': ['weather'],
    'llm.response.status': 'OK',
    'llm.response.id': 'chatcmpl-r1',
    'llm.response.metadata': '{"upstream_x_request_id":"x1"}',
    'llm.finish_reasons': ['tool_calls'],
    'llm.finish_reason': 'tool_calls',
    'llm.token_count.prompt': 12,
    'llm.token_count.completion': 34,
    'llm.token_count.total': 46,
    input_tokens: 12,
    output_tokens: 34,
    total_tokens: 46,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'native',
    'gen_ai.request.model': 'm',
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.top_p': 0.9,
    'gen_ai.request.top_k': 3,
    'gen_ai.request.max_tokens': 64,
    'gen_ai.request.seed': 1,
    'gen_ai.request.presence_penalty': 0.1,
    'gen_ai.request.frequency_penalty': 0.2,
    'gen_ai.response.id': 'chatcmpl-r1',
    'gen_ai.response.model': 'up:1',
    'gen_ai.response.finish_reasons': ['tool_calls'],
    'gen_ai.usage.input_tokens': 12,
    'gen_ai.usage.output_tokens': 34,
    'gen_ai.usage.cache_read.input_tokens': 2,
    'gen_ai.usage.reasoning.output_tokens': 4
  })
})

t.test('keys 17: the span of a call has its cost, and none where no price is known', async t => {
  const facts = { model: 'm', upstreamModel: 'up', providerKind: 'native' }
  t.equal(describe({ facts: { ...facts, costNanos: 1_230_000 } }).attributes['gateway.cost'], 0.00123)
  t.notOk('gateway.cost' in describe({ facts }).attributes)
})

t.test('every route of a call has its name, format and operation', async t => {
  const rows = [
    ['/chat/completions', 'Chat-Completions', 'chat_completions', 'chat', 'chat'],
    ['/responses', 'Responses-API', 'responses', 'responses', 'chat'],
    ['/messages', 'Messages-API', 'messages', 'chat', 'chat'],
    ['/models/{model}:generateContent', 'Content-Generation', 'generate_content', 'chat', 'generate_content'],
    ['/models/{model}:streamGenerateContent', 'Content-Generation', 'generate_content', 'chat', 'generate_content'],
    ['/embeddings', 'Embeddings', 'embeddings', 'embeddings', 'embeddings'],
    ['/models/{model}:embedContent', 'Embeddings', 'embeddings', 'embeddings', 'embeddings'],
    ['/models/{model}:batchEmbedContents', 'Embeddings', 'embeddings', 'embeddings', 'embeddings']
  ] as const
  const contract = ['', '/v1', '/v2']
  const beta = ['/v1beta', '/v1/v1beta', '/v2/v1beta']
  for (const [path, spanName, apiFormat, operation, genAiOperation] of rows) {
    for (const prefix of path.startsWith('/models/') ? [...contract, ...beta] : contract) {
      t.match(findOperation(prefix + path)?.span, { spanName, apiFormat, operation, genAiOperation }, prefix + path)
    }
  }
  const others = ['unmatched', '/health', '/v1/models', '/v1/messages/count_tokens', '/debug/explain/responses', '/']
  for (const other of [...others, '/v1/models/{model}:countTokens', '/models/constructor']) {
    t.equal(findOperation(other)?.span, undefined, other)
  }
})

t.test('any other request is a gateway.request with the facts of its end', async t => {
  const { name, attributes, events } = describe({
    facts: {},
    description: undefined,
    view: { route: 'unmatched', path: '/nope', protocol: 'system', caller: { name: 'unknown', category: 'unknown' } },
    closed: { status: 404, lifecycle: 'request_error', errorType: 'http_404' }
  })
  t.equal(name, 'gateway.request')
  t.same(events, [])
  t.match(attributes, { status_code: 404, error_type: 'http_404', status: 'ERROR', 'caller.name': 'unknown' })
  for (const name of ['gateway.api_format', 'llm.provider', 'http.route', 'caller.sdk', 'model_requested']) {
    t.notOk(name in attributes, name)
  }
})

t.test('a call that is refused before its provider is chosen has the name of its operation', async t => {
  const options = { facts: {}, description: undefined, closed: { status: 404, errorType: 'http_404' } }
  const { name, attributes, error } = describe({ ...options, view: { readRefusedModel: () => 'm' } })
  t.equal(name, 'Chat-Completions')
  t.match(attributes, { model_requested: 'm', status_code: 404, error_type: 'http_404', 'error.type': 'http_404' })
  t.match(attributes, { 'gateway.api_format': 'chat_completions', status: 'ERROR', 'llm.response.status': 'ERROR' })
  t.same(error, { description: 'http_404' })
  for (const name of ['llm.provider', 'llm.model_name', 'gen_ai.provider.name', 'gen_ai.request.model']) {
    t.notOk(name in attributes, name)
  }
  for (const method of ['GET', 'OPTIONS']) {
    t.equal(describe({ ...options, view: { method } }).name, 'gateway.request', `${method} asks for no model`)
  }
})

t.test('a failed call that was not followed has the model only where the client named it', async t => {
  const facts = { model: 'default', upstreamModel: 'up', providerKind: 'native' }
  const options = { description: undefined, closed: { status: 500 } }
  t.notOk('model_requested' in describe({ ...options, facts }).attributes)
  t.match(describe({ ...options, facts: { ...facts, requestedModel: 'm' } }).attributes, { model_requested: 'm' })
})

t.test('a call that failed keeps its name and has the facts of its end', async t => {
  const ended = endedRequest({
    closed: {
      status: 500,
      lifecycle: 'request_error',
      errorType: 'http_500',
      failure: new GatewayError('provider_failure', { message: CANARY })
    }
  })
  ended.record.upstreamCall = { operation: 'chat', attempt: 0, status: '500', httpStatus: 500, durationMs: 3.5 }
  const { name, attributes, error } = createSpanDescriber(NOTHING).describeRequest(ended)
  t.equal(name, 'Chat-Completions')
  t.match(attributes, {
    status: 'ERROR',
    'otel.status_code': 'ERROR',
    'llm.response.status': 'ERROR',
    status_code: 500,
    provider: 'native',
    stream: false,
    upstream_latency_ms: 3.5,
    error_type: 'http_500',
    'error.type': 'http_500'
  })
  t.notOk('llm.output_messages.count' in attributes)
  t.same(error, { description: 'http_500' })
  t.notMatch(JSON.stringify(attributes), CANARY)
  const captured = createSpanDescriber(EVERYTHING).describeRequest(ended)
  t.match(captured.attributes, { error_message: CANARY, 'error.message': CANARY })
  t.same(captured.error, { description: CANARY })
})

t.test('a failure without a type is described by its status', async t => {
  t.same(describe({ facts: {}, closed: { status: 418, errorType: undefined } }).error, { description: 'HTTP 418' })
})

t.test('the ids of responses are those that clients see', async t => {
  const start: NormalizedEvent = { type: 'start', providerModel: null, metadata: {} }
  const named: NormalizedEvent = { ...start, identity: { id: 'up-1' } }
  const stored: NormalizedEvent = { ...start, conversationId: 'thread-1' }
  const rows = [
    ['completions', start, 'chatcmpl-r1'],
    ['completions', named, 'up-1'],
    ['responses', start, 'resp_r1'],
    ['responses', stored, 'resp_thread-1'],
    ['messages', named, 'msg_r1'],
    ['content', named, 'r1']
  ] as const
  for (const [protocol, event, id] of rows) {
    const { attributes } = describe({ description: { ...chat, protocol }, events: [event] })
    t.match(attributes, { 'llm.response.id': id, 'gen_ai.response.id': id }, `${protocol} ${id}`)
  }
  t.notOk('llm.response.id' in describe().attributes, 'no response began')
})

t.test('only responses have a session: the thread, else the response that is continued', async t => {
  const description = { ...chat, protocol: 'responses', previousResponseId: 'resp_before' } as const
  const route = { route: '/v1/responses' }
  const finish: NormalizedEvent = {
    type: 'finish',
    reason: 'stop',
    providerReason: null,
    metadata: { upstream_thread_id: 't9' }
  }
  const session = (id: string) => ({ 'session.id': id, 'conversation.id': id, 'gen_ai.conversation.id': id })
  t.match(describe({ description, view: route }).attributes, session('before'))
  t.match(describe({ description, view: route, events: [finish] }).attributes, session('t9'))
  t.match(
    describe({ description: { ...description, previousResponseId: 'bare' }, view: route }).attributes,
    session('bare')
  )
  const other = describe({ description: { ...description, protocol: 'messages' }, events: [finish] }).attributes
  t.notOk(Object.keys(other).some(name => /session|conversation/.test(name)))
})

t.test('embeddings have attributes of their own', async t => {
  const description: EmbeddingsDescription = {
    type: 'embeddings',
    requestedModel: undefined,
    inputCount: 2,
    encodingFormat: 'base64',
    dimensions: 8,
    user: 'u1',
    messages: { value: [CANARY], isCut: false }
  }
  const options = { description, view: { route: '/v1/embeddings' } }
  const { name, attributes } = describe(options)
  t.equal(name, 'Embeddings')
  t.match(attributes, {
    'openinference.span.kind': 'EMBEDDING',
    'llm.operation': 'embeddings',
    'llm.request.type': 'embeddings',
    'embedding.model_name': 'm',
    'embedding.provider': 'native',
    'embedding.operation': 'embeddings',
    'embedding.input.count': 2,
    'embedding.output.count': 2,
    'embedding.encoding_format': 'base64',
    'embedding.dimensions': 8,
    user: 'u1',
    'gen_ai.operation.name': 'embeddings',
    metadata: /"model_source":"default"/
  })
  t.notOk('llm.tools.count' in attributes)
  t.notOk('model_requested' in attributes)
  t.notMatch(JSON.stringify(attributes), CANARY)
  t.equal(describe({ ...options, capture: EVERYTHING }).attributes['input.value'], `["${CANARY}"]`)
})

t.test('content needs its own switch and the main switch', async t => {
  const kinds = {
    messages: ['llm.input_messages', 'input.value'],
    responses: ['llm.output_messages', 'output.value'],
    toolArguments: ['llm.tools', 'llm.tool_calls']
  } as const
  const always = ['llm.request.extensions', 'error_message', 'error.message']
  const options: EndedOptions = {
    events: toolCallEvents,
    closed: { errorType: 'x', failure: { code: 'c', message: CANARY, ownMessage: 'own' } }
  }
  const named = (capture: CaptureSwitches) => {
    const { attributes } = describe({ ...options, capture })
    const names = [...Object.values(kinds).flat(), ...always]
    return names.filter(name => name in attributes)
  }
  t.same(named({ ...EVERYTHING, content: false }), [], 'nothing without the main switch')
  t.same(named({ ...NOTHING, content: true }), always)
  for (const [kind, names] of Object.entries(kinds)) {
    t.same(named({ ...NOTHING, content: true, [kind]: true }), [...names, ...always], kind)
  }
})

t.test('captured content is redacted, and arguments of tools need the switch of tools everywhere', async t => {
  const capture = { ...EVERYTHING, toolArguments: false }
  const { attributes } = describe({ events: toolCallEvents, capture })
  t.equal(attributes['input.value'], `[{"content":"${CANARY} ***","role":"user"}]`)
  t.equal(attributes['llm.request.extensions'], `{"api_key":"***","note":"${CANARY}"}`)
  t.equal(
    attributes['llm.output_messages'],
    `[{"content":"Hello ${CANARY}","role":"assistant","tool_calls":[{"id":"call_1","name":"weather"}]}]`
  )
  t.equal(attributes['output.value'], `Hello ${CANARY}`)
  const all = describe({ events: toolCallEvents, capture: EVERYTHING }).attributes
  t.equal(all['llm.tool_calls'], `[{"arguments":"{\\"city\\":\\"${CANARY}\\"}","id":"call_1","name":"weather"}]`)
  t.notMatch(JSON.stringify(all), SECRET)
})

t.test('the metadata of a response holds neither what tools were given nor what they returned', async t => {
  const tools = JSON.stringify([{ index: 0, name: 'f', arguments: { a: CANARY }, result: CANARY, role: 'tool' }])
  const { attributes } = describe({
    events: [
      {
        type: 'start',
        providerModel: null,
        metadata: { upstream_called_tools: tools, upstream_tool_results: '[broken' }
      }
    ]
  })
  t.equal(attributes['llm.response.metadata'], '{"upstream_called_tools":[{"index":0,"name":"f","role":"tool"}]}')
})

t.test('the events of a stream have the facts of the call, and those of its end', async t => {
  const { events } = describe({ events: toolCallEvents, isStream: true })
  const facts = { 'llm.model_name': 'm', 'llm.provider': 'native', 'openinference.span.kind': 'LLM' }
  t.match(events, [
    { name: 'stream.start', atMs: 10, attributes: { ...facts, 'stream.event.type': 'start', 'stream.sequence': 0 } },
    { name: 'stream.first_token', attributes: { ...facts, 'stream.event.type': 'text-delta', 'stream.sequence': 2 } },
    {
      name: 'stream.tool_call_delta',
      attributes: { 'llm.tool_call.name': 'weather', 'llm.tool_call.id': 'call_1', 'llm.tool_calls.names': ['weather'] }
    },
    {
      name: 'llm.tool_call',
      attributes: {
        'llm.tool_call.index': 0,
        'llm.tool_call.name': 'weather',
        'llm.tool_call.id': 'call_1',
        'llm.tool_call.status': 'completed',
        'llm.tool_call.source': 'response.message'
      }
    },
    { name: 'stream.completed', attributes: { total_tokens: 46, 'llm.finish_reason': 'tool_calls' } }
  ])
  t.notMatch(JSON.stringify(events), CANARY)
})

t.test('events hold content with both switches only', async t => {
  const shown = (capture: CaptureSwitches) =>
    describe({ events: toolCallEvents, isStream: true, capture }).events.map(({ attributes }) => attributes)
  const all = shown(EVERYTHING)
  t.equal(all[1]?.content, `Hello ${CANARY}`)
  t.equal(all[3]?.['llm.tool_calls'], `{"city":"${CANARY}"}`)
  t.notMatch(JSON.stringify(shown({ ...EVERYTHING, content: false })), CANARY)
})

t.test('a stream that was cancelled or that failed says so', async t => {
  const events = toolCallEvents.slice(0, 3)
  const cancelled = describe({
    events,
    isStream: true,
    closed: { status: 499, lifecycle: 'streaming_aborted', errorType: 'stream_cancelled' }
  })
  t.match(cancelled.events.at(-1), {
    name: 'stream.aborted',
    attributes: { error_type: 'stream_cancelled', status: 'ERROR', status_code: 499 }
  })
  t.equal(cancelled.events.at(-1)?.atMs, 5 + 12.34567)
  t.same(cancelled.error, { description: 'stream_cancelled' })
  const failure = new GatewayError('rate_limited', { message: CANARY })
  const failed = describe({
    events: [...events, { type: 'error', error: failure }],
    isStream: true,
    closed: { lifecycle: 'streaming_aborted', errorType: 'http_429', failure }
  })
  t.same(
    failed.events.map(({ name }) => name),
    ['stream.start', 'stream.first_token', 'stream.error']
  )
  t.match(failed.events.at(-1)?.attributes, { error_type: 'http_429', error_code: 'rate_limited' })
  t.notMatch(JSON.stringify(failed), CANARY)
})

t.test('the call to the provider has a span of its own, with the conventions alone', async t => {
  const describer = createSpanDescriber(NOTHING)
  const span = describer.describeCall(endedRequest({ events: toolCallEvents }), { 'server.address': 'up.example' })
  t.equal(span?.name, 'chat up')
  t.match(span?.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'up',
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'server.address': 'up.example'
  })
  t.notOk(Object.keys(span?.attributes ?? {}).some(name => name.startsWith('llm.')))
  t.equal(describer.describeCall(endedRequest({ facts: {} })), undefined)
})

t.test('no text of a request or a response is in a span or an event by default', async t => {
  const span = describe({ events: toolCallEvents, isStream: true })
  t.notMatch(JSON.stringify(span), new RegExp(`${CANARY}|${SECRET}`))
})
