// A credential signs each request: its method, URL, headers and body, as services do whose keys never travel.

import { createHash, createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { CallFailure } from '../../../../worker/providers/http/call-failure.ts'
import { openOrigin } from '../../../../worker/providers/http/connections.ts'
import {
  type Credential,
  type CredentialSource,
  createFixedCredential,
  type Sign,
  type UnsignedRequest
} from '../../../../worker/providers/http/credential.ts'
import type { ChatCall } from '../../../../worker/providers/types.ts'
import { createTestClient, createWordExecutor, KEY, limitPhases, wordCall } from '../support/http.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { type StubRequest, sendJson, startStub } from '../support/stub-upstream.ts'

const SIGNED_HEADERS = ['content-type', 'user-agent', 'x-date']

/** What signer and server hash: both must see the same request. */
function hash(key: string, method: string, url: string, headers: Record<string, unknown>, body: Uint8Array): string {
  const hmac = createHmac('sha256', key).update(`${method}\n${url}\n`)
  for (const name of SIGNED_HEADERS) hmac.update(`${name}:${headers[name] ?? ''}\n`)
  return hmac.update(createHash('sha256').update(body).digest('hex')).digest('hex')
}

function signRequest(key: string, { method, url, headers, body }: UnsignedRequest) {
  const named: Record<string, string | undefined> = { 'x-date': 'today' }
  headers.forEach((text, index) => {
    if (index % 2 === 0) named[text.toLowerCase()] = headers[index + 1]
  })
  const bytes = body === undefined ? new Uint8Array() : body instanceof Uint8Array ? body : Buffer.concat(body)
  return { headers: ['x-date', 'today', 'authorization', `TOY ${hash(key, method, url, named, bytes)}`] }
}

/** A provider that answers only requests with the right signature; `keys` may change. */
async function startVerifier(t: Test, keys: Set<string> = new Set([KEY])) {
  const stub = await startStub((request, response) => {
    if (![...keys].some(key => isSigned(key, request))) return sendJson(response, 401, { oops: 'wrong signature' })
    const { stream } = JSON.parse(request.body.toString() || '{}')
    if (stream !== true) return sendJson(response, 200, request.url === '/embed' ? [[1]] : { words: ['hi'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: BEGIN\n\ndata: hi\n\n')
  })
  t.teardown(() => stub.close())
  const isSigned = (key: string, { method, url, headers, body }: StubRequest) =>
    headers.authorization === `TOY ${hash(key, method, stub.origin + url, headers, body)}`
  return stub
}

function chat(members: object, isStream = false): ChatCall {
  return { ...wordCall({ isStream }), body: Buffer.from(JSON.stringify({ ...members, stream: isStream })) }
}

const signers: Array<[string, Sign]> = [
  ['at once', request => signRequest(KEY, request)],
  ['after a wait', async request => Promise.resolve(signRequest(KEY, request))]
]

for (const [when, sign] of signers) {
  t.test(`a signature that comes ${when} covers method, URL, headers and the final body`, async t => {
    const stub = await startVerifier(t)
    const { executor } = createWordExecutor(t, stub.origin, { client: { credentials: createFixedCredential(sign) } })
    for (const isStream of [false, true]) {
      const sink = createSink()
      await executor.chat(chat({ say: 'hi' }, isStream), contextOf(), sink)
      t.equal(sink.text(), 'hi')
    }

    // A body of several pieces goes out with a length and without being joined.
    const json = Buffer.from(JSON.stringify({ say: 'x'.repeat(700_000) }))
    const sink = createSink()
    const pieces = [json.subarray(0, 300_000), json.subarray(300_000)]
    await executor.chat({ ...wordCall(), body: pieces }, contextOf(), sink)
    t.equal(sink.text(), 'hi')
    t.equal(stub.requests.at(-1)?.headers['content-length'], String(json.length))

    const client = createTestClient(t, stub.origin, { credentials: createFixedCredential(sign) })
    const listed = { operation: 'models', method: 'GET', path: '/list?all=1', headers: [] } as const
    t.equal((await client.fetch(listed, contextOf())).status, 200, 'a request without a body')
  })
}

t.test('a request that is changed on its way is refused', async t => {
  const stub = await startVerifier(t)
  const sign: Sign = request => signRequest(KEY, { ...request, url: `${request.url}?other` })
  const client = createTestClient(t, stub.origin, { credentials: createFixedCredential(sign) })
  const call = { operation: 'chat', method: 'POST', path: '/say', headers: [], body: Buffer.from('{}') } as const
  t.match(await rejection(client.fetch(call, contextOf())), { status: 401 })
})

t.test('a refused signer is renewed once, and the repeated request is signed anew', async t => {
  const keys = new Set(['key-2'])
  const stub = await startVerifier(t, keys)
  let number = 1
  let held: Credential | undefined
  const credentials: CredentialSource = {
    find: () => held,
    async acquire() {
      const key = `key-${number}`
      held = { sign: request => signRequest(key, request), isFresh: false }
      return held
    },
    reject(credential) {
      if (held === credential) held = undefined
      number += 1
      return true
    }
  }
  const { executor } = createWordExecutor(t, stub.origin, { client: { credentials } })
  for (const isStream of [false, true]) {
    const sink = createSink()
    await executor.chat(chat({ say: 'hi' }, isStream), contextOf(), sink)
    t.equal(sink.text(), 'hi')
  }
  t.equal(stub.requests.length, 3, 'the second call begins with the renewed key')

  keys.clear()
  const refused = executor.chat(chat({ say: 'hi' }), contextOf(), createSink())
  t.match(await rejection(refused), { status: 401 })
  t.equal(stub.requests.length, 5, 'one renewal and one repetition')
})

t.test('a signature may go into the query, which no log line shows', async t => {
  const stub = await startStub((_request, response) => sendJson(response, 200, { words: ['hi'] }))
  t.teardown(() => stub.close())
  const sign: Sign = () => ({ headers: [], query: `key=${KEY}` })
  const { executor, memory } = createWordExecutor(t, stub.origin, {
    client: { credentials: createFixedCredential(sign) }
  })
  await executor.chat(wordCall(), contextOf(), createSink())
  await executor.chat({ ...wordCall(), path: '/say?a=b' }, contextOf(), createSink())
  t.same(
    stub.requests.map(({ url }) => url),
    [`/say?key=${KEY}`, `/say?a=b&key=${KEY}`]
  )
  t.notMatch(JSON.stringify(memory.lines), KEY)
})

t.test('a signature that fails or is waited for too long gives its connection back', async t => {
  const stub = await startVerifier(t)
  const origin = openOrigin({
    origin: stub.origin,
    connectionsMax: 1,
    waiting: { waitersMax: 0, waitMsMax: 5_000 },
    timeouts: limitPhases(5_000)
  })
  t.teardown(() => origin.destroy())
  const failure = new CallFailure(new GatewayError('provider_failure', { message: 'no key' }))
  let sign: Sign
  const client = createTestClient(t, stub.origin, {
    origin,
    credentials: createFixedCredential(request => sign(request))
  })
  const call = { operation: 'chat', method: 'POST', path: '/say', headers: [], body: Buffer.from('{}') } as const

  sign = () => {
    throw failure
  }
  t.equal(await rejection(client.fetch(call, contextOf())), failure.error)
  sign = () => Promise.reject(failure)
  t.equal(await rejection(client.fetch(call, contextOf())), failure.error)
  sign = () => new Promise(() => undefined)
  const abort = new AbortController()
  const waiting = client.fetch(call, contextOf({ signal: abort.signal }))
  abort.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(waiting), { code: 'client_disconnected' })
  t.equal(stub.requests.length, 0)

  sign = request => signRequest(KEY, request)
  t.equal((await client.fetch(call, contextOf())).status, 200)
})
