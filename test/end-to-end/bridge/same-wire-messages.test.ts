// Clients of the messages protocol on a provider of the same protocol: what each of them wrote arrives byte for byte, but for the model.

import type { ServerResponse } from 'node:http'
import t from 'tap'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { writeStateSignature } from '../../../worker/protocols/shared/state-signature.ts'
import { post } from '../../support/client.ts'
import { sendJson } from '../../worker/providers/support/stub-upstream.ts'
import { ALIAS, CREDENTIAL, openStream, sendInPieces, startPassing, UPSTREAM_MODEL } from './same-wire-support.ts'

const kind = 'messages_compatible' as const

/** What only this wire has: hints, server tools, documents with citations, features of a beta, unknown members, odd but valid JSON. */
const REQUEST = `{
 "model" : "${ALIAS}", "max_tokens": 2.50e2, "stream": false,
 "system": [{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
 "context_management": {"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":30000}}]},
 "container": {"skills":[{"type":"custom","skill_id":"s1","version":"latest"}]},
 "betas": ["context-management-2025-06-27"], "service_tier":"auto", "inference_geo":"us",
 "mcp_servers": [{"type":"url","url":"https://mcp.example/","name":"m"}],
 "thinking": {"type":"enabled","budget_tokens":1024}, "unknown_member": {"model":"${ALIAS}","big":12345678901234567890},
 "tools": [{"type":"web_search_20250305","name":"web_search","max_uses":3},{"type":"bash_20250124","name":"bash"},
  {"name":"look","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"},"eager_input_streaming":true}],
 "tool_choice": {"type":"auto","disable_parallel_tool_use":true}, "stop_sequences": ["STOP"],
 "messages": [
  {"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"The sky."},"citations":{"enabled":true}},
   {"type":"text","text":"caf\\u00e9 \\ud83d\\ude00 ä","cache_control":{"type":"ephemeral"}}]},
  {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"RXFCcHJvdmlkZXI="},{"type":"redacted_thinking","data":"UkVE"},
   {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"sky"}},
   {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://a.example","title":"A","encrypted_content":"RU5D"}]},
   {"type":"text","text":"Blue.","citations":[{"type":"char_location","cited_text":"The sky.","document_index":0,"start_char_index":0,"end_char_index":8}]},
   {"type":"tool_use","id":"toolu_1","name":"look","input":{"a":1.0}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"x"}]}]}]}]
}`

const asSent = (body: string) => body.replace(`"model" : "${ALIAS}"`, `"model" : "${UPSTREAM_MODEL}"`)

const WHOLE = `{ "id":"msg_01","type":"message","role":"assistant","model": "${UPSTREAM_MODEL}",
 "content":[{"type":"thinking","thinking":"Look.","signature":"RXFCcHJvdmlkZXI="},
  {"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{"query":"model"}},
  {"type":"web_search_tool_result","tool_use_id":"srvtoolu_2","content":[]},
  {"type":"text","text":"It STOP is \\"model\\": \\"${UPSTREAM_MODEL}\\".","citations":[{"type":"web_search_result_location","url":"https://a.example","title":"A","encrypted_index":"RQ==","cited_text":"c"}]},
  {"type":"tool_use","id":"toolu_2","name":"look","input":{"n":12345678901234567890}},{"type":"tool_use","id":"toolu_3","name":"look","input":{}}],
 "stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c1"},"context_management":{"applied_edits":[]},
 "usage":{"input_tokens":11,"cache_creation_input_tokens":3,"cache_read_input_tokens":5,"output_tokens":7,"server_tool_use":{"web_search_requests":1},"new_count":1} }
`

const frame = (type: string, data: string) => `event: ${type}\ndata: ${data}\n\n`

const START = frame(
  'message_start',
  `{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"${UPSTREAM_MODEL}","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":1}}}`
)
const TEXT = (text: string) =>
  frame(
    'content_block_delta',
    `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}`
  )
const TEXT_START = frame(
  'content_block_start',
  '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'
)
const BEGUN = START + TEXT_START + TEXT('Hel')
const END =
  frame('content_block_stop', '{"type":"content_block_stop","index":0}') +
  frame(
    'message_delta',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}'
  ) +
  frame('message_stop', '{"type":"message_stop"}')

const STREAM = [
  START,
  'event: ping\r\ndata: {"type": "ping"}\r\n\r\n',
  ': a comment\n\n',
  frame(
    'content_block_start',
    '{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}'
  ),
  frame(
    'content_block_delta',
    '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Look."}}'
  ),
  frame(
    'content_block_delta',
    '{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"RXFC"}}'
  ),
  frame('content_block_stop', '{"type":"content_block_stop","index":0}'),
  frame(
    'content_block_start',
    '{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{}}}'
  ),
  frame(
    'content_block_delta',
    '{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\\"query\\":"}}'
  ),
  frame('content_block_stop', '{"type":"content_block_stop","index":1}'),
  frame(
    'content_block_start',
    '{"type":"content_block_start","index":2,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_2","content":[]}}'
  ),
  frame('content_block_stop', '{"type":"content_block_stop","index":2}'),
  frame(
    'content_block_start',
    '{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"","citations":[]}}'
  ),
  frame(
    'content_block_delta',
    '{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"It STOP is ä."}}'
  ),
  frame(
    'content_block_delta',
    '{"type":"content_block_delta","index":3,"delta":{"type":"citations_delta","citation":{"type":"char_location"}}}'
  ),
  frame('content_block_stop', '{"type":"content_block_stop","index":3}'),
  ...[4, 5].flatMap(index => [
    frame(
      'content_block_start',
      `{"type":"content_block_start","index":${index},"content_block":{"type":"tool_use","id":"toolu_${index}","name":"look","input":{}}}`
    ),
    frame(
      'content_block_delta',
      `{"type":"content_block_delta","index":${index},"delta":{"type":"input_json_delta","partial_json":"{}"}}`
    ),
    frame('content_block_stop', `{"type":"content_block_stop","index":${index}}`)
  ]),
  frame('an_event_of_tomorrow', '{"type":"an_event_of_tomorrow","model":"x"}'),
  frame(
    'message_delta',
    '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c1"}},"usage":{"output_tokens":9,"cache_read_input_tokens":5},"context_management":{"applied_edits":[]}}'
  ),
  frame('message_stop', '{"type":"message_stop"}')
].join('')

const asShown = (text: string) => text.replace(`"${UPSTREAM_MODEL}"`, `"${ALIAS}"`)

/** A plain request. */
const simple = (more: object = {}) => ({
  model: ALIAS,
  max_tokens: 16,
  messages: [{ role: 'user', content: 'hi' }],
  ...more
})

function sendWhole(response: ServerResponse, text = WHOLE): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(text)
}

t.test('a whole request and its response pass byte for byte, but for the model', async t => {
  const { url, sent, stub } = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
  const response = await post(`${url}/v1/messages?beta=true`, REQUEST, {
    'anthropic-beta': 'context-management-2025-06-27,mcp-client-2025-11-20',
    'anthropic-version': '2023-01-01',
    'x-custom': 'not sent',
    'x-api-key': 'client-key',
    'user-agent': 'client/1'
  })
  t.equal(response.status, 200)
  t.equal(sent(), asSent(REQUEST))
  t.equal(response.text, asShown(WHOLE))
  t.equal(response.headers.get('content-type'), 'application/json')
  const [request] = stub.requests
  t.equal(request?.url, '/v1/messages')
  const { host: _host, 'user-agent': agent, ...headers } = request?.headers ?? {}
  t.match(agent, /^llm-gateway/)
  t.strictSame(headers, {
    accept: 'text/event-stream, application/json',
    'accept-encoding': 'gzip, deflate',
    'anthropic-beta': 'context-management-2025-06-27,mcp-client-2025-11-20',
    'anthropic-version': '2023-06-01',
    connection: 'keep-alive',
    'content-length': String(Buffer.byteLength(asSent(REQUEST))),
    'content-type': 'application/json',
    'x-api-key': CREDENTIAL
  })
})

t.test('a request and a response that are read in threads pass byte for byte too', async t => {
  const env = { GATEWAY_POOL_THREADS: '1', GATEWAY_POOL_THRESHOLD_BYTES: '500' }
  const { url, sent, finished } = await startPassing(t, { kind, env }, (_request, response) => sendWhole(response))
  const response = await post(`${url}/v1/messages`, REQUEST)
  t.equal(sent(), asSent(REQUEST))
  t.equal(response.text, asShown(WHOLE))
  t.match(await finished(1), [{ input_tokens: 19, output_tokens: 7 }])
  const answer = `{"input_tokens":1,"more":"${'x'.repeat(1000)}"}`
  const counting = await startPassing(t, { kind, env }, (_request, counted) => sendWhole(counted, answer))
  const body = JSON.stringify(simple({ messages: [{ role: 'user', content: 'hi'.repeat(1000) }] }))
  t.equal((await post(`${counting.url}/v1/messages/count_tokens`, body)).text, answer)
  t.equal(counting.sent(), body.replace(ALIAS, UPSTREAM_MODEL))
})

t.test('a stream passes byte for byte, but for the model, wherever its reads are cut', async t => {
  for (const bytes of [5, 64, 100_000]) {
    const { url, sent } = await startPassing(t, { kind }, (_request, response) => sendInPieces(response, STREAM, bytes))
    const request = REQUEST.replace('"stream": false', '"stream":  true')
    const response = await post(`${url}/v1/messages`, request)
    t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    t.equal(sent(), asSent(request))
    t.equal(response.text, asShown(STREAM))
  }
})

t.test('the tokens of passed responses are counted, and what the reader does not know is no anomaly', async t => {
  const { url, lines, finished } = await startPassing(t, { kind }, (request, response) =>
    request.body.includes('"stream":true') ? sendInPieces(response, STREAM, 1000) : sendWhole(response)
  )
  await post(`${url}/v1/messages`, simple())
  await post(`${url}/v1/messages`, simple({ stream: true }))
  // The tokens of the cache are input too.
  t.match(await finished(2), [
    { status: 200, lifecycle: 'completed', model: ALIAS, input_tokens: 19, output_tokens: 7 },
    { status: 200, lifecycle: 'completed', model: ALIAS, input_tokens: 16, output_tokens: 9 }
  ])
  t.same(
    lines.filter(({ event }) => event === 'upstream_anomaly'),
    []
  )
})

t.test('an error of the provider ends the stream in the form of the family, behind the frames before it', async t => {
  const failure = `{"type":"error","error":{"type":"overloaded_error","message":"Busy ${CREDENTIAL} at https://inside"}}`
  for (const text of [BEGUN + frame('error', failure) + TEXT('lost'), `${BEGUN}data: ${failure}\n\n`]) {
    for (const bytes of [11, 100_000]) {
      const { url } = await startPassing(t, { kind }, (_request, response) => sendInPieces(response, text, bytes))
      const response = await post(`${url}/v1/messages`, simple({ stream: true }))
      const [passed, error] = splitAt(response.text, asShown(BEGUN).length)
      t.equal(passed, asShown(BEGUN))
      t.match(error, /^event: error\ndata: \{"type":"error","error":\{"type":"[a-z_]+","message":"[^"]+".*\n\n$/)
      t.notMatch(response.text, CREDENTIAL)
      t.notMatch(response.text, 'lost')
    }
  }
})

function splitAt(text: string, at: number): [string, string] {
  return [text.slice(0, at), text.slice(at)]
}

t.test(
  'a stream that is cut, or that no client could read, ends with an error and never inside of a frame',
  async t => {
    const endings: Record<string, (response: ServerResponse) => void> = {
      'ends early': response => response.end(),
      'ends inside of a frame': response => response.end('event: content_block_delta\ndata: {"type":"content_b'),
      'loses its connection inside of a frame': response => {
        response.write('event: content_block_delta\ndata: {"type":"content_b')
        setImmediate(() => setImmediate(() => response.destroy()))
      },
      'has a frame that is no JSON': response =>
        response.end(`${frame('content_block_delta', '{"type":')}${TEXT('lost')}`),
      'has a delta of a block that is not open': response =>
        response.end(TEXT('lost').replaceAll('"index":0', '"index":7')),
      'begins again': response => response.end(START)
    }
    for (const [name, end] of Object.entries(endings)) {
      const { url } = await startPassing(t, { kind }, (_request, response) => {
        openStream(response)
        response.write(BEGUN)
        end(response)
      })
      const response = await post(`${url}/v1/messages`, simple({ stream: true }))
      const [passed, error] = splitAt(response.text, asShown(BEGUN).length)
      t.equal(passed, asShown(BEGUN), name)
      t.match(error, /^event: error\ndata: \{"type":"error","error":\{"type":"api_error",.*\n\n$/, name)
    }
  }
)

t.test('a failure before the first event has a status', async t => {
  const failure = frame('error', '{"type":"error","error":{"type":"rate_limit_error","message":"Slow down."}}')
  for (const text of [
    failure,
    `event: ping\ndata: {"type": "ping"}\n\n${failure}`,
    `: hello\n\n${failure}`,
    START + failure
  ]) {
    const { url } = await startPassing(t, { kind }, (_request, response) => {
      openStream(response)
      response.end(text)
    })
    const response = await post(`${url}/v1/messages`, simple({ stream: true }))
    t.equal(response.status, 429)
    t.match(response.json, { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down.' } })
  }
  const { url } = await startPassing(t, { kind }, (_request, response) =>
    sendJson(response, 400, {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'max_tokens: Field required' }
    })
  )
  const response = await post(`${url}/v1/messages`, { model: ALIAS, messages: [{ role: 'user', content: 'hi' }] })
  t.equal(response.status, 400)
  t.match(response.json, { error: { type: 'invalid_request_error', message: 'max_tokens: Field required' } })
})

t.test('a whole response that cannot be used is an error, and none of it reaches the client', async t => {
  for (const text of [
    '{"id":',
    '[]',
    '{"type":"message","model":"x"}',
    WHOLE.replace('"tool_use","stop_sequence"', '7,"stop_sequence"')
  ]) {
    const { url } = await startPassing(t, { kind }, (_request, response) => sendWhole(response, text))
    const response = await post(`${url}/v1/messages`, simple())
    t.equal(response.status, 502)
    t.match(response.json, { error: { code: 'provider_protocol_error' } })
    t.notMatch(response.text, UPSTREAM_MODEL)
  }
})

t.test('the provider gets no member of the gateway, and no state of another provider', async t => {
  const { url, sent, stub } = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
  const foreign = writeStateSignature({ chat_compatible: { reasoningDetails: '[]' } })
  const thought = (signature: string) => ({ type: 'thinking', thinking: 'a', signature })
  const text = { type: 'text', text: 'b' }
  const body = simple({
    extra_body: null,
    extra_headers: {},
    context_management: { edits: [] },
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [thought(foreign), text, thought('RXFC')] },
      { role: 'assistant', content: [thought('Z2F0ZXdheQ==')] },
      { role: 'user', content: 'more' }
    ]
  })
  t.equal((await post(`${url}/v1/messages`, body)).status, 200)
  t.strictSame(JSON.parse(sent()), {
    model: UPSTREAM_MODEL,
    max_tokens: 16,
    context_management: { edits: [] },
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [text, thought('RXFC')] },
      { role: 'user', content: 'more' }
    ]
  })
  const own = { extra_body: { top_k: 5, model: 'x' }, extra_headers: { authorization: 'x' }, api_key: 'x' }
  const response = await post(`${url}/v1/messages`, simple(own))
  t.equal(response.headers.get('x-gateway-ignored'), 'extra_body.model')
  t.strictSame(JSON.parse(sent()), { ...simple(), model: UPSTREAM_MODEL, top_k: 5 })
  t.match((await post(`${url}/v1/messages`, simple({ extra_body: 'x' }))).json, { error: { message: /extra_body/ } })
  t.equal(stub.requests.length, 2)
})

t.test('a body that parsers may read in two ways is written anew', async t => {
  const { url, sent } = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
  await post(
    `${url}/v1/messages`,
    `{"model":"other","model":"${ALIAS}","max_tokens":9,"max_tokens":8,"messages":[{"role":"user","content":"hi"}]}`
  )
  t.equal(sent(), `{"model":"${UPSTREAM_MODEL}","max_tokens":8,"messages":[{"role":"user","content":"hi"}]}`)
})

t.test(
  'what the alias declares is still admitted, before any call; a wrong shape is the provider’s to refuse',
  async t => {
    const { url, stub, sent } = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
    for (const members of [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, { temperature: 'warm' }]) {
      const body = simple(members)
      t.equal((await post(`${url}/v1/messages`, body)).status, 200)
      t.strictSame(JSON.parse(sent()), { ...body, model: UPSTREAM_MODEL })
    }
    const bounded = await post(`${url}/v1/messages`, simple({ max_tokens: 100_000 }))
    t.equal(bounded.headers.get('x-gateway-ignored'), 'max_tokens')
    t.match(JSON.parse(sent()), { max_tokens: 4096 })
    t.equal(stub.requests.length, 3)

    const features = FEATURE_NAMES.filter(name => name !== 'image_references' && name !== 'function_tools')
    const plain = await startPassing(t, { kind, features }, (_request, response) => sendWhole(response))
    const image = { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } }
    const undeclared: Array<[object, RegExp]> = [
      [simple({ messages: [{ role: 'user', content: [image] }] }), /^messages\.0\.content\.0/],
      [simple({ tools: [{ name: 'look', input_schema: { type: 'object' } }] }), /^tools/]
    ]
    for (const [body, message] of undeclared) {
      const response = await post(`${plain.url}/v1/messages`, body)
      t.match(response.json, { error: { code: 'unsupported_semantic', message } })
    }
    t.equal(plain.stub.requests.length, 0)
  }
)

t.test('a token count passes with all that the provider counts', async t => {
  const answer = '{ "input_tokens": 2095, "context_management": {"original_input_tokens": 3000} }'
  const { url, sent, stub } = await startPassing(t, { kind }, (_request, response) => sendWhole(response, answer))
  const body = `{"model": "${ALIAS}", "thinking": {"type":"enabled","budget_tokens":1024}, "tools": [{"type":"web_search_20250305","name":"web_search"}],
    "messages": [{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a.example/a.png"}}]}]}`
  const response = await post(`${url}/v1/messages/count_tokens`, body, { 'anthropic-beta': 'a-beta' })
  t.equal(response.status, 200)
  t.equal(response.text, answer)
  t.equal(response.headers.get('x-gateway-token-count'), null)
  t.equal(sent(), body.replace(ALIAS, UPSTREAM_MODEL))
  t.match(stub.requests[0], { url: '/v1/messages/count_tokens', headers: { 'anthropic-beta': 'a-beta' } })
  t.match(stub.requests[0]?.headers, { 'x-api-key': CREDENTIAL, 'anthropic-version': '2023-06-01' })

  const broken = await startPassing(t, { kind }, (_request, response) => sendWhole(response, '{"input_tokens":-1}'))
  const refused = await post(`${broken.url}/v1/messages/count_tokens`, body)
  t.equal(refused.status, 502)
  t.match(refused.json, { error: { code: 'provider_protocol_error' } })
})

t.test('a slow client gets every byte', async t => {
  const text = BEGUN + TEXT('x'.repeat(4000)).repeat(300) + END
  const { url } = await startPassing(t, { kind }, (_request, response) => {
    openStream(response)
    response.end(text)
  })
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', body: JSON.stringify(simple({ stream: true })) })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const pieces: Uint8Array[] = []
  for (let count = 0; ; count++) {
    // Each pause lets the buffers between the two run full.
    if (count % 20 === 0) await new Promise(resolve => setTimeout(resolve, 20))
    const { done, value } = await reader.read()
    if (done) break
    pieces.push(value)
  }
  // A message about a difference would hold both.
  t.ok(Buffer.concat(pieces).toString('utf8') === asShown(text))
})

t.test('a client that leaves ends the call to the provider', async t => {
  const { url, stub } = await startPassing(t, { kind }, (_request, response) => {
    openStream(response)
    response.write(BEGUN)
  })
  const aborted = stub.nextAbort()
  const controller = new AbortController()
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify(simple({ stream: true })),
    signal: controller.signal
  })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  controller.abort()
  await aborted
  await reader.closed.catch(() => undefined)
  t.equal(stub.requests.length, 1)
})

t.test(
  'a tool that the client runs for the service may be forced, and its name is the provider’s to judge',
  async t => {
    const gateway = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
    for (const name of ['bash', 'of_a_toolset']) {
      const tools = [{ type: 'bash_20250124', name: 'bash' }]
      const messages = [{ role: 'user', content: 'hi' }]
      const body = JSON.stringify({ model: ALIAS, max_tokens: 9, tools, tool_choice: { type: 'tool', name }, messages })
      const response = await post(`${gateway.url}/v1/messages`, body)
      t.equal(response.status, 200, response.text)
      t.equal(gateway.sent(), body.replace(ALIAS, UPSTREAM_MODEL))
    }
  }
)

t.test(
  'messages-digits-emptytext, messages-digits-count: digits stay where something is taken out (decisions.md 72)',
  async t => {
    const { url, sent } = await startPassing(t, { kind }, (request, response) =>
      sendWhole(response, request.url?.endsWith('count_tokens') === true ? '{"input_tokens":9}' : WHOLE)
    )
    const write = (model: string, empty: string) =>
      `{"model":"${model}","messages":[{"role":"user","content":"q"},${empty}{"role":"user","content":"q2"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"id":1234567890123456789,"z":1.0,"e":1e5,"u":"\\u041f"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}]}`
    const empty = '{"role":"assistant","content":[{"type":"text","text":""}]},'
    for (const path of ['messages', 'messages/count_tokens']) {
      t.equal((await post(`${url}/v1/${path}`, write(ALIAS, empty))).status, 200)
      t.equal(sent(), write(UPSTREAM_MODEL, ''))
    }
  }
)

t.test('a thread is refused in the words that the SDK continues without one after', async t => {
  const { url, stub } = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
  const response = await post(`${url}/v1/messages`, simple({ thread: { type: 'create' } }))
  t.equal(response.status, 400)
  t.match(response.text, /thread_unsupported_request/)
  t.equal(stub.requests.length, 0)
})
