// The log pages of a started gateway and of a complete worker (operations.md 2.2 to 2.5).

import { execFileSync } from 'node:child_process'
import { appendFileSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { parseSettings } from '../../../shared/settings.ts'
import { get } from '../../support/client.ts'
import { startDraining } from '../../support/drain.ts'
import { readLog, type ServingGateway, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'
import { openConnection } from '../../worker/http/support.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const AUTH = { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' }
const KEY = { 'x-api-key': 'k1' }

/** A complete worker whose log file has these lines. */
async function startPages(
  t: Test,
  variables: Record<string, string>,
  lines: readonly string[] = ['one', 'two', 'three']
) {
  const file = join(createTemporaryFolder(t), 'a.log')
  writeFileSync(file, lines.map(line => `${line}\n`).join(''))
  const settings = parseSettings({ GATEWAY_LOG_FILENAME: file, ...variables })
  return { file, ...(await startWorker(t, workerOptions(settings))) }
}

interface SentEvent {
  event: string
  data: string
  id: string | undefined
}

/** Opens a log stream and collects what it sends. */
async function openLogStream(t: Test, url: string, headers: Record<string, string> = {}) {
  const abort = new AbortController()
  t.teardown(() => abort.abort())
  const response = await fetch(url, { headers, signal: abort.signal })
  const state = { text: '', isEnded: false }
  const reading = (async () => {
    for await (const piece of response.body ?? []) state.text += Buffer.from(piece).toString('utf8')
    state.isEnded = true
  })().catch(() => undefined)
  function events(): SentEvent[] {
    const frames = state.text.split('\r\n\r\n').slice(0, -1)
    return frames
      .filter(frame => !frame.startsWith(':'))
      .map(frame => {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1]
        return { event: field('event') ?? '', data: field('data') ?? '', id: field('id') }
      })
  }
  return {
    response,
    state,
    events,
    data: () => events().map(({ data }) => data),
    leave: async () => {
      abort.abort()
      await reading
    }
  }
}

const readLines = ({ folder }: ServingGateway) =>
  readFileSync(join(folder, 'gateway.log'), 'utf8').split('\n').slice(0, -1)

/** For the cases that need no other settings; the last of them drains it. */
const shared = await startGateway(t, { env: { GATEWAY_ACCESS_LOG: 'true' } })

t.test('operations 11: with authentication the last lines need the key, and are those of the file', async t => {
  const gateway = await startGateway(t, { env: AUTH })
  const refused = await get(`${gateway.url}/logs/2`)
  t.equal(refused.status, 401)
  t.equal(refused.headers.get('www-authenticate'), 'Bearer')
  t.same(refused.json, { error: { code: 'invalid_api_key', message: 'API key required' } })
  const written = readLines(gateway).length
  const { status, headers, text } = await get(`${gateway.url}/logs/2`, KEY)
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  t.equal(text.split('\n').length, 3)
  const shown = text.trimEnd().split('\n')
  // The gateway goes on writing, before the response and behind it.
  const lines = readLines(gateway)
  const end = lines.lastIndexOf(shown[1] ?? '') + 1
  t.ok(end >= written, 'no line is left out at the end')
  t.same(shown, lines.slice(end - 2, end))
})

t.test('operations 12: the query form gives the same body', async t => {
  const { url } = await startPages(t, AUTH)
  const [byPath, byQuery] = [await get(`${url}/logs/2`, KEY), await get(`${url}/logs?lines=2`, KEY)]
  t.equal(byPath.text, 'two\nthree\n')
  t.equal(byQuery.text, byPath.text)
  t.equal(byQuery.status, 200)
  t.equal((await get(`${url}/logs`, KEY)).text, 'one\ntwo\nthree\n')
  const head = await fetch(`${url}/logs/2`, { method: 'HEAD', headers: KEY })
  t.same([head.status, head.headers.get('content-type'), await head.text()], [200, 'text/plain; charset=utf-8', ''])
})

t.test('operations 13: a wrong number of lines is named', async t => {
  const { url } = await startPages(t, {})
  for (const [path, place, message] of [
    ['/logs/0', 'path.last_n_lines', 'Input should be greater than or equal to 1'],
    ['/logs/5001', 'path.last_n_lines', 'Input should be less than or equal to 5000'],
    ['/logs/x', 'path.last_n_lines', 'Input should be a valid integer, unable to parse string as an integer'],
    ['/logs?lines=0', 'query.lines', 'Input should be greater than or equal to 1'],
    ['/logs?lines=', 'query.lines', 'Input should be a valid integer, unable to parse string as an integer'],
    ['/logs/stream?level=x', 'query.level', "Input should be 'DEBUG', 'INFO', 'WARNING', 'ERROR' or 'CRITICAL'"]
  ] as const) {
    const { status, json } = await get(url + path)
    t.equal(status, 422, path)
    t.same(json, {
      error: { code: 'invalid_parameter', message: 'Invalid request parameters.', errors: [{ path: place, message }] }
    })
  }
  t.equal((await get(`${url}/logs/`)).status, 404)
  const post = await fetch(`${url}/logs/5`, { method: 'POST' })
  t.same([post.status, post.headers.get('allow')], [405, 'GET'])
  const head = await fetch(`${url}/logs/stream`, { method: 'HEAD', headers: KEY })
  t.same([head.status, await head.text()], [200, ''])
  t.equal(head.headers.get('content-type'), 'text/event-stream; charset=utf-8')
})

t.test('operations 14: a missing file is 404, and one event of the stream', async t => {
  const gateway = await startGateway(t)
  unlinkSync(join(gateway.folder, 'gateway.log'))
  const { status, json } = await get(`${gateway.url}/logs/5`)
  t.equal(status, 404)
  t.same(json, { error: { code: 'log_file_not_found', message: 'Log file not found.' } })
  const response = await fetch(`${gateway.url}/logs/stream`)
  t.equal(response.status, 200)
  t.equal(await response.text(), 'event: error\r\ndata: Log file not found.\r\n\r\n')
})

t.test('a log that is no regular file is 500, and one event of the stream', async t => {
  const folder = createTemporaryFolder(t)
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const path of [folder, pipe, '/dev/null']) {
    const { url } = await startWorker(t, workerOptions(parseSettings({ GATEWAY_LOG_FILENAME: path })))
    const { status, json } = await get(`${url}/logs/5`)
    t.equal(status, 500, path)
    t.same(json, { error: { code: 'log_file_unreadable', message: 'Log file cannot be read.' } })
    const response = await fetch(`${url}/logs/stream`)
    t.equal(await response.text(), 'event: error\r\ndata: Error accessing log file.\r\n\r\n')
  }
})

t.test('operations 15: a stream brings each new line as one event, and no older line', async t => {
  const before = await get(`${shared.url}/nope`)
  const idOf = ({ headers }: { headers: Headers }) => headers.get('x-request-id') ?? ''
  await waitUntil(() => readLines(shared).some(line => line.includes(idOf(before))), 'the earlier line is written')
  const { response, events, data } = await openLogStream(t, `${shared.url}/logs/stream`)
  t.equal(response.status, 200)
  for (const [name, value] of [
    ['content-type', 'text/event-stream; charset=utf-8'],
    ['cache-control', 'no-store'],
    ['x-accel-buffering', 'no'],
    ['connection', 'keep-alive']
  ] as const) {
    t.equal(response.headers.get(name), value)
  }
  const after = await get(`${shared.url}/nope`)
  await waitUntil(() => data().some(line => line.includes(idOf(after))), 'the new line arrives')
  const lines = readLines(shared)
  t.same(
    data().filter(line => !lines.includes(line)),
    [],
    'the data is a line without its newline'
  )
  t.same([...new Set(events().map(({ event }) => event))], ['message'])
  t.notOk(data().some(line => line.includes(idOf(before))))
})

t.test('operations 16: a stream goes on in the new file after a rotation and loses no line', async t => {
  const gateway = await startGateway(t, { env: { GATEWAY_ACCESS_LOG: 'true', GATEWAY_LOG_MAX_SIZE: '20000' } })
  const { data } = await openLogStream(t, `${gateway.url}/logs/stream`)
  const ids: string[] = []
  async function ask(): Promise<void> {
    ids.push((await get(`${gateway.url}/nope`)).headers.get('x-request-id') ?? '')
  }
  const isRotated = () => readdirSync(gateway.folder).filter(name => /^gateway\..+\.log$/.test(name)).length > 0
  await waitUntil(async () => {
    await ask()
    return isRotated()
  }, 'the file is rotated')
  for (let turn = 0; turn < 20; turn += 1) await ask()
  await waitUntil(() => data().some(line => line.includes(ids.at(-1) ?? '?')), 'lines of the new file arrive')
  t.same(
    ids.filter(id => data().filter(line => line.includes(id)).length !== 1),
    [],
    'each line arrived once'
  )
})

t.test('operations 17: an address outside of the allowlist is refused by all log pages', async t => {
  const { url } = await startPages(t, { GATEWAY_LOGS_IP_ALLOWLIST: '["10.0.0.1"]' })
  for (const path of ['/logs/5', '/logs/html', '/logs/stream', '/logs?lines=5']) {
    const { status, json, headers } = await get(url + path)
    t.equal(status, 403, path)
    t.match(headers.get('content-type'), 'application/json')
    t.same(json, { error: { code: 'ip_not_allowed', message: 'Access denied: IP not in logs allowlist' } })
  }
  const keyed = await startPages(t, { ...AUTH, GATEWAY_LOGS_IP_ALLOWLIST: '["10.0.0.1"]' })
  t.equal((await get(`${keyed.url}/logs/5`)).status, 401, 'the key is checked first')
  t.equal((await get(`${keyed.url}/logs/5`, KEY)).status, 403)
  const allowed = await startPages(t, { GATEWAY_LOGS_IP_ALLOWLIST: '["10.0.0.1","127.0.0.0/8"]' })
  t.equal((await get(`${allowed.url}/logs/5`)).status, 200)
})

t.test('operations 18: a forwarded address counts only behind a trusted proxy', async t => {
  const list = { GATEWAY_LOGS_IP_ALLOWLIST: '["10.0.0.1"]' }
  const forwarded = { 'x-forwarded-for': '10.0.0.1' }
  const untrusted = await startPages(t, list)
  const { url } = await startPages(t, { ...list, GATEWAY_LOGS_TRUSTED_PROXIES: '["127.0.0.1"]' })
  for (const path of ['/logs/5', '/logs/html', '/logs/stream']) {
    t.equal((await get(untrusted.url + path, forwarded)).status, 403, path)
    t.equal((await openLogStream(t, url + path, forwarded)).response.status, 200, path)
    t.equal((await get(url + path, { 'x-forwarded-for': 'zz' })).status, 403, path)
  }
  t.equal((await get(`${url}/logs/5`, { 'x-forwarded-for': '10.0.0.1, 10.0.0.2' })).status, 403)
  t.equal((await get(`${url}/logs/5`, { 'x-forwarded-for': '::ffff:10.0.0.1' })).status, 200)
})

t.test('operations 19: the viewer warns, and writes text only as text', async t => {
  const { url } = await startPages(t, AUTH)
  t.equal((await get(`${url}/logs/html`)).status, 401)
  const { status, headers, text } = await get(`${url}/logs/html?key=k1`)
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'text/html; charset=utf-8')
  t.equal(headers.get('x-content-type-options'), 'nosniff')
  const nonce = /script-src 'nonce-([A-Za-z0-9+/=]{24})'/.exec(headers.get('content-security-policy') ?? '')?.[1]
  t.ok(nonce)
  t.match(
    headers.get('content-security-policy'),
    /^default-src 'none'; style-src 'unsafe-inline'; script-src .*connect-src 'self'/
  )
  t.ok(text.includes(`<script nonce="${nonce}">`))
  t.match(text, /role="alert">Logs may hold sensitive data/)
  t.match(text, /type="password"/)
  t.match(text, /textContent/)
  t.notMatch(text, /innerHTML|document\.write|\son[a-z]+=/)
  const again = await get(`${url}/logs/html?key=k1`)
  t.notOk(again.text.includes(nonce ?? ''), 'a nonce is used once')
})

t.test('five streams are open on the host at most, over all workers', async t => {
  const gateway = await startGateway(t, { env: { GATEWAY_WORKERS: '2' } })
  const streams = []
  for (let count = 0; count < 5; count += 1) {
    const stream = await openLogStream(t, `${gateway.url}/logs/stream`, { connection: 'close' })
    t.equal(stream.response.status, 200)
    streams.push(stream)
  }
  for (let turn = 0; turn < 4; turn += 1) {
    const { status, json } = await get(`${gateway.url}/logs/stream`, { connection: 'close' })
    t.equal(status, 429)
    t.match(json, { error: { code: 'too_many_streams', message: 'Too many log streams are open.' } })
  }
  t.equal((await get(`${gateway.url}/logs/1`)).status, 200)
  await streams[0]?.leave()
  await waitUntil(async () => {
    const stream = await openLogStream(t, `${gateway.url}/logs/stream`)
    return stream.response.status === 200
  }, 'the slot of a client that left is free')
})

t.test('a stream shows only lines from a level on', async t => {
  const { url, file } = await startPages(t, {})
  const { data } = await openLogStream(t, `${url}/logs/stream?level=warning`)
  const line = (level: string) => `{"level":"${level}","msg":"m"}`
  appendFileSync(file, `${['INFO', 'WARNING', 'DEBUG', 'ERROR'].map(line).join('\n')}\n`)
  await waitUntil(() => data().length === 2, 'two lines arrive')
  t.same(data(), [line('WARNING'), line('ERROR')])
})

t.test('a client that connects again with the last id gets the lines that it missed', async t => {
  const { url, file } = await startPages(t, {})
  const first = await openLogStream(t, `${url}/logs/stream`)
  appendFileSync(file, 'four\nfive\n')
  await waitUntil(() => first.events().length === 2, 'two lines arrive')
  const lastId = first.events()[0]?.id ?? ''
  t.match(lastId, /-19$/)
  await first.leave()
  appendFileSync(file, 'six\n')
  const second = await openLogStream(t, `${url}/logs/stream`, { 'last-event-id': lastId })
  await waitUntil(() => second.events().length === 2, 'the missed lines arrive')
  t.same(second.data(), ['five', 'six'])
})

t.test('a client that reads nothing takes no memory, and gets every line once it reads', async t => {
  const { url, file } = await startPages(t, {})
  const lines = 64 * 1024
  const { socket } = await openConnection(t, Number(new URL(url).port))
  socket.removeAllListeners('data')
  socket.write('GET /logs/stream HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await new Promise(resolve => socket.once('data', resolve))
  socket.pause()
  const readMemory = () => {
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const block = `${'x'.repeat(1023)}\n`.repeat(1024)
  const before = readMemory()
  for (let blocks = 0; blocks < lines / 1024; blocks += 1) appendFileSync(file, block)
  // More turns than the whole file would take.
  for (let turn = 0; turn < 500; turn += 1) await get(`${url}/health`)
  t.ok(readMemory() - before < 16 * 1024 * 1024, 'the file is not in memory')
  let received = 0
  socket.on('data', chunk => {
    received += chunk.toString('latin1').split('event: message').length - 1
  })
  socket.resume()
  await waitUntil(() => received >= lines - 64, 'all lines arrive')
})

t.test('log pages have their template in the access log, and no prefix leads to them', async t => {
  const ids: unknown[] = []
  const ask = async (path: string) => {
    const response = await get(shared.url + path)
    ids.push(response.headers.get('x-request-id'))
    return response
  }
  for (const path of ['/logs/3', '/logs?lines=3&key=canary', '/logs/x', '/logs/html']) await ask(path)
  for (const path of ['/x/logs', '/x/logs/3', '/v1/logs/3', '/logs/v1/models']) {
    t.equal((await ask(path)).status, 404, path)
  }
  const lines = () => readLog(shared).filter(line => line.event === 'http_access' && ids.includes(line.request_id))
  await waitUntil(() => lines().length >= 8, 'every request has its line')
  t.match(
    lines()
      .slice(0, 4)
      .map(({ route, path, status, protocol }) => ({ route, path, status, protocol })),
    [
      { route: '/logs/{last_n_lines}', path: '/logs/3', status: 200, protocol: 'system' },
      { route: '/logs', path: '/logs', status: 200, protocol: 'system' },
      { route: '/logs/{last_n_lines}', path: '/logs/x', status: 422, protocol: 'system' },
      { route: '/logs/html', path: '/logs/html', status: 200, protocol: 'system' }
    ]
  )
  t.notMatch(JSON.stringify(readLog(shared)), /canary/)
})

t.test('a drain ends the streams at once, and no new one is opened', async t => {
  const { state, response } = await openLogStream(t, `${shared.url}/logs/stream`)
  t.equal(response.status, 200)
  const draining = await startDraining(t, shared)
  await waitUntil(() => state.isEnded, 'the stream has its end')
  const { status, json, headers } = await get(`${draining.url}/logs/stream`)
  t.same([status, json.error.code, headers.get('retry-after')], [503, 'gateway_not_ready', '1'])
  t.equal((await get(`${draining.url}/logs/1`)).status, 200, 'the last lines can still be read')
})
