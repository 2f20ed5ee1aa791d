// Where the connections of a profile may lead (bridge.md 8.6).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import type { ResolveHost } from '../../../../worker/providers/egress/checked-lookup.ts'
import { createNameResolver } from '../../../../worker/providers/egress/name-resolver.ts'
import { startNameServer } from '../../../support/name-server.ts'
import { type CompatibleProfile, compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

const mismatch = {
  code: 'destination_mismatch',
  status: 502,
  message: 'The upstream destination could not be authorized.'
}

function createAsker(t: Parameters<typeof startCompatible>[0], profile: CompatibleProfile, resolve?: ResolveHost) {
  const options = resolve === undefined ? {} : { resolve }
  const { executorOf, memory } = startCompatible(t, { p1: profile }, options)
  const ask = async (isStream = false) => {
    const sink = createSink()
    await executorOf('p1').chat(compatibleCall({ isStream }), contextOf(), sink)
    return sink.text()
  }
  return { ask, memory }
}

t.test('a host is refused when one of its addresses is not allowed, before anything is sent', async t => {
  const stub = await startStub((_request, response) => sendJson(response, 200, { words: ['ok'] }))
  t.teardown(() => stub.close())
  const baseUrl = `http://up.example:${stub.port}/v1`
  const rows: Array<[addresses: string[], allowLoopback: boolean]> = [
    [[], false],
    [['127.0.0.1'], false],
    [['::1'], false],
    [['::ffff:127.0.0.1'], false],
    [['64:ff9b::7f00:1'], false],
    [['64:ff9b::a00:1'], false],
    [['10.0.0.1'], false],
    [['169.254.169.254'], false],
    [['8.8.8.8', '127.0.0.1'], false],
    [['224.0.0.1'], false],
    [['8.8.8.8'], true],
    [['127.0.0.1', '8.8.8.8'], true],
    [['0.0.0.0'], true]
  ]
  for (const [addresses, allowLoopback] of rows) {
    const { ask, memory } = createAsker(t, { baseUrl, allowLoopback }, async () => addresses)
    for (const isStream of [false, true]) t.match(await rejection(ask(isStream)), mismatch, addresses.join())
    t.match(
      memory.lines.filter(line => line.event === 'upstream_call_failed'),
      Array(2).fill({ reason_id: 'destination_mismatch', level: 40 })
    )
  }
  t.equal(stub.requests.length, 0)
  const { ask } = createAsker(t, { baseUrl }, async () => ['127.0.0.1'])
  t.equal(await ask(), 'ok')
})

t.test('a literal address is checked too', async t => {
  const stub = await startStub((_request, response) => sendJson(response, 200, { words: ['ok'] }))
  t.teardown(() => stub.close())
  const never: ResolveHost = () => Promise.reject(new Error('An address has no name to resolve.'))
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '10.255.255.1', '[fd00::1]', '0.0.0.0']) {
    const refused = createAsker(t, { baseUrl: `http://${host}:${stub.port}`, allowLoopback: false }, never)
    t.match(await rejection(refused.ask()), mismatch, host)
  }
  for (const host of ['8.8.8.8', '10.255.255.1', '[2606:4700::1]']) {
    t.match(await rejection(createAsker(t, { baseUrl: `http://${host}:${stub.port}` }, never).ask()), mismatch, host)
  }
  t.equal(stub.requests.length, 0)
  t.equal(await createAsker(t, { baseUrl: `http://127.0.0.1:${stub.port}` }, never).ask(), 'ok')
})

t.test('every new connection is checked again, and a kept one is not', async t => {
  let isKept = true
  const stub = await startStub((_request, response) => {
    if (!isKept) response.setHeader('connection', 'close')
    sendJson(response, 200, { words: ['ok'] })
  })
  t.teardown(() => stub.close())
  let address = '127.0.0.1'
  let resolved = 0
  const { ask } = createAsker(t, { baseUrl: `http://up.example:${stub.port}` }, async () => {
    resolved += 1
    return [address]
  })
  t.equal(await ask(), 'ok')
  address = '10.0.0.1'
  isKept = false
  // The connection is free when the turn in which its response ended is over.
  await setImmediate()
  t.equal(await ask(), 'ok', 'over the connection that was checked')
  t.equal(resolved, 1)
  t.match(await rejection(ask()), mismatch, 'the name leads elsewhere now')
  t.equal(resolved, 2)
  address = '127.0.0.1'
  t.equal(await ask(), 'ok', 'a refusal is not remembered')
})

t.test(
  'a name that the name servers do not know, or never give, is refused within the time of one resolution',
  async t => {
    const server = await startNameServer(t, name => (name === 'silent.example' ? undefined : []))
    const never = new AbortController().signal
    const resolver = createNameResolver({ servers: [server.address], timeoutMs: 300 })
    for (const host of ['unknown.example', 'silent.example']) {
      const profile = { baseUrl: `https://${host}/v1`, allowLoopback: false }
      const { ask, memory } = createAsker(t, profile, name => resolver(name, never))
      t.match(await rejection(ask()), mismatch, host)
      t.match(
        memory.lines.find(line => line.event === 'upstream_call_failed'),
        { reason_id: 'destination_mismatch', cause: `DESTINATION_REFUSED: The host ${host} cannot be resolved` }
      )
    }
    t.same([...server.names], ['unknown.example', 'silent.example'])
  }
)

t.test('TLS is always verified, for the name of the host', async t => {
  const fixtures = join(import.meta.dirname, '..', '..', '..', 'ops', 'emulator', 'fixtures')
  const read = (name: string): string => readFileSync(join(fixtures, name), 'utf8')
  const names: unknown[] = []
  const stub = await startStub(
    ({ socket }, response) => {
      names.push((socket as TLSSocket).servername)
      sendJson(response, 200, { words: ['ok'] })
    },
    { tls: { key: read('server.key'), cert: read('server.pem') } }
  )
  t.teardown(() => stub.close())
  const resolve: ResolveHost = async () => ['127.0.0.1']
  const start = (host: string, ca?: string) => {
    const options = { resolve, ...(ca === undefined ? {} : { ca }) }
    const { executorOf, memory } = startCompatible(t, { p1: { baseUrl: `https://${host}:${stub.port}` } }, options)
    return { memory, chat: () => executorOf('p1').chat(compatibleCall(), contextOf(), createSink()) }
  }
  const trusted = start('localhost', read('ca.pem'))
  await trusted.chat()
  t.same(names, ['localhost'])
  // The system warns that the variable switches verification off, which it does not here.
  const { emitWarning } = process
  process.emitWarning = () => undefined
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => {
    process.emitWarning = emitWarning
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  })
  for (const { chat, memory } of [start('localhost'), start('up.example', read('ca.pem'))]) {
    t.match(await rejection(chat()), { code: 'provider_failure', status: 502 })
    t.match(
      memory.lines.find(line => line.event === 'upstream_call_failed'),
      { error_type: 'tls_error', reason_id: 'connection_error' }
    )
  }
  t.equal(names.length, 1)
})
