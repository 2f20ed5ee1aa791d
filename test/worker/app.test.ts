import { pino } from 'pino'
import t, { type Test } from 'tap'
import { parseSettings } from '../../shared/settings.ts'
import { createWorkerApp } from '../../worker/app.ts'
import { createLocalControlChannel } from '../../worker/control/local-control-channel.ts'
import { GatewayError } from '../../worker/normalized/index.ts'
import { providerFaces } from '../../worker/protocols/registry.ts'
import { providerKinds } from '../../worker/providers/registry.ts'
import type { Executor, ExecutorPool } from '../../worker/providers/types.ts'
import { get, post } from '../support/client.ts'
import { waitUntil } from '../support/processes.ts'
import { workerOptions } from '../support/worker-app.ts'
import { signalled } from './http/support.ts'

interface Part {
  pool: ExecutorPool
  calls: string[]
}

/** A pool that records its calls and lists no models. */
function createPool(close: () => Promise<void> = async () => undefined): Part {
  const calls: string[] = []
  const listModels: NonNullable<Executor['listModels']> = async () => {
    calls.push('list-models')
    return { entries: [], skippedCount: 0, duplicateCount: 0 }
  }
  const pool: ExecutorPool = {
    acquire() {
      calls.push('acquire')
      return { executor: { listModels } as Partial<Executor> as Executor, release: () => calls.push('release') }
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

async function start(t: Test, part: Part, env: Record<string, string> = {}, log = pino({ level: 'silent' })) {
  const settings = parseSettings(env)
  const local = createLocalControlChannel(settings)
  let askForRefresh = (_profileId: string): void => undefined
  const control = {
    ...local,
    onRefreshWanted(listener: (profileId: string) => void) {
      askForRefresh = listener
    }
  }
  const app = await createWorkerApp(
    { ...workerOptions(settings), control, log },
    { faces: providerFaces, kinds: { native: { ...providerKinds.native!, createPool: () => part.pool } } }
  )
  const { port } = await app.listen({ host: '127.0.0.1', port: 0, reusePort: false })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= app.close()
    return closing
  }
  t.teardown(close)
  return { app, close, control, url: `http://127.0.0.1:${port}`, askForRefresh: () => askForRefresh('native-upstream') }
}

t.test('a worker serves until it is closed, and then closes its providers', async t => {
  const part = createPool()
  const { url, app, close } = await start(t, part)
  t.equal((await get(`${url}/health`)).status, 200)
  t.equal(app.activeRequests, 0)
  t.same(part.calls, [], 'no provider is called without a request')
  await close()
  t.same(part.calls, ['close'])
  await t.rejects(fetch(`${url}/health`))
})

t.test('the catalog is refreshed when the supervisor requests it, and readiness turns 200', async t => {
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
  'a drain first refuses model requests, then stops accepting, and is idle immediately when no request runs (I3)',
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

t.test('upstream connections that do not close in time are destroyed (I4)', async t => {
  const part = createPool(() => new Promise(() => undefined))
  const { close } = await start(t, part)
  await close()
  t.same(part.calls, ['close', 'destroy'])
})

t.test('an unexpected error within a stream ends the stream with an error event and is logged', async t => {
  const lines: unknown[] = []
  const log = pino({ level: 'error' }, { write: line => lines.push(JSON.parse(line)) })
  const chat: Executor['chat'] = async (_call, _context, sink) => {
    sink.push([{ type: 'start', providerModel: null, metadata: {} }, { type: 'text-start' }])
    sink.push([{ type: 'text-delta', text: 'Hi' }])
    throw new TypeError('a fault')
  }
  const pool: ExecutorPool = {
    ...createPool().pool,
    acquire: () => ({ executor: { chat } as Partial<Executor> as Executor, release: () => undefined })
  }
  const { url, app } = await start(t, { pool, calls: [] }, { UPSTREAM_MODEL: 'm' }, log)
  const body = { stream: true, messages: [{ role: 'user', content: 'x' }] }
  const { text } = await post(`${url}/v1/chat/completions`, body)
  const frames = text.trim().split('\n\n')
  t.match(frames[0], /"content":"Hi"/)
  t.match(frames.at(-1), /"error":\{.*"code":"internal_error"/)
  t.notMatch(text, /a fault/)
  await waitUntil(() => app.activeRequests === 0, 'the connection is closed (decisions.md 108)')
  t.match(lines, [{ event: 'unhandled_fault' }])
})

t.test('operations 3.7: every operation releases its slot when no executor can be acquired', async t => {
  const pool: ExecutorPool = {
    ...createPool().pool,
    acquire() {
      throw new GatewayError('invalid_request', { param: 'authorization' })
    }
  }
  const limits = JSON.stringify({ m: 1, Embeddings: 1 })
  const { url } = await start(
    t,
    { pool, calls: [] },
    {
      UPSTREAM_MODEL: 'm',
      GATEWAY_MODEL_MAX_CONNECTIONS: limits,
      GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
    }
  )
  const messages = [{ role: 'user', content: 'x' }]
  for (const [path, body] of [
    ['/v1/embeddings', { input: 'x' }],
    ['/v1/chat/completions', { messages }],
    ['/v1/messages', { messages, max_tokens: 1 }],
    ['/v1/responses', { input: 'x' }]
  ] as const) {
    for (let time = 0; time < 2; time++) t.equal((await post(url + path, body)).status, 400, path)
  }
})
