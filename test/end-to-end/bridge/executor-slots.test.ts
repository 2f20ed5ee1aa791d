// Slots, disconnects and the end of the worker for aliases of external providers (bridge.md 8.3,
// 8.5 and 9.3).

import t from 'tap'
import { waitUntil } from '../../support/processes.ts'
import { type StubHandler, sendJson, startStub } from '../../worker/providers/support/stub-upstream.ts'
import { askIn, families, openStream, readError } from '../system/support.ts'
import { beginStream, chatAnswer, chatProfile, chunkOf, startBridge } from './executor-support.ts'

const answerWhole: StubHandler = (_request, response) => sendJson(response, 200, chatAnswer('ok'))
/** A stream that never ends, or a whole answer. */
const answer: StubHandler = (request, response) => {
  if (request.body.toString().includes('"stream":true')) beginStream(response, chunkOf({ content: 'Well' }))
  else answerWhole(request, response)
}

const provider = await startStub(answer)
t.teardown(() => provider.close())
const profiles = [
  chatProfile('p1', `${provider.origin}/v1`, { 'bridge/a': 'coder', 'bridge/same': 'Coder', 'bridge/free': 'mini' }),
  chatProfile('p2', `${provider.origin}/v1`, { 'bridge/other': 'coder' })
]

t.test(
  'bridge 93: a client that closes after the first delta closes the upstream connection and frees its slot',
  async t => {
    const { app, lines, ...gateway } = await startBridge(t, {
      profiles,
      env: { GATEWAY_MODEL_MAX_CONNECTIONS: '{"bridge/a":1}', GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0' }
    })
    for (const family of families) {
      lines.length = 0
      const abort = new AbortController()
      const response = await openStream(gateway, family, 'hi', { model: 'bridge/a', signal: abort.signal })
      const reader = response.body?.getReader()
      t.ok((await reader?.read())?.value, family)
      t.equal((await askIn(gateway, family, 'hi', { model: 'bridge/a' })).status, 429, 'the slot is taken')
      const closed = provider.nextAbort()
      abort.abort()
      await closed
      await waitUntil(() => app.activeRequests === 0, 'the request has ended')
      t.equal((await askIn(gateway, family, 'hi', { model: 'bridge/a' })).status, 200, 'the slot is free')
      t.match(
        lines.filter(line => String(line.event).startsWith('upstream_call')),
        [{ event: 'upstream_call_cancelled', reason_id: 'client_disconnected' }]
      )
    }
  }
)

t.test('bridge 94: a second request beyond the limit is refused before its head, plain and streamed', async t => {
  for (const name of ['bridge/a', 'Coder:1.0']) {
    const gateway = await startBridge(t, {
      profiles,
      env: {
        GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [name]: 1 }),
        GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
      }
    })
    const abort = new AbortController()
    const sent = provider.requests.length
    await openStream(gateway, 'responses', 'hi', { model: 'bridge/a', signal: abort.signal })
    for (const family of families) {
      for (const stream of [false, true]) {
        for (const alias of ['bridge/a', 'bridge/same']) {
          const response = await askIn(gateway, family, 'hi', { model: alias, stream })
          t.equal(response.status, 429, `${family} ${alias}`)
          t.equal(readError(family, response).code, 'model_concurrency_limit', family)
          t.equal(response.headers.get('retry-after'), '1')
        }
      }
    }
    t.equal(provider.requests.length, sent + 1, 'no refused request reaches the provider')
    // Other models, and the same name at another profile, count apart.
    for (const alias of ['bridge/free', 'bridge/other']) {
      t.equal((await askIn(gateway, 'completions', 'hi', { model: alias })).status, 200, alias)
    }
    abort.abort()
    await waitUntil(() => gateway.app.activeRequests === 0, 'the stream has ended')
  }
})

t.test('at the drain deadline streams and whole requests end, and every upstream connection is closed', async t => {
  const silent = await startStub(() => undefined)
  t.teardown(() => silent.close())
  const { app, ...gateway } = await startBridge(t, {
    profiles: [...profiles, chatProfile('silent', silent.origin, { 'bridge/silent': 'm' })]
  })
  const streams = await Promise.all(families.map(family => openStream(gateway, family, 'hi', { model: 'bridge/a' })))
  for (const stream of streams) await stream.body?.getReader().read()
  const whole = families.map(family => askIn(gateway, family, 'hi', { model: 'bridge/silent' }))
  await silent.arrived(families.length)
  app.startDraining()
  app.cancelActive()
  await app.whenIdle()
  for (const response of await Promise.all(whole)) t.equal(response.status, 503)
  await waitUntil(() => provider.openSockets() + silent.openSockets() === 0, 'no connection to a provider is left')
})
