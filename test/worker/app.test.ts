import { pino } from 'pino'
import t, { type Test } from 'tap'
import { parseSettings } from '../../shared/settings.ts'
import { createWorkerApp } from '../../worker/app.ts'
import { createLocalControlChannel } from '../../worker/control-channel.ts'
import type { NativeProvider, NativeProviderPool } from '../../worker/providers/types.ts'
import { get, post } from '../support/client.ts'
import { signalled } from './http/support.ts'

interface Part {
  pool: NativeProviderPool
  calls: string[]
}

/** A pool that notes what is asked of it and lists one model. */
function createPool(close: () => Promise<void> = async () => undefined): Part {
  const calls: string[] = []
  const listModels: NativeProvider['listModels'] = async () => {
    calls.push('list-models')
    return { entries: [], skippedCount: 0, duplicateCount: 0 }
  }
  const pool: NativeProviderPool = {
    acquire() {
      calls.push('acquire')
      return { provider: { listModels } as NativeProvider, release: () => calls.push('release') }
    },
    close() {
      calls.push('close')
      return close()
    },
    async destroy() {
      calls.push('destroy')
    }
  }
  return { pool, calls }
}

async function start(t: Test, part: Part, env: Record<string, string> = {}) {
  const settings = parseSettings(env)
  const local = createLocalControlChannel(settings)
  let askForRefresh = (): void => undefined
  const control = {
    ...local,
    onRefreshWanted(listener: () => void) {
      askForRefresh = listener
    }
  }
  const app = await createWorkerApp(
    {
      settings,
      revisions: { config: `sha256:${'c'.repeat(64)}`, matrix: `sha256:${'d'.repeat(64)}` },
      workerId: 1,
      fingerprintKey: Buffer.alloc(32, 1),
      control,
      log: pino({ level: 'silent' }),
      version: '0.0.0'
    },
    { providers: part.pool }
  )
  const { port } = await app.listen({ host: '127.0.0.1', port: 0, reusePort: false })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= app.close()
    return closing
  }
  t.teardown(close)
  return { app, close, control, url: `http://127.0.0.1:${port}`, askForRefresh: () => askForRefresh() }
}

t.test('a worker serves until it is closed, and then closes what it owns', async t => {
  const part = createPool()
  const { url, app, close } = await start(t, part)
  t.equal((await get(`${url}/health`)).status, 200)
  t.equal(app.activeRequests, 0)
  t.same(part.calls, [], 'no provider is called by itself')
  await close()
  t.same(part.calls, ['close'])
  await t.rejects(fetch(`${url}/health`))
})

t.test('the catalog is brought up to date when the supervisor wants it, and readiness follows', async t => {
  const part = createPool()
  const { url, control, askForRefresh } = await start(t, part)
  t.equal((await get(`${url}/ready`)).status, 503)
  const { promise: published, resolve } = signalled<void>()
  control.onCatalogPublished(() => resolve())
  askForRefresh()
  await published
  t.equal((await get(`${url}/ready`)).status, 200)
  t.same(part.calls, ['acquire', 'list-models', 'release'])
})

t.test(
  'a drain refuses model requests first, then stops accepting, then is idle at once when nothing runs (I3)',
  async t => {
    const { url, app } = await start(t, createPool())
    app.startDraining()
    const refused = await post(`${url}/v1/chat/completions`, '{}')
    t.equal(refused.status, 503)
    t.equal(refused.headers.get('connection'), 'close')
    t.equal((await get(`${url}/health`)).status, 200)
    await app.closeListener()
    await t.rejects(fetch(`${url}/health`))
    app.cancelActive()
    await app.whenIdle()
  }
)

t.test('upstream connections that do not end by themselves are ended (I4)', async t => {
  const part = createPool(() => new Promise(() => undefined))
  const { close } = await start(t, part)
  await close()
  t.same(part.calls, ['close', 'destroy'])
})
