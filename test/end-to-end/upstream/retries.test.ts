// Retries of failed calls (upstream.md 1.6), as clients and the upstream see them.

import t from 'tap'
import { get, post } from '../../support/client.ts'
import {
  emulatorVariables,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'
import { ask, imagePart, model, received, stream, textOf, textPart, versions } from './support.ts'

const emulator = await startEmulator(t)
const env = { ...emulatorVariables(emulator), UPSTREAM_MAX_RETRIES: '2', UPSTREAM_RETRY_BACKOFF_FACTOR: '0.01' }
const gateway = await startGateway(t, { env: { ...env, UPSTREAM_RETRY_ON_STATUS_CODES: '[429,500,503]' } })
await get(`${gateway.url}/v1/models`)

/** How many calls arrived on a path while `act` ran. */
async function count(pathEnd: string, act: () => Promise<unknown>): Promise<number> {
  emulator.reset()
  await act()
  return received(emulator, pathEnd).length
}

t.test('statuses on the list are retried as often as configured', async t => {
  for (const version of versions) {
    const recovering = async () => {
      const response = await ask(gateway, version, `[[flaky:2:500]][[text:third ${version}]]`)
      t.equal(response.json.choices[0].message.content, `third ${version}`)
    }
    t.equal(await count('/chat/completions', recovering), 3)
    const failing = async () => t.equal((await ask(gateway, version, '[[error:503]]')).status, 503)
    t.equal(await count('/chat/completions', failing), 3)
  }
})

t.test('statuses that are not on the list are final', async t => {
  for (const status of [400, 404, 422, 502, 504]) {
    const failing = async () => t.equal((await ask(gateway, 'v1', `[[error:${status}]]`)).status, status)
    t.equal(await count('/chat/completions', failing), 1, String(status))
  }
})

t.test('a connection failure is retried, a malformed response is not', async t => {
  const recovering = async () => {
    emulator.failNext({ path: '/chat/completions', status: 0, times: 2 })
    t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  }
  t.equal(await count('/chat/completions', recovering), 3)
  const dying = async () => t.equal((await ask(gateway, 'v1', '[[die:0]]')).status, 502)
  // The first attempt has a kept connection, which is replaced without being a retry (decisions.md 112).
  t.equal(await count('/chat/completions', dying), 4)
  const strange = async () => {
    const { response } = await stream(gateway, 'v1', '[[ctype:text/html]]')
    t.equal(response.status, 502)
    t.equal(response.json.error.code, 'provider_protocol_error')
  }
  t.equal(await count('/chat/completions', strange), 3)
  const unusable = async () => t.equal((await ask(gateway, 'v1', '[[badjson]]')).status, 502)
  t.equal(await count('/chat/completions', unusable), 1)
})

t.test('every kind of call is retried', async t => {
  const embedding = async () => {
    emulator.failNext({ path: '/embeddings', status: 500, times: 2 })
    t.equal((await post(`${gateway.url}/v1/embeddings`, { input: 'x', model: 'Embeddings' })).status, 200)
  }
  t.equal(await count('/embeddings', embedding), 3)
  const listing = async () => {
    emulator.failNext({ path: '/models', status: 500, times: 2 })
    t.equal((await get(`${gateway.url}/v1/models?refresh=1`)).status, 200)
  }
  t.equal(await count('/models', listing), 3)
  const uploading = async () => {
    emulator.failNext({ path: '/files', status: 500, times: 2 })
    t.equal((await ask(gateway, 'v1', [textPart('look'), imagePart()])).status, 200)
    t.equal(received(emulator, '/chat/completions').length, 1, 'the chat itself was made once')
  }
  t.equal(await count('/files', uploading), 3)
})

t.test('a stream is retried only before its first event', async t => {
  for (const version of versions) {
    const recovering = async () => {
      const { frames } = await stream(gateway, version, `[[flaky:2:500]][[text:whole ${version}]]`)
      t.equal(textOf(frames), `whole ${version}`)
    }
    t.equal(await count('/chat/completions', recovering), 3)
    const broken = async () => {
      const { response, frames } = await stream(gateway, version, '[[die:1]][[chunks:a|b|c]]')
      t.equal(response.status, 200)
      t.equal(textOf(frames), 'a')
      t.ok(frames.at(-1).error)
    }
    t.equal(await count('/chat/completions', broken), 1)
  }
})

t.test('a 401 renews the token inside one attempt, and causes no further attempt', async t => {
  const refused = async () => t.equal((await ask(gateway, 'v1', '[[error:401]]')).status, 401)
  t.equal(await count('/chat/completions', refused), 2)
})

t.test('a retry-after is obeyed, unless it is too long', async t => {
  const waiting = async () => t.equal((await ask(gateway, 'v1', '[[flaky:1:429 retry=1]]')).status, 200)
  t.equal(await count('/chat/completions', waiting), 2)
  const [first, second] = received(emulator, '/chat/completions').map(({ receivedAtMs }) => receivedAtMs)
  t.ok((second ?? 0) - (first ?? 0) >= 990, 'a second lies between the tries')
  const refused = async () => {
    const response = await ask(gateway, 'v1', '[[error:429 retry=3600]]')
    t.equal(response.status, 429)
    t.equal(response.headers.get('retry-after'), '3600')
  }
  t.equal(await count('/chat/completions', refused), 1)
})

async function startSlow(more: Record<string, string>): Promise<ServingGateway> {
  const started = await startGateway(t, { env: { ...env, UPSTREAM_RETRY_BACKOFF_FACTOR: '0.5', ...more } })
  await get(`${started.url}/v1/models`)
  return started
}

t.test('a failed token fetch is retried with the call that needs the token', async t => {
  const slow = await startSlow({})
  for (const status of [500, 0]) {
    emulator.reset()
    emulator.expireTokens()
    emulator.failNext({ path: '/oauth', status })
    t.equal((await ask(slow, 'v1', 'hi')).status, 200, String(status))
    t.equal(received(emulator, '/oauth').length, 2)
  }
})

t.test('a client disconnect cancels a call that waits for its next attempt', async t => {
  const limits = { GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 1 }) }
  const slow = await startSlow({ ...limits, GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '20' })
  emulator.reset()
  const controller = new AbortController()
  const given = fetch(`${slow.url}/v1/chat/completions`, {
    method: 'POST',
    signal: controller.signal,
    body: JSON.stringify({ model, messages: [{ role: 'user', content: '[[error:429 retry=50]]' }] })
  }).catch(() => undefined)
  await emulator.waitFor(() => received(emulator, '/chat/completions').some(({ finished }) => finished))
  controller.abort()
  await given
  // Its slot comes free at once, not after the fifty seconds.
  t.equal((await ask(slow, 'v1', 'next')).status, 200)
  t.equal(received(emulator, '/chat/completions').length, 2)
})
