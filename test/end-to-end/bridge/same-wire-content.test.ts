// Clients of the content protocol on a provider of the same protocol: what each of them wrote arrives byte for byte. The path names the model.

import type { ServerResponse } from 'node:http'
import t from 'tap'
import { writeToolCallId } from '../../../worker/normalized/index.ts'
import { writeThoughtSignature } from '../../../worker/protocols/content/client/thought-signature.ts'
import { post, postUntilCut } from '../../support/client.ts'
import { sendJson } from '../../worker/providers/support/stub-upstream.ts'
import { ALIAS, CREDENTIAL, openStream, sendInPieces, startPassing, UPSTREAM_MODEL } from './same-wire-support.ts'

const kind = 'content_compatible' as const

/** What only this wire has: safety settings, cached content, built-in tools, media, unknown members, odd but valid JSON. */
const REQUEST = `{
 "safetySettings": [{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_ONLY_HIGH"}],
 "cachedContent": "cachedContents/abc", "labels": {"team":"a"}, "unknownMember": {"modelVersion":"x","big":12345678901234567890},
 "system_instruction": {"parts":[{"text":"Be brief."}]},
 "tools": [{"googleSearch":{}},{"urlContext":{}},{"codeExecution":{}},{"functionDeclarations":[{"name":"look","behavior":"BLOCKING","response":{"type":"OBJECT"},"parameters":{"type":"OBJECT","properties":{"a":{"type":"NUMBER","format":"float"}}}}]}],
 "toolConfig": {"functionCallingConfig":{"mode":"VALIDATED"},"retrievalConfig":{"latLng":{"latitude":1.50,"longitude":2e0}}},
 "generationConfig": {"candidateCount":2,"topK":40,"stopSequences":["STOP"],"responseModalities":["TEXT","IMAGE"],"responseMimeType":"application/json",
  "maxOutputTokens":256,"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Kore"}}},"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"},"mediaResolution":"MEDIA_RESOLUTION_LOW"},
 "contents": [
  {"role":"user","parts":[{"text":"caf\\u00e9 \\ud83d\\ude00 ä"},{"fileData":{"fileUri":"https://youtu.be/x","mimeType":"video/mp4"},"videoMetadata":{"fps":1}},
   {"inlineData":{"mimeType":"application/pdf","data":"JVBERg=="},"mediaResolution":{"level":"MEDIA_RESOLUTION_HIGH"}}]},
  {"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"RXFCcHJvdmlkZXI="},{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}},
   {"functionCall":{"id":"c1","name":"look","args":{"a":1.0}},"thoughtSignature":"RXFCcHJvdmlkZXI="}]},
  {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"x"},"willContinue":false,"scheduling":"SILENT"}}]}]
}`

const WHOLE = `{ "candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"It STOP is ä.","thoughtSignature":"RXFC"},
   {"functionCall":{"id":"c2","name":"look","args":{"n":12345678901234567890}}},{"inlineData":{"mimeType":"image/png","data":"iVBOR"}}]},
  "finishReason":"STOP","index":0,"citationMetadata":{"citationSources":[]},"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT","probability":"NEGLIGIBLE"}],
  "groundingMetadata":{"searchEntryPoint":{"renderedContent":"<b>"},"webSearchQueries":["sky"]},"avgLogprobs":-0.10},
  {"content":{"parts":[{"text":"two"}]},"finishReason":"STOP","index":1}],
 "usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":7,"thoughtsTokenCount":2,"cachedContentTokenCount":5,"totalTokenCount":20,"promptTokensDetails":[{"modality":"TEXT","tokenCount":11}]},
 "modelVersion" : "${UPSTREAM_MODEL}","responseId":"r1","modelStatus":{"modelStage":"STABLE"} }
`

const frame = (candidate: string, more = '', end = '\r\n\r\n') =>
  `data: {"candidates": [${candidate}],"modelVersion": "${UPSTREAM_MODEL}","responseId": "r1"${more}}${end}`
const text = (value: string, end?: string) =>
  frame(`{"content":{"role":"model","parts":[{"text":"${value}"}]},"index":0}`, '', end)

const BEGUN = text('Hel') + text('lo')
const LAST = frame(
  '{"content":{"role":"model","parts":[{"text":"","thoughtSignature":"RXFC"}]},"finishReason":"STOP","index":0,"groundingMetadata":{"webSearchQueries":["sky"]}}',
  ',"usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":7,"totalTokenCount":18}'
)
const CALL = frame(
  '{"content":{"role":"model","parts":[{"functionCall":{"name":"look","args":{"modelVersion":"mine"}},"thoughtSignature":"RXFC"},{"executableCode":{"language":"PYTHON","code":"1"}}]},"index":0}'
)
const STREAM = `${BEGUN}: a comment\n\n${text('It STOP is ä.', '\n\n')}${CALL}${LAST}`

const asShown = (shown: string) => shown.replaceAll(`"${UPSTREAM_MODEL}"`, `"${ALIAS}"`)

const simple = (more: object = {}) => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }], ...more })
const generate = (url: string) => `${url}/v1beta/models/${ALIAS}:generateContent`
const stream = (url: string, alt = 'sse') => `${url}/v1beta/models/${ALIAS}:streamGenerateContent?alt=${alt}`

function sendWhole(response: ServerResponse, body = WHOLE): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' })
  response.end(body)
}

t.test('a whole request and its response pass byte for byte, but for the model', async t => {
  const { url, sent, stub } = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
  const response = await post(generate(url), REQUEST, {
    'x-goog-api-key': 'client-key',
    'x-goog-api-client': 'genai-js/1',
    'x-custom': 'not sent'
  })
  t.equal(response.status, 200)
  t.equal(sent(), REQUEST)
  t.equal(response.text, asShown(WHOLE))
  const [request] = stub.requests
  t.equal(request?.url, `/v1beta/models/${UPSTREAM_MODEL}:generateContent`)
  const { host: _host, 'user-agent': agent, ...headers } = request?.headers ?? {}
  t.match(agent, /^llm-gateway/)
  t.strictSame(headers, {
    accept: 'text/event-stream, application/json',
    'accept-encoding': 'gzip, deflate',
    connection: 'keep-alive',
    'content-length': String(Buffer.byteLength(REQUEST)),
    'content-type': 'application/json',
    'x-goog-api-key': CREDENTIAL
  })
})

t.test('a stream passes byte for byte, but for the model, wherever its reads are cut', async t => {
  for (const bytes of [5, 64, 100_000]) {
    const { url, sent, stub } = await startPassing(t, { kind }, (_request, response) =>
      sendInPieces(response, STREAM, bytes)
    )
    const response = await post(stream(url), REQUEST)
    t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    t.equal(sent(), REQUEST)
    t.equal(stub.requests[0]?.url, `/v1beta/models/${UPSTREAM_MODEL}:streamGenerateContent?alt=sse`)
    t.equal(response.text, asShown(STREAM))
  }
})

t.test('a stream that the client wants as an array has the same chunks', async t => {
  const { url, stub } = await startPassing(t, { kind }, (_request, response) => sendInPieces(response, STREAM, 50))
  const response = await post(stream(url, 'json'), REQUEST)
  t.equal(stub.requests[0]?.url, `/v1beta/models/${UPSTREAM_MODEL}:streamGenerateContent?alt=sse`)
  const chunks = [...asShown(STREAM).matchAll(/^data: (.*?)\r?$/gm)].map(([, data]) => data)
  t.equal(response.text, `[${chunks.join(',\r\n')}]`)
  t.equal(response.json.length, 5)

  const cut = await startPassing(t, { kind }, (_request, response) => {
    openStream(response)
    response.end(BEGUN)
  })
  const broken = await postUntilCut(stream(cut.url, 'json'), simple())
  t.ok(broken.isCut)
  t.match(broken.json.at(-1), { error: { code: 502 } })
  t.equal(broken.json.length, 3)
})

t.test('the tokens of passed responses are counted, and what the reader does not know is no anomaly', async t => {
  const { url, lines, finished } = await startPassing(t, { kind }, (request, response) =>
    request.url.includes('stream') ? sendInPieces(response, STREAM, 1000) : sendWhole(response)
  )
  await post(generate(url), simple())
  await post(stream(url), simple())
  t.match(await finished(2), [
    { status: 200, lifecycle: 'completed', model: ALIAS, input_tokens: 11, output_tokens: 9 },
    { status: 200, lifecycle: 'completed', model: ALIAS, input_tokens: 11, output_tokens: 7 }
  ])
  t.same(
    lines.filter(({ event }) => event === 'upstream_anomaly'),
    []
  )
})

t.test('the end mark of another wire stays back: SDKs cannot read it', async t => {
  const { url } = await startPassing(t, { kind }, (_request, response) =>
    sendInPieces(response, `${BEGUN}${LAST}data: [DONE]\n\n`)
  )
  t.equal((await post(stream(url), simple())).text, asShown(BEGUN + LAST))
})

t.test(
  'a stream that fails, is cut or cannot be read ends as the family does, and never inside of a frame',
  async t => {
    const failure = `{"error":{"code":503,"message":"Busy ${CREDENTIAL}","status":"UNAVAILABLE"}}`
    const endings: Record<string, (response: ServerResponse) => void> = {
      'has an error': response => response.end(`data: ${failure}\r\n\r\n${text('lost')}`),
      'has an error without a prefix': response => response.end(`${failure}\n\n`),
      'ends without a reason': response => response.end(),
      'ends inside of a frame': response => response.end('data: {"candidates": [{"content":'),
      'loses its connection inside of a frame': response => {
        response.write('data: {"candidates": [{"content":')
        setImmediate(() => setImmediate(() => response.destroy()))
      },
      'has a frame that is no JSON': response => response.end(`data: {"cand\r\n\r\n${text('lost')}`)
    }
    for (const [name, end] of Object.entries(endings)) {
      const { url } = await startPassing(t, { kind }, (_request, response) => {
        openStream(response)
        response.write(BEGUN)
        end(response)
      })
      const { text: shown, isCut } = await postUntilCut(stream(url), simple())
      t.ok(isCut, name)
      t.equal(shown.slice(0, asShown(BEGUN).length), asShown(BEGUN), name)
      const error = JSON.parse(shown.slice(asShown(BEGUN).length))
      t.match(error, { error: { code: /^50[0-9]$/, status: /^[A-Z_]+$/ } }, name)
      t.notMatch(shown, CREDENTIAL, name)
      t.notMatch(shown, 'lost', name)
    }
  }
)

t.test('a failure before the first chunk has a status', async t => {
  const failure = '{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED"}}'
  const { url } = await startPassing(t, { kind }, (_request, response) => {
    openStream(response)
    response.end(`: hello\n\ndata: ${failure}\n\n`)
  })
  const response = await post(stream(url), simple())
  t.equal(response.status, 429)
  t.match(response.json, { error: { status: 'RESOURCE_EXHAUSTED', message: 'Slow down.' } })
  const refusing = await startPassing(t, { kind }, (_request, refused) =>
    sendJson(refused, 400, { error: { code: 400, message: 'Bad cachedContent.', status: 'INVALID_ARGUMENT' } })
  )
  const refused = await post(generate(refusing.url), simple({ cachedContent: 'x' }))
  t.equal(refused.status, 400)
  t.match(refused.json, { error: { status: 'INVALID_ARGUMENT', message: 'Bad cachedContent.' } })
})

t.test('the provider gets no member of the gateway, no alias, and no state of another provider', async t => {
  const { url, sent, stub } = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
  const foreign = writeThoughtSignature({ state: { chat_compatible: { reasoningDetails: '[]' } } })
  const call = { functionCall: { name: 'look', args: {} } }
  const own = { text: 'b', thoughtSignature: 'RXFC' }
  const contents = [
    { role: 'user', parts: [{ text: 'hi' }] },
    {
      role: 'model',
      parts: [
        { text: 'a', thought: true, thoughtSignature: foreign },
        { text: 'c', thought_signature: foreign },
        own,
        { ...call, thoughtSignature: foreign },
        { text: '', thoughtSignature: foreign }
      ]
    },
    { role: 'model', parts: { text: '', thoughtSignature: foreign } },
    { role: 'user', parts: [{ functionResponse: { name: 'look', response: {} } }] }
  ]
  const body = {
    model: `models/${ALIAS}`,
    extra_headers: {},
    extra_body: {},
    cachedContent: 'cachedContents/a',
    contents
  }
  t.equal((await post(generate(url), body)).status, 200)
  t.strictSame(JSON.parse(sent()), {
    cachedContent: 'cachedContents/a',
    contents: [contents[0], { role: 'model', parts: [{ text: 'c' }, own, call] }, contents[3]]
  })
  const sdk = { extra_body: { labels: { a: 'b' }, contents: [] }, extra_headers: { authorization: 'x' }, api_key: 'x' }
  const response = await post(generate(url), simple(sdk))
  t.equal(response.headers.get('x-gateway-ignored'), 'extra_body.contents')
  t.strictSame(JSON.parse(sent()), { ...simple(), labels: { a: 'b' } })
  const refused = await post(generate(url), simple({ extra_body: 'x' }))
  t.match(refused.json, { error: { status: 'INVALID_ARGUMENT', message: /extra_body/ } })
  t.equal(stub.requests.length, 2)
})

t.test('parts without data are left out, as the service refuses them (decisions.md 109)', async t => {
  const { url, sent } = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
  const foreign = writeThoughtSignature({
    state: { messages_compatible: { signature: 'abc' } },
    hiddenText: 'hm'
  })
  const hi = { role: 'user', parts: [{ text: 'hi' }] }
  // So an SDK that leaves out empty texts writes back what it received.
  const contents = [
    hi,
    { role: 'model', parts: [{}, { text: 'a' }, { thought: true }, { thoughtSignature: foreign }, { text: null }] },
    { role: 'user', parts: {} },
    { role: 'model', parts: [{ thought: true, thought_signature: foreign }, {}] },
    { role: 'user', parts: [{ text: 'b' }, { thoughtSignature: 'RXFC' }, { unknownMember: {} }] }
  ]
  for (const system of [{}, { systemInstruction: { parts: [{ text: 's' }] } }]) {
    t.equal((await post(generate(url), { ...system, contents })).status, 200)
    t.strictSame(JSON.parse(sent()), {
      ...system,
      contents: [hi, { role: 'model', parts: [{ text: 'a' }] }, contents[4]]
    })
  }
  const spaced = '{"contents":[{"parts":[ {"text" : "hi"},{} ]},{"role":"model","parts":[{}]}]}'
  t.equal((await post(generate(url), spaced)).status, 200)
  t.equal(sent(), '{"contents":[{"parts":[ {"text" : "hi"} ]}]}')
})

t.test('a call of another provider keeps a signature where the model demands one', async t => {
  const { url, sent } = await startPassing(t, { kind, upstreamModel: 'gemini-3-pro' }, (_request, response) =>
    sendWhole(response)
  )
  const callId = writeToolCallId({ stateId: 'x', name: undefined, callNumber: 0, nonce: '' })
  const thoughtSignature = writeThoughtSignature({ callId })
  const functionCall = { name: 'look', args: {} }
  const contents = [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts: [{ functionCall, thoughtSignature }] },
    { role: 'user', parts: [{ functionResponse: { name: 'look', response: {} } }] }
  ]
  t.equal((await post(generate(url), { contents })).status, 200)
  t.strictSame(JSON.parse(sent()).contents[1].parts, [
    { functionCall, thoughtSignature: 'skip_thought_signature_validator' }
  ])
})

t.test('a wrong shape is the provider’s to refuse, and a limit is that of the alias (decisions.md 72)', async t => {
  const { url, sent } = await startPassing(t, { kind }, (_request, response) => sendWhole(response))
  for (const body of [
    { contents: [{ role: 'user', parts: [{ text: 7 }] }] },
    simple({ generationConfig: { temperature: 'warm' } })
  ]) {
    t.equal((await post(generate(url), body)).status, 200)
    t.strictSame(JSON.parse(sent()), body)
  }
  const limits = { max_output_tokens: 100_000, thinking_config: { thinking_budget: 5000 } }
  const bounded = await post(generate(url), simple({ generation_config: limits }))
  t.equal(
    bounded.headers.get('x-gateway-ignored'),
    'generation_config.max_output_tokens, generation_config.thinking_config.thinking_budget'
  )
  t.match(JSON.parse(sent()), {
    generation_config: { max_output_tokens: 4096, thinking_config: { thinking_budget: 4095 } }
  })
})

t.test('a token count passes with all that the provider counts', async t => {
  const answer =
    '{ "totalTokens": 31, "cachedContentTokenCount": 5, "promptTokensDetails": [{"modality":"IMAGE","tokenCount":26}] }'
  const { url, sent, stub } = await startPassing(t, { kind }, (_request, response) => sendWhole(response, answer))
  const count = `${url}/v1beta/models/${ALIAS}:countTokens`
  const body = '{"contents" : [{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBOR"}}]}]}'
  const response = await post(count, body)
  t.equal(response.text, answer)
  t.equal(sent(), body)
  t.equal(stub.requests[0]?.url, `/v1beta/models/${UPSTREAM_MODEL}:countTokens`)

  const request = { model: `models/${ALIAS}`, contents: [{ parts: [{ text: 'hi' }] }], tools: [{ googleSearch: {} }] }
  t.equal((await post(count, { generateContentRequest: request })).status, 200)
  t.strictSame(JSON.parse(sent()), { generateContentRequest: { ...request, model: `models/${UPSTREAM_MODEL}` } })
  // An empty body holds nothing to count.
  t.same((await post(count, '')).json, { totalTokens: 0 })
  t.equal(stub.requests.length, 2)
})

t.test(
  'parts that other wires do not have are the provider’s to judge, and a response without content stays one',
  async t => {
    const cut = '{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"print()","index":0}]}'
    const gateway = await startPassing(t, { kind }, (_request, response) => sendWhole(response, cut))
    const parts = [
      { newKind: { of: 'next month' } },
      { thoughtSignature: 'RXFC' },
      { fileData: { fileUri: 'gs://bucket/a.mp4', mimeType: 'video/mp4' } }
    ]
    for (const sent of [parts, parts.slice(0, 1)]) {
      const body = JSON.stringify({ contents: [{ role: 'user', parts: sent }] })
      const response = await post(generate(gateway.url), body)
      t.equal(response.status, 200)
      t.equal(response.text, cut)
      t.equal(gateway.sent(), body)
    }
  }
)
