// The container as an engine runs it: the image is assembled in a folder as the Dockerfile says, and runs as an unprivileged user with a
// read-only root, one writable volume, no shell and no capability, as process 1 of its own namespace, also under memory limits.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { assembleImage, DOCKERFILE, type Image } from '../../support/container/image.ts'
import { createMemoryGroup, type MemoryGroup, whyWithoutMemoryLimits } from '../../support/container/memory-group.ts'
import { type Container, runContainer, whyWithoutContainers } from '../../support/container/run.ts'
import { waitUntil } from '../../support/processes.ts'
import { findProgram, whyWithoutProgram } from '../../support/programs.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const MEBIBYTE = 1024 * 1024
const KEY = 'a-key-of-more-than-sixteen-characters'
const skip = whyWithoutContainers()
const image: Image | undefined = skip === false ? assembleImage(createTemporaryFolder(t)) : undefined

/** A native upstream that answers every chat, as a stream where that is asked for. */
async function startUpstream(t: Test): Promise<Record<string, string>> {
  const server = createServer((request, response) => {
    let start = ''
    request.on('data', (chunk: Buffer) => {
      if (start.length < MEBIBYTE) start = (start + chunk).slice(-MEBIBYTE)
    })
    request.on('end', () => respond(request.url ?? '', start, response))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    UPSTREAM_CREDENTIALS: 'Yzpz',
    UPSTREAM_BASE_URL: `${base}/api/v1`,
    UPSTREAM_AUTH_URL: `${base}/oauth`,
    // The upstream of the test has no TLS.
    GATEWAY_ALLOW_INSECURE_PROD: 'true',
    GATEWAY_API_KEY: KEY,
    GATEWAY_PORT: '0'
  }
}

function respond(url: string, body: string, response: ServerResponse): void {
  const write = (value: object) => JSON.stringify(value)
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const common = { created: 1, model: 'GigaChat-2', object: 'chat.completion' }
  if (/"stream":\s*true/.test(body)) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const delta = { index: 0, delta: { content: 'ok', role: 'assistant' } }
    const end = { index: 0, delta: { content: '' }, finish_reason: 'stop' }
    response.write(`data: ${write({ ...common, choices: [delta] })}\n\n`)
    response.end(`data: ${write({ ...common, choices: [end], usage })}\n\ndata: [DONE]\n\n`)
    return
  }
  response.setHeader('content-type', 'application/json')
  if (url.includes('oauth')) response.end(write({ access_token: 'token', expires_at: Date.now() + 3_600_000 }))
  else if (url.endsWith('/models')) response.end('{"object":"list","data":[{"id":"GigaChat-2","object":"model"}]}')
  else {
    const message = { role: 'assistant', content: 'ok' }
    response.end(write({ ...common, choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
  }
}

async function chat({ url }: Container, content: string, stream = false): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'GigaChat-2', stream, messages: [{ role: 'user', content }] })
  })
  if (response.status === 503) t.equal(response.headers.get('retry-after'), '1')
  return { status: response.status, text: await response.text() }
}

async function start(t: Test, environment: Record<string, string>, memory?: MemoryGroup): Promise<Container> {
  if (image === undefined) throw new Error('There is no image.')
  const upstream = await startUpstream(t)
  return runContainer(t, image, { environment: { ...upstream, ...environment }, memory })
}

t.test('the container starts, answers, checks its health, and drains at SIGTERM', { skip }, async t => {
  if (image === undefined) return
  t.notOk(existsSync(join(image.folder, 'bin')), 'the image of the test has no shell')
  const container = await start(t, {
    GATEWAY_WORKERS: '2',
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINK: 'sqlite'
  })
  await waitUntil(async () => (await fetch(`${container.url}/ready`)).status === 200, 'the container was ready')
  const { status, text } = await chat(container, 'hello', true)
  t.equal(status, 200)
  t.ok(/"content":"ok"/.test(text) && text.includes('[DONE]'))
  const [first] = container.processes()
  t.match(first?.command, /supervisor\/main\.js$/, 'the gateway itself is process 1')

  const lines = container
    .output()
    .split('\n')
    .filter(line => line.includes('"event":"listening"'))
  t.equal(lines.length, 1, 'each line of the log once')

  t.comment('a process that is killed leaves no zombie')
  const worker = container.processes().find(({ command }) => /worker\/main\.js/.test(command))
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  const isServing = () => container.processes().filter(({ command }) => /worker\/main\.js/.test(command)).length === 2
  await waitUntil(
    () => isServing() && !container.processes().some(({ pid }) => pid === worker?.pid),
    'a worker followed'
  )
  t.same(
    container.processes().filter(({ state }) => state === 'Z'),
    []
  )

  const files = readdirSync(container.volume)
  t.ok(files.includes('traffic_logs.sqlite'), files.join())
  t.ok(
    files.some(name => name.startsWith('llm-gateway-compile-cache-10001')),
    'compiled code is kept'
  )
  t.notOk(files.includes('gateway.log'))
  t.equal(await container.stop(), 0)
  t.same(
    readdirSync(container.volume).filter(name => /sock|^llm-gateway-(?!compile)/.test(name)),
    [],
    'sockets are removed'
  )
})

t.test('the health check of the image fails when the gateway does not answer', { skip }, async t => {
  const container = await start(t, { GATEWAY_WORKERS: '1', GATEWAY_PORT: '18191' })
  const isHealthy = async () => (await container.checkHealth()) === 0
  await waitUntil(isHealthy, 'the container was healthy')
  const pids = container.processes().map(({ pid }) => pid)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  t.equal(await container.checkHealth(), 1)
  for (const pid of pids) process.kill(pid, 'SIGCONT')
  await waitUntil(isHealthy, 'the container was healthy again')
  t.equal(await container.stop(), 0)
})

t.test('a container without a writable volume says so, and PROD asks for a key', { skip }, async t => {
  await t.rejects(
    start(t, { TMPDIR: '/nowhere', GATEWAY_TRAFFIC_LOG_ENABLED: 'true', GATEWAY_TRAFFIC_LOG_SINK: 'sqlite' }),
    {
      message: /TMPDIR/
    }
  )
  await t.rejects(start(t, { GATEWAY_API_KEY: '' }), { message: /GATEWAY_API_KEY/ })
})

const withoutLimits = skip || whyWithoutMemoryLimits()

t.test('operations-workers-300: a container of 300 MiB has one worker', { skip: withoutLimits }, async t => {
  const memory = createMemoryGroup(t, 300)
  const container = await start(t, {}, memory)
  t.equal(container.processes().filter(({ command }) => /worker\/main\.js/.test(command)).length, 1)
  t.equal(memory.kills, 0)
  t.equal(await container.stop(), 0)
})

/** So many clients at once, each with so many requests: how often each status came. */
async function senders(
  count: number,
  rounds: number,
  send: () => Promise<{ status: number; text: string }>
): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  const one = async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { status } = await send()
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: count }, one))
  return statuses
}

const CASES = [
  { limitMebibytes: 256, bodyMebibytes: 20 },
  { limitMebibytes: 512, bodyMebibytes: 20 },
  { limitMebibytes: 1024, bodyMebibytes: 20 }
]

for (const { limitMebibytes, bodyMebibytes } of CASES) {
  const title = `under ${limitMebibytes} MiB small chats, streams and a flood of large bodies are answered, and no process is killed`
  t.test(title, { skip: withoutLimits, timeout: 240_000 }, async t => {
    const memory = createMemoryGroup(t, limitMebibytes)
    const container = await start(t, { GATEWAY_MAX_REQUEST_BODY_BYTES: String(40 * MEBIBYTE) }, memory)
    const pids = container.processes().map(({ pid }) => pid)
    t.comment(`idle: ${memory.usedMebibytes} MiB`)

    t.same(await senders(50, 5, () => chat(container, 'hello')), { 200: 250 })
    t.comment(`after chats: ${memory.usedMebibytes} MiB`)
    t.same(await senders(50, 5, () => chat(container, 'hello', true)), { 200: 250 })
    t.comment(`after streams: ${memory.usedMebibytes} MiB`)

    const large = 'x y z w '.repeat(bodyMebibytes * 131_072)
    const flood = await senders(8, 2, () => chat(container, large))
    t.comment(`flood: ${JSON.stringify(flood)}, ${memory.usedMebibytes} MiB`)
    t.same(
      Object.keys(flood).filter(status => status !== '200' && status !== '503'),
      [],
      'every client has an answer, or 503 with retry-after'
    )
    if (limitMebibytes === 1024) t.ok(flood[200], 'some find room')

    const many = Array.from({ length: 200_000 }, () => ({ role: 'user', content: 'a' }))
    const small = await fetch(`${container.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model: 'GigaChat-2', messages: many })
    })
    await small.text()
    t.ok([200, 503].includes(small.status), `a body of many small values: ${small.status}`)

    t.same(await senders(10, 5, () => chat(container, 'hello')), { 200: 50 }, 'small requests are served as before')
    t.equal(memory.kills, 0)
    t.same(
      container.processes().map(({ pid }) => pid),
      pids,
      'no process was replaced'
    )
    t.equal(await container.stop(), 0)
  })
}

const RECORD_CASES = [
  { title: 'are written or counted', sinks: 'jsonl,sqlite', dsn: 'sqlite:/data/traffic.sqlite' },
  // Nothing listens there.
  { title: 'wait for a database that is down', sinks: 'postgres', dsn: 'postgres://gateway:secret@127.0.0.1:1/gateway' }
]

for (const { title, sinks, dsn } of RECORD_CASES) {
  const whole = `under 512 MiB records with content ${title}, and no process is killed`
  t.test(whole, { skip: withoutLimits, timeout: 240_000 }, async t => {
    const memory = createMemoryGroup(t, 512)
    const environment = {
      GATEWAY_MAX_REQUEST_BODY_BYTES: String(40 * MEBIBYTE),
      GATEWAY_METRICS_ENABLED: 'true',
      GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
      GATEWAY_TRAFFIC_LOG_SINKS: sinks,
      GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn,
      GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true'
    }
    const container = await start(t, environment, memory)
    const pids = container.processes().map(({ pid }) => pid)
    const middle = 'the quick brown fox jumps over it '.repeat(2000)
    t.same(await senders(24, 40, () => chat(container, middle)), { 200: 960 })
    t.comment(`after chats of 68 KB: ${memory.usedMebibytes} MiB`)
    const large = 'x y z w '.repeat(20 * 131_072)
    const flood = await senders(8, 1, () => chat(container, large))
    t.comment(`flood: ${JSON.stringify(flood)}, ${memory.usedMebibytes} MiB`)
    t.same(await senders(10, 5, () => chat(container, 'hello')), { 200: 50 })

    if (sinks !== 'postgres') {
      const readLost = async () => {
        const response = await fetch(`${container.url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } })
        return Number(/^gateway_traffic_log_dropped_total (\d+)/m.exec(await response.text())?.[1])
      }
      const countLines = () => readFileSync(join(container.volume, 'traffic_logs.jsonl'), 'utf8').split('\n').length - 1
      await waitUntil(async () => countLines() + (await readLost()) === 1018, 'each request was written or counted')
      t.comment(`${countLines()} written, ${await readLost()} lost`)
      t.ok(countLines() > 500, 'most are written')
    }
    t.equal(memory.kills, 0)
    t.same(
      container.processes().map(({ pid }) => pid),
      pids
    )
    t.equal(await container.stop(), 0)
  })
}

t.test('the linter of Dockerfiles has nothing to say', { skip: whyWithoutProgram('hadolint') }, async t => {
  const { status, stdout } = spawnSync(findProgram('hadolint'), [DOCKERFILE], { encoding: 'utf8' })
  t.equal(status, 0, stdout)
})

t.test('the root is read-only for the gateway', { skip }, async t => {
  if (image === undefined) return
  const container = await start(t, { GATEWAY_WORKERS: '1' })
  const before = readdirSync(image.folder)
  t.equal((await chat(container, 'hello')).status, 200)
  t.same(readdirSync(image.folder), before)
  t.throws(() => writeFileSync(join(`/proc/${container.processes()[0]?.pid}/root`, 'app/x'), ''))
  t.equal(await container.stop(), 0)
})
