// The requests that run in all workers (field-lessons.md L17).
import t from 'tap'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { ADMIN_KEY, createCalls, error, until } from './support.ts'

const SECRET = 'sk-canary0123456789canary'

t.test('requests that run in any worker are listed from memory, without content, until they end', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_WORKERS: '2',
      GATEWAY_API_KEY: 'k-main',
      GATEWAY_API_KEYS: '{"alice":"k-alice"}',
      GATEWAY_ENABLE_API_KEY_AUTH: 'true',
      GATEWAY_ADMIN_API_ENABLED: 'true',
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY
    }
  })
  const { logs } = createCalls(gateway)
  t.match((await logs('/running')).json, { data: [], total: 0, silent_workers: 0 })

  const leaving = new AbortController()
  const send = (prompt: string, isStream: boolean) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'k-alice',
        'x-trace-id': SECRET,
        connection: 'close'
      },
      body: JSON.stringify({ model: 'GigaChat-2', stream: isStream, messages: [{ role: 'user', content: prompt }] })
    }).catch(() => undefined)
  const waiting = Array.from({ length: 5 }, () => send('a prompt with [[hang]]', false))
  const stream = await send('a prompt with [[hang:1]]', true)
  await stream?.body?.getReader().read()
  const { json } = await until(
    () => logs('/running'),
    ({ json }) => json.total === 6 && json.data.some(({ state }: { state: string }) => state === 'responding')
  )
  t.same(Object.keys(json), ['data', 'total', 'silent_workers'])
  for (const request of json.data) {
    t.match(request, {
      request_id: /^[0-9a-f-]{36}$/,
      worker_id: /^[12]$/,
      protocol: 'openai',
      route: '/v1/chat/completions',
      model_requested: 'GigaChat-2',
      model_effective: 'GigaChat-2',
      provider: 'native',
      started_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/,
      api_key_name: 'alice',
      // A known key is named (decisions.md 96).
      api_key_hash: null
    })
    t.ok(request.running_ms >= 0)
  }
  const states = json.data.map(({ state, streaming }: { state: string; streaming: boolean }) => `${state} ${streaming}`)
  t.same(states.toSorted(), ['responding true', ...Array(5).fill('waiting false')])
  const starts = json.data.map(({ started_at }: { started_at: string }) => started_at)
  t.same(starts, starts.toSorted(), 'the oldest first')
  t.notMatch(JSON.stringify(json), /a prompt|canary|k-alice/)

  leaving.abort()
  await Promise.all(waiting)
  await until(
    () => logs('/running'),
    ({ json }) => json.total === 0
  )
})

t.test('the list of running requests takes the admin key only', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_ADMIN_API_ENABLED: 'true', GATEWAY_ADMIN_API_KEY: ADMIN_KEY }
  })
  const { status, json } = await createCalls(gateway).logs('/running', { headers: { 'x-api-key': 'k' } })
  t.equal(status, 403)
  t.same(json, error('invalid_admin_key', 'Invalid admin API key'))
})
