// Where calls go (upstream.md 1.1): one configured base, both API versions, the token endpoints.

import t from 'tap'
import { get, post } from '../../support/client.ts'
import {
  emulatorVariables,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'
import { ask, imagePart, lastReceived, textPart } from './support.ts'

const emulator = await startEmulator(t)
const origin = new URL(emulator.baseUrl).origin

function start(env: Record<string, string | undefined>): Promise<ServingGateway> {
  return startGateway(t, { env: { ...emulatorVariables(emulator), ...env } })
}

/** Makes every call that a client of the completions family can cause, and says where each arrived. */
async function findPaths(gateway: ServingGateway): Promise<Record<string, string>> {
  emulator.reset()
  for (const version of ['v1', 'v2'] as const) {
    const response = await ask(gateway, version, [textPart('look'), imagePart()])
    if (response.status !== 200) throw new Error(response.text)
  }
  const drawn = await ask(gateway, 'v2', '[[builtin:image_generate]]', {
    more: { tools: [{ type: 'image_generation' }] }
  })
  if (drawn.status !== 200) throw new Error(drawn.text)
  await post(`${gateway.url}/v2/embeddings`, { input: 'text' })
  await get(`${gateway.url}/v2/models?refresh=1`)
  return {
    v1Chat: emulator.requests.find(({ path }) => path.endsWith('/chat/completions'))?.path ?? '',
    v2Chat: lastReceived(emulator, '/chat/completions').path,
    upload: lastReceived(emulator, '/files').path,
    embeddings: lastReceived(emulator, '/embeddings').path,
    models: lastReceived(emulator, '/models').path
  }
}

t.test(
  'a base that names a version is the base of both versions, and of v1 for everything that is no chat',
  async t => {
    for (const base of [`${emulator.baseUrl}//`, `${origin}/api/v2/`]) {
      const gateway = await start({ UPSTREAM_BASE_URL: base })
      t.strictSame(
        await findPaths(gateway),
        {
          v1Chat: '/api/v1/chat/completions',
          v2Chat: '/api/v2/chat/completions',
          upload: '/api/v1/files',
          embeddings: '/api/v1/embeddings',
          models: '/api/v1/models'
        },
        base
      )
      t.equal(await gateway.stop(), 0)
    }
  }
)

t.test('a base without a version gets none, and both contracts arrive at one address', async t => {
  const gateway = await start({ UPSTREAM_BASE_URL: `${origin}/api` })
  t.strictSame(await findPaths(gateway), {
    v1Chat: '/api/chat/completions',
    v2Chat: '/api/chat/completions',
    upload: '/api/files',
    embeddings: '/api/embeddings',
    models: '/api/models'
  })
})

t.test('the token server is called at exactly its address, and password tokens come from below the base', async t => {
  emulator.reset()
  const withOauth = await start({ UPSTREAM_AUTH_URL: `${emulator.authUrl}?tenant=7&x=%20` })
  t.equal((await ask(withOauth, 'v1', 'hi')).status, 200)
  const { path, query } = lastReceived(emulator, '/oauth')
  t.equal(`${path}?${query}`, '/api/v2/oauth?tenant=7&x=%20')
  const withPassword = await start({
    UPSTREAM_BASE_URL: `${origin}/api/v2`,
    UPSTREAM_CREDENTIALS: undefined,
    UPSTREAM_USER: 'ann',
    UPSTREAM_PASSWORD: 'pass'
  })
  t.equal((await ask(withPassword, 'v2', 'hi')).status, 200)
  t.equal(lastReceived(emulator, '/token').path, '/api/v1/token')
})
