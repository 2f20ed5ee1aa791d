import { ApiError, GoogleGenAI } from '@google/genai'
import t, { type Test } from 'tap'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import {
  type Chunk,
  call,
  callsOf,
  emulatorOptions,
  failingStream,
  generate,
  model,
  partsOf,
  say,
  stream,
  textOf,
  versions
} from './support.ts'

const { emulator, gateway } = await startSharedGateway(emulatorOptions)
const tools = [{ functionDeclarations: [{ name: 'A', parametersJsonSchema: { type: 'object' } }] }]

const client = (version: string) =>
  new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: `${gateway.url}/${version}` } })

/** Checks the last chunk of a stream: reason, usage, and a content, without which the SDK's chat drops the turn from its history. */
function checkLast(t: Test, last: Chunk, finishReason = 'STOP') {
  t.equal(last.candidates[0].finishReason, finishReason)
  t.match(last.usageMetadata, { promptTokenCount: Number, candidatesTokenCount: Number, totalTokenCount: Number })
  t.equal(last.candidates[0].content.role, 'model')
  t.ok(partsOf(last).length > 0)
}

t.test('content 56: a stream has one chunk per text and a last one with reason, usage and content', async t => {
  for (const version of versions) {
    const { response, chunks } = await stream(gateway, version, '[[chunks:Hel|lo]][[usage:19,8,5]]')
    t.equal(lastUpstreamChat(emulator).body.stream, true)
    t.match(response.headers.get('content-type'), /^text\/event-stream/)
    t.notMatch(response.text, /event:|\[DONE\]/)
    t.equal(chunks.length, 3)
    const identity = { modelVersion: model, responseId: response.headers.get('x-request-id') }
    t.strictSame(chunks.slice(0, 2), [
      { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hel' }] } }], ...identity },
      { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'lo' }] } }], ...identity }
    ])
    t.match(chunks[2], identity)
    checkLast(t, chunks[2])
    t.match(chunks[2].usageMetadata, { promptTokenCount: 19, candidatesTokenCount: 8, cachedContentTokenCount: 5 })
  }
})

t.test('content 57: alt=json streams a JSON array, and without alt the stream is server-sent events (G1)', async t => {
  for (const version of versions) {
    const body = say('[[chunks:Hel|lo]]')
    const response = await call(gateway, version, 'streamGenerateContent', body, { query: '?alt=json' })
    t.equal(lastUpstreamChat(emulator).body.stream, true)
    t.match(response.headers.get('content-type'), /^application\/json/)
    t.match(response.text, /^\[\{.*\},\r\n\{.*\},\r\n\{.*\}\]$/)
    t.equal(response.json.length, 3)
    t.equal(textOf(...response.json), 'Hello')
    checkLast(t, response.json[2])
    t.equal(emulator.requests.at(-1)?.query, '')

    const plain = await stream(gateway, version, '[[chunks:Hel|lo]]', {}, { query: '' })
    t.equal(lastUpstreamChat(emulator).body.stream, true)
    t.match(plain.response.headers.get('content-type'), /^text\/event-stream/)
    t.equal(textOf(...plain.chunks), 'Hello')

    const refused = await call(gateway, version, 'streamGenerateContent', say('[[error:429]]'), { query: '?alt=json' })
    t.equal(refused.status, 429)
    t.match(refused.json, { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } })
  }
})

t.test('content 58: the SDK’s chat keeps a streamed turn in its history', async t => {
  for (const version of versions) {
    const chat = client(version).chats.create({ model })
    let text = ''
    for await (const chunk of await chat.sendMessageStream({ message: '[[chunks:Hel|lo]]' })) text += chunk.text ?? ''
    t.equal(text, 'Hello')
    const turns = chat.getHistory(true).filter(({ role }) => role === 'model')
    t.equal(turns.flatMap(({ parts }) => parts?.map(part => part.text ?? '')).join(''), 'Hello')
    for (const { parts } of turns) t.ok((parts ?? []).length > 0)
    t.equal((await chat.sendMessage({ message: '[[text:again]]' })).text, 'again')
    const sent = lastUpstreamChat(emulator).body.messages
    t.strictSame(
      sent.map((message: Chunk) => [message.role, message.content[0]?.text ?? message.content]),
      [
        ['user', '[[chunks:Hel|lo]]'],
        ['assistant', 'Hello'],
        ['user', '[[text:again]]']
      ],
      'the pieces are one turn again'
    )
  }
})

t.test('content 59, 60: a call is one chunk, wherever the upstream sends the finish reason', async t => {
  for (const version of versions) {
    for (const form of ['', '[[callsplit]]', '[[split:1]]', version === 'v1' ? '[[argfrag:2]]' : '[[msgcall]]']) {
      const { chunks } = await stream(gateway, version, `${form}[[tool:A {"city":"Omsk"}]]`, { tools })
      t.match(callsOf(...chunks), [{ name: 'A', args: { city: 'Omsk' }, id: String }], form)
      t.equal(callsOf(...chunks).length, 1)
      t.equal(callsOf(chunks.at(-1)).length, 0)
      checkLast(t, chunks.at(-1))
      t.equal(textOf(...chunks), '')
      const said = await stream(gateway, version, `${form}[[text:let me]][[tool:A {"city":"Omsk"}]]`, { tools })
      t.equal(textOf(...said.chunks), 'let me')
      t.match(callsOf(...said.chunks), [{ name: 'A', args: { city: 'Omsk' } }])
    }
  }
})

t.test('content 62: a failure within the stream is an error with a numeric code, and the SDK throws (A14)', async t => {
  for (const version of versions) {
    for (const [directive, code, status] of [
      ['[[die]]', 502, 'UNAVAILABLE'],
      ['[[noeof]]', 502, 'UNAVAILABLE'],
      ['[[badframe]]', 502, 'UNAVAILABLE'],
      ['[[errframe:429 message=slow]]', 429, 'RESOURCE_EXHAUSTED'],
      ['[[errframe:500 message=broken]]', 500, 'INTERNAL']
    ] as const) {
      const prompt = `${directive}[[chunks:one|two|three]]`
      const { response, chunks, error: sent } = await failingStream(gateway, version, prompt)
      t.equal(response.status, 200)
      t.match(chunks[0], { candidates: [{ content: { parts: [{ text: 'one' }] } }] }, directive)
      t.match(sent, { code, status, message: String }, directive)
      t.notMatch(response.text, /127\.0\.0\.1|api\/v[12]/)
      t.notOk(chunks.some(chunk => chunk.candidates?.[0].finishReason !== undefined))
      const error = await catchError(async () => {
        for await (const chunk of await client(version).models.generateContentStream({ model, contents: prompt })) {
          t.ok(chunk.candidates)
        }
      })
      t.ok(error instanceof ApiError, directive)
      t.match(error, { status: code })
    }
  }
})

t.test('decisions.md 52: a failed array has its error as the last element, and its connection breaks', async t => {
  for (const version of versions) {
    for (const [directive, code, status] of [
      ['[[die:2]]', 502, 'UNAVAILABLE'],
      ['[[errframe:503 message=gone]]', 503, 'UNAVAILABLE']
    ] as const) {
      const prompt = `${directive}[[chunks:one|two|three]]`
      const { response, chunks, error } = await failingStream(gateway, version, prompt, '?alt=json')
      t.equal(response.status, 200)
      t.match(textOf(...chunks), /^one/, directive)
      t.match(error, { code, status, message: String }, directive)
    }
  }
})

t.test('content 64: the upstream’s finish reasons are mapped to those of the family', async t => {
  const words = [
    ['stop', 'STOP'],
    ['length', 'MAX_TOKENS'],
    ['function_call', 'STOP'],
    ['content_filter', 'SAFETY'],
    ['blacklist', 'BLOCKLIST'],
    ['request_filter', 'BLOCKLIST'],
    ['weird', 'OTHER']
  ] as const
  for (const version of versions) {
    for (const [word, expected] of words) {
      const prompt = `[[finish:${word}]][[text:a]]`
      t.equal((await generate(gateway, version, prompt)).json.candidates[0].finishReason, expected, word)
      checkLast(t, (await stream(gateway, version, prompt)).chunks.at(-1), expected)
    }
    const blocked = await generate(gateway, version, '[[finish:blacklist]][[text:""]]')
    t.strictSame(blocked.json.promptFeedback, { blockReason: 'BLOCKLIST' })
    const failed = await generate(gateway, version, '[[finish:error]]')
    t.equal(failed.status, 500)
    t.match(failed.json.error, { code: 500, status: 'INTERNAL' })
  }
})

t.test('content 65: cached tokens are counted (D3)', async t => {
  const counts = { promptTokenCount: 19, candidatesTokenCount: 8, totalTokenCount: 27, cachedContentTokenCount: 5 }
  for (const version of versions) {
    t.strictSame((await generate(gateway, version, '[[usage:19,8,5]]')).json.usageMetadata, counts)
    t.strictSame((await stream(gateway, version, '[[usage:19,8,5]]')).chunks.at(-1).usageMetadata, counts)
  }
})

t.test('an empty response has one empty text part, and its stream has only the last chunk', async t => {
  for (const version of versions) {
    const whole = await generate(gateway, version, '[[text:""]]')
    t.strictSame(partsOf(whole.json), [{ text: '' }])
    const { chunks } = await stream(gateway, version, '[[text:""]]')
    t.equal(chunks.length, 1)
    checkLast(t, chunks[0])
  }
})
