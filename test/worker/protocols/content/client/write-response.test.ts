import t from 'tap'
import {
  type EventAssembler,
  type FinishReason,
  GatewayError,
  type NormalizedUsage
} from '../../../../../worker/normalized/index.ts'
import { mapFinishReason } from '../../../../../worker/protocols/content/client/finish-reason.ts'
import { createContentStreamWriter } from '../../../../../worker/protocols/content/client/stream.ts'
import { readThoughtSignature } from '../../../../../worker/protocols/content/client/thought-signature.ts'
import { unwrapString, writeUsage } from '../../../../../worker/protocols/content/client/write-response.ts'
import { eventsOf, model, requestId, responseContext, withEnum, withThoughts, writeResponse } from './support.ts'

const parts = (build: (assembler: EventAssembler) => void, body = {}) =>
  writeResponse(eventsOf(build), body).candidates[0].content.parts

t.test('a response has every member of the protocol, and one candidate', async t => {
  const usage = {
    inputTokens: 19,
    cacheReadTokens: 5,
    cacheWriteTokens: null,
    outputTokens: 8,
    reasoningTokens: null,
    totalTokens: 27
  }
  const response = writeResponse(
    eventsOf(assembler => {
      assembler.text('Hello')
      assembler.finish({ reason: 'stop', providerReason: 'stop', metadata: { upstream_x_request_id: 'x' } }, usage)
    })
  )
  t.equal(
    JSON.stringify(response),
    JSON.stringify({
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: [{ text: 'Hello' }] },
          finishReason: 'STOP',
          safetyRatings: []
        }
      ],
      modelVersion: model,
      responseId: requestId,
      usageMetadata: { promptTokenCount: 19, candidatesTokenCount: 8, totalTokenCount: 27, cachedContentTokenCount: 5 }
    })
  )
})

t.test('only an empty response has an empty text (A7, G2)', async t => {
  t.strictSame(
    parts(() => undefined),
    [{ text: '' }]
  )
  t.strictSame(
    parts(assembler => assembler.reasoning('hm')),
    [{ text: '' }]
  )
  t.strictSame(
    parts(assembler => assembler.toolCall({ id: 'a', name: 'f' }, '{}')),
    [{ functionCall: { id: 'a', name: 'f', args: {} } }]
  )
})

t.test('adjacent texts are one part, in the order of the response', async t => {
  t.strictSame(
    parts(assembler => {
      assembler.text('a')
      assembler.closeBlock()
      assembler.text('b')
      assembler.toolCall({ id: '1', name: 'f' }, '{"x":1}')
      assembler.refusal('c')
      assembler.text('d')
    }),
    [{ text: 'ab' }, { functionCall: { id: '1', name: 'f', args: { x: 1 } } }, { text: 'cd' }]
  )
})

t.test('thoughts are shown only on request, separated by line feeds', async t => {
  const build = (assembler: EventAssembler) => {
    assembler.reasoning('one')
    assembler.closeBlock()
    assembler.reasoning('two')
    assembler.text('a')
    assembler.reasoning('three')
    assembler.blockState({ messages_compatible: { signature: 's' } })
    assembler.closeBlock()
    assembler.reasoning('four')
  }
  const [first, text, signed, last] = parts(build, withThoughts)
  t.strictSame(first, { text: 'one\ntwo', thought: true })
  t.strictSame(text, { text: 'a' })
  t.match(signed, { text: 'three', thought: true, thoughtSignature: /^[A-Za-z0-9+/]+=*$/ })
  t.strictSame(last, { text: 'four', thought: true })
  // What the provider signed comes back with the signature, without being shown.
  const hidden = parts(build)
  t.strictSame(hidden[0], { text: 'a' })
  t.match(hidden[1], { text: '', thought: true })
  t.match(readThoughtSignature(hidden[1]?.thoughtSignature), {
    hiddenText: 'three',
    state: { messages_compatible: { signature: 's' } }
  })
  t.equal(hidden.length, 2)
  // Some providers want the thought of a turn with calls back (decisions.md 81).
  const wanted = parts(assembler => {
    assembler.reasoning('five')
    assembler.blockState({ chat_compatible: { reasoningName: 'reasoning_content' } })
  })
  t.match(wanted[0], { text: '', thought: true })
  t.match(readThoughtSignature(wanted[0]?.thoughtSignature), {
    hiddenText: 'five',
    state: { chat_compatible: { reasoningName: 'reasoning_content' } }
  })
})

t.test('a signature ends its part, in texts, calls and files', async t => {
  const sign = (thoughtSignature: string) => ({ content_compatible: { thoughtSignature } })
  const build = (assembler: EventAssembler) => {
    assembler.text('a')
    assembler.blockState(sign('s1'))
    assembler.text('b')
    assembler.opaqueText(sign('s2'))
    assembler.startToolCall({ id: '1', name: 'f' })
    assembler.blockState(sign('s3'))
    assembler.closeBlock()
    assembler.file({ fileId: 'f1', mediaType: 'image/png' }, sign('s4'))
  }
  t.strictSame(parts(build), [
    { text: 'a', thoughtSignature: 's1' },
    { text: 'b', thoughtSignature: 's2' },
    { functionCall: { id: '1', name: 'f', args: {} }, thoughtSignature: 's3' },
    { fileData: { fileUri: 'files/f1', mimeType: 'image/png' }, thoughtSignature: 's4' }
  ])
})

t.test('arguments are always an object', async t => {
  const args = (text: string) => {
    const [part] = parts(assembler => assembler.toolCall({ id: 'a', name: 'f' }, text))
    return part !== undefined && 'functionCall' in part ? part.functionCall.args : undefined
  }
  t.strictSame(args(''), {})
  t.strictSame(args('{"a":[1]}'), { a: [1] })
  for (const text of ['[1]', '"x"', 'null', '{"a"']) t.strictSame(args(text), { arguments: text }, 'decisions.md 113')
})

t.test('a function in a namespace has one flat name', async t => {
  const [part] = parts(assembler => assembler.toolCall({ id: 'a', name: 'f', namespace: 'geo' }, ''))
  t.match(part, { functionCall: { name: 'geo__f' } })
})

t.test('a file has its bytes, or its name for later requests', async t => {
  t.strictSame(
    parts(assembler => {
      assembler.file({ fileId: '1', mediaType: 'image/jpeg', base64: 'AAEC' })
      assembler.file({ fileId: '2', mediaType: 'image/jpeg' })
      assembler.file({ fileId: '3', base64: 'AA==' })
    }),
    [
      { inlineData: { mimeType: 'image/jpeg', data: 'AAEC' } },
      { fileData: { fileUri: 'files/2', mimeType: 'image/jpeg' } },
      { inlineData: { mimeType: 'application/octet-stream', data: 'AA==' } }
    ]
  )
})

t.test('sources are the cited ones, or all found ones without citations, each URL once', async t => {
  const found = [
    { id: '1', url: 'https://a.test/', title: 'A' },
    { id: '2', url: 'https://b.test/', title: 'B' },
    { id: '3', url: 'https://a.test/', title: 'A again' }
  ]
  const cite = (assembler: EventAssembler, url: string) =>
    assembler.citation({ type: 'url-citation', startIndex: 0, endIndex: 0, url, title: 'T' })
  const grounding = (cites: string[]) =>
    writeResponse(
      eventsOf(assembler => {
        const index = assembler.startHostedTool({ kind: 'web_search', name: 'web_search' })
        assembler.endHostedTool(index, { status: 'completed', sources: found })
        assembler.text('News.')
        for (const url of cites) cite(assembler, url)
      })
    ).candidates[0].groundingMetadata?.groundingChunks.map(({ web }) => web)
  t.strictSame(grounding([]), [
    { uri: 'https://a.test/', title: 'A' },
    { uri: 'https://b.test/', title: 'B' }
  ])
  t.strictSame(grounding(['https://c.test/', 'https://c.test/']), [{ uri: 'https://c.test/', title: 'T' }])
  t.notOk('groundingMetadata' in writeResponse(eventsOf(assembler => assembler.text('a'))).candidates[0])
})

t.test('a bare string is the decoded JSON string, or the text itself', async t => {
  t.equal(unwrapString(' "a\\u0062" '), 'ab')
  t.equal(unwrapString('red'), 'red')
  for (const text of ['"re\\td"', '"re\\td', '"re\\td\\', '"re\\td\\u', '"re\\td\\u00e', ' "re\\td'])
    t.equal(unwrapString(text), 're\td', text)
  for (const text of ['"a" or "b', '"a\nb', '"a\\x']) t.equal(unwrapString(text), text, 'no JSON string')
  t.equal(unwrapString('"'), '')
  t.equal(unwrapString('"a\\\\'), 'a\\', 'a backslash that is escaped itself')
  const long = 'a'.repeat(20_000_000)
  t.ok(unwrapString(`"${long}"`) === long && unwrapString(`"${long}`) === long, 'a text of any length')
  t.equal(unwrapString('{"a":1}'), '{"a":1}')
  t.strictSame(
    parts(assembler => assembler.text('"red"'), withEnum),
    [{ text: 'red' }]
  )
  t.strictSame(
    parts(assembler => assembler.text('""'), withEnum),
    [{ text: '' }]
  )
})

t.test('unreported counts are absent, and thoughts are counted apart from the candidates (D3)', async t => {
  const usage = (counts: Partial<NormalizedUsage>) =>
    writeUsage({
      inputTokens: null,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      outputTokens: null,
      reasoningTokens: null,
      totalTokens: null,
      ...counts
    })
  t.equal(writeUsage(null), undefined)
  t.equal(usage({}), undefined)
  t.strictSame(usage({ inputTokens: 3 }), { promptTokenCount: 3 })
  t.strictSame(usage({ inputTokens: 3, outputTokens: 10, reasoningTokens: 4, totalTokens: 13 }), {
    promptTokenCount: 3,
    candidatesTokenCount: 6,
    totalTokenCount: 13,
    thoughtsTokenCount: 4
  })
  t.strictSame(usage({ outputTokens: 2, reasoningTokens: 4 }), { candidatesTokenCount: 0, thoughtsTokenCount: 4 })
})

t.test("the finish reason depends on the normalized reason, the provider's reason and the content (A6)", async t => {
  const nothing = { hasContent: false, hasCall: false, hasRefusal: false }
  const finish = (reason: FinishReason, providerReason: string | null, content = {}, stopSequence?: string) =>
    mapFinishReason(
      { reason, providerReason, ...(stopSequence === undefined ? {} : { stopSequence }) },
      { ...nothing, ...content }
    )
  t.equal(finish('stop', null), 'STOP')
  t.equal(finish('stop', 'end_turn'), 'STOP')
  t.equal(finish('stop', 'length', {}, 'lo'), 'STOP')
  t.equal(finish('stop', 'MAX_TOKENS', {}, 'lo'), 'STOP')
  t.equal(finish('stop', 'weird', { hasCall: true }), 'STOP')
  t.equal(finish('tool-calls', 'weird'), 'STOP')
  t.equal(finish('stop', 'stop', { hasRefusal: true }), 'SAFETY')
  t.equal(finish('length', 'max_tokens'), 'MAX_TOKENS')
  t.equal(finish('content-filter', 'refusal'), 'SAFETY')
  t.equal(mapFinishReason({ reason: 'content-filter', providerReason: 'x', filter: 'blocklist' }, nothing), 'BLOCKLIST')
  t.equal(finish('cancelled', null), 'OTHER')
  t.equal(finish('content-filter', 'RECITATION'), 'RECITATION', 'a finish reason of the protocol stays unchanged')
  t.equal(finish('stop', 'CONTINUATION'), 'OTHER', 'the SDK would send the request again')
})

t.test('a call that a response was cut off in is left out, whole and streamed: an SDK would run it', async t => {
  const cut = (reason: FinishReason) =>
    eventsOf(assembler => {
      assembler.text('a')
      assembler.toolCall({ id: '1', name: 'f' }, '{"x":1}')
      assembler.toolCall({ id: '2', name: 'wipe' }, '{"path":"/tmp')
      assembler.finish({ reason, providerReason: reason, metadata: {} }, null)
    })
  const whole = { functionCall: { id: '1', name: 'f', args: { x: 1 } } }
  const half = { functionCall: { id: '2', name: 'wipe', args: { arguments: '{"path":"/tmp' } } }
  const streamed = (reason: FinishReason) =>
    createContentStreamWriter(responseContext())
      .write(cut(reason))
      .split('\n\n')
      .filter(frame => frame !== '')
      .flatMap(frame => JSON.parse(frame.slice('data: '.length)).candidates[0].content.parts)
  for (const reason of ['length', 'content-filter'] as const) {
    const { content, finishReason } = writeResponse(cut(reason)).candidates[0]
    t.strictSame(content.parts, [{ text: 'a' }, whole], reason)
    t.not(finishReason, 'STOP')
    t.strictSame(streamed(reason), [{ text: 'a' }, whole, { text: '' }], reason)
  }
  t.strictSame(writeResponse(cut('tool-calls')).candidates[0].content.parts, [{ text: 'a' }, whole, half])
  t.strictSame(streamed('tool-calls'), [{ text: 'a' }, whole, half, { text: '' }])
})

t.test('a stream that breaks behind a call with half of its arguments does not hand it out', async t => {
  const writer = createContentStreamWriter(responseContext())
  const events = eventsOf(assembler => assembler.toolCall({ id: '2', name: 'wipe' }, '{"path":"/tmp'))
  const error = new GatewayError('provider_protocol_error')
  const written = writer.write([...events.filter(({ type }) => type !== 'finish'), { type: 'error', error }])
  t.notMatch(written + (writer.brokenEnd ?? ''), /functionCall/)
})
