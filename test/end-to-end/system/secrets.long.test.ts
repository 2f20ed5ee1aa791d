// No secret appears in an output of the gateway: secrets are planted in every setting, header,
// query and body, every failure is provoked, and no readable output contains any of them (case
// 99 of bridge.md 10, field-lessons.md M1 to M3).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { get, type HttpResponse, post } from '../../support/client.ts'
import { emulatorVariables, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { askIn, bodyOf, families, model, openStream, urlOf } from './support.ts'

const folder = createTemporaryFolder(t)

/** Every planted secret, by the place where it is planted. */
const planted = new Map<string, string>()
let count = 0

/** A secret that is unique for one place, and in a form that does not occur in ordinary output. */
function plant(place: string): string {
  const secret = `canary${String.fromCharCode(97 + (count % 26), 97 + (Math.floor(count / 26) % 26))}secret${count++}`
  planted.set(place, secret)
  return secret
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

function plantedBase64(place: string): string {
  const encoded = base64(`client:${plant(`${place}, plain`)}`)
  planted.set(`${place}, encoded`, encoded)
  return encoded
}

/** All texts that are readable from outside the process. */
const outputs: Array<{ where: string; text: string }> = []

function note(where: string, text: string): void {
  outputs.push({ where, text })
}

function noteResponse(where: string, response: HttpResponse): HttpResponse {
  note(where, `${response.text}\n${JSON.stringify([...response.headers])}`)
  return response
}

function listen(gateway: StartedGateway): void {
  gateway.process.stdout?.on('data', chunk => note('stdout', String(chunk)))
  gateway.process.stderr?.on('data', chunk => note('stderr', String(chunk)))
}

function expectNoSecret(t: Test): void {
  for (const [place, secret] of planted) {
    const leaks = outputs.filter(({ text }) => text.includes(secret) || text.includes(encodeURIComponent(secret)))
    t.strictSame(
      leaks.map(
        ({ where, text }) =>
          `${where}: …${text.slice(Math.max(0, text.indexOf(secret) - 80), text.indexOf(secret) + 60)}…`
      ),
      [],
      place
    )
  }
}

const apiKey = plant('GATEWAY_API_KEY')
const secretFile = join(folder, 'secret')
writeFileSync(secretFile, `${plant('GATEWAY_FINGERPRINT_KEY_FILE')}\n`)

/** Settings whose values are or contain secrets. */
const secretSettings = {
  UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
  GATEWAY_ENABLE_API_KEY_AUTH: 'true',
  GATEWAY_API_KEY: apiKey,
  GATEWAY_API_KEYS: JSON.stringify({ second: plant('GATEWAY_API_KEYS') }),
  GATEWAY_ADMIN_API_KEY: plant('GATEWAY_ADMIN_API_KEY'),
  GATEWAY_FINGERPRINT_KEY_FILE: secretFile,
  GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: `postgres://user:${plant('GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN')}@db.example/logs`,
  GATEWAY_OPENSEARCH_USERNAME: plant('GATEWAY_OPENSEARCH_USERNAME'),
  GATEWAY_OPENSEARCH_PASSWORD: plant('GATEWAY_OPENSEARCH_PASSWORD'),
  GATEWAY_SEARCH_INDEX_URL: `http://user:${plant('GATEWAY_SEARCH_INDEX_URL')}@search.example:9200`,
  GATEWAY_TRACE_API_KEY: plant('GATEWAY_TRACE_API_KEY'),
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${plant('OTEL_EXPORTER_OTLP_HEADERS')}`,
  UPSTREAM_CREDENTIALS: plantedBase64('UPSTREAM_CREDENTIALS'),
  UPSTREAM_USER: 'ann',
  UPSTREAM_PASSWORD: plant('UPSTREAM_PASSWORD'),
  UPSTREAM_ACCESS_TOKEN: plant('UPSTREAM_ACCESS_TOKEN'),
  UPSTREAM_KEY_FILE_PASSWORD: plant('UPSTREAM_KEY_FILE_PASSWORD'),
  HTTPS_PROXY: `http://user:${plant('HTTPS_PROXY')}@proxy.example:3128`
}

const headers = {
  cookie: `session=${plant('cookie')}`,
  'proxy-authorization': `Basic ${plantedBase64('proxy-authorization')}`,
  'x-goog-api-key': plant('x-goog-api-key'),
  'api-key': plant('api-key'),
  'x-admin-api-key': plant('x-admin-api-key'),
  'x-custom-token': plant('a header of the client’s own'),
  referer: `https://app.example/?token=${plant('referer')}`
}
const withKey = { ...headers, authorization: `Bearer ${apiKey}` }

/** Secrets at places of a body that a response does not repeat. */
const bodySecrets = {
  user: plant('body member user'),
  metadata: { password: plant('body metadata') },
  api_key: plant('body api_key'),
  extra_headers: { authorization: `Bearer ${plant('body extra_headers')}`, 'x-body-token': plant('body extra header') },
  extra_query: { token: plant('body extra_query') }
}

const wrongKeys = [
  { authorization: `Bearer ${plant('a wrong bearer key')}` },
  { 'x-api-key': plant('a wrong header key') },
  { authorization: `Basic ${plantedBase64('basic authorization')}` }
]

/** Provokes every kind of failure once, and some successful requests. */
async function provoke(gateway: StartedGateway, mode: string): Promise<void> {
  const ask = async (where: string, text: string, options: Parameters<typeof askIn>[3] = {}) => {
    for (const family of families) {
      const response = await askIn(gateway, family, text, {
        headers: withKey,
        more: family === 'completions' ? bodySecrets : {},
        ...options
      })
      noteResponse(`${mode} ${family} ${where}`, response)
    }
  }
  await ask('success', '[[text:fine]]')
  await ask('stream', '[[text:fine]]', { stream: true })
  for (const directive of [
    '[[error:400]]',
    '[[error:401]]',
    '[[error:403]]',
    '[[error:429 retry=1]]',
    '[[error:500]]',
    '[[error:502]]',
    '[[die:0]]',
    '[[badjson]]',
    '[[finish:error]]'
  ]) {
    await ask(directive, directive)
  }
  const spoken = plant('an upstream message')
  for (const sentence of [
    `Bearer ${spoken}`,
    `{"password": "${spoken}"}`,
    `access_token=${spoken}&x=1`,
    `https://user:${spoken}@internal.example/path?key=${spoken}`
  ]) {
    await ask('a talkative upstream', `[[error:422 message=${sentence}]]`)
    await ask('a talkative stream', `[[errframe:422 message=${sentence}]][[chunks:a|b]]`, { stream: true })
  }
  for (const directive of ['[[die:1]]', '[[badframe]]', '[[noeof]]', '[[ctype:text/html]]']) {
    await ask(directive, directive, { stream: true })
  }
  for (const wrong of wrongKeys) await ask('a wrong key', 'hi', { headers: { ...headers, ...wrong } })
  for (const query of [`?key=${plant('query key')}`, `?x-api-key=${plant('query x-api-key')}`]) {
    await ask('a wrong query key', 'hi', { headers, query })
  }
  await ask('another query', 'hi', { query: `?token=${plant('another query')}` })
  for (const family of families) {
    const url = urlOf(gateway, family)
    const note = (where: string, response: HttpResponse | undefined) =>
      response && noteResponse(`${mode} ${family} ${where}`, response)
    note('broken JSON', await post(url, `{"api_key":"${plant('broken JSON')}",`, withKey))
    note('no object', await post(url, JSON.stringify([plant('an array')]), withKey))
    note('wrong coding', await post(url, plant('a wrong coding'), { ...withKey, 'content-encoding': 'gzip' }))
    note('too large', await post(url, plant('a large body').repeat(2000), withKey).catch(() => undefined))
    const wrongTypes = {
      ...bodyOf(family, 'hi'),
      messages: plant('wrong types'),
      input: 5,
      contents: plant('contents')
    }
    note('wrong types', await post(url, wrongTypes, withKey))
    note('wrong method', await get(url, withKey))
    note('unknown path', await get(`${url}/nope?secret=${plant('an unknown path')}`, withKey))
  }
  const image = (url: string) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
  for (const url of [
    `http://127.0.0.1/x.png?sig=${plant('a refused image')}`,
    `https://user:${plant('an image with a user')}@example.com/x.png`,
    `data:image/png;base64,@${plant('a broken image')}`
  ]) {
    const response = await post(urlOf(gateway, 'completions'), { model, messages: image(url) }, withKey)
    noteResponse(`${mode} image`, response)
  }
  for (const path of ['/v1/models', '/v1/models/nope', '/ready', '/health', '/', '/v1/model/info']) {
    noteResponse(`${mode} ${path}`, await get(gateway.url + path, withKey))
  }
  noteResponse(
    `${mode} embeddings`,
    await post(`${gateway.url}/v1/embeddings`, { input: 'x', ...bodySecrets }, withKey)
  )
  for (const prompt of ['[[tick:20]][[len:1000]]', '[[hang]]']) {
    const controller = new AbortController()
    const given = openStream(gateway, 'completions', prompt, {
      headers: withKey,
      more: bodySecrets,
      signal: controller.signal
    }).catch(() => undefined)
    if (prompt.startsWith('[[tick')) await given
    else await new Promise(setImmediate)
    controller.abort()
    await given
  }
}

const emulator = await startEmulator(t)

t.test('bridge 99: in DEV no failure puts a secret into any output (M1, M2)', async t => {
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      ...secretSettings,
      UPSTREAM_BASE_URL: emulator.baseUrl,
      UPSTREAM_FIRST_BYTE_TIMEOUT: '2',
      GATEWAY_ACCESS_LOG: 'true',
      GATEWAY_LOG_FORMAT: 'text',
      GATEWAY_MAX_REQUEST_BODY_BYTES: '20000'
    }
  })
  listen(gateway)
  await provoke(gateway, 'DEV')
  emulator.expireTokens()
  emulator.failNext({ path: '/oauth', status: 401, message: `wrong ${plantedBase64('an OAuth message')}`.slice(0, 5) })
  noteResponse('refused credentials', await askIn(gateway, 'completions', 'hi', { headers: withKey }))
  const [worker = 0] = readChildPids(gateway.process.pid ?? 0)
  process.kill(worker, 'SIGKILL')
  await waitUntil(
    async () => (await get(`${gateway.url}/health`).catch(() => undefined))?.status === 200,
    'a worker is back'
  )
  t.equal(await gateway.stop(), 0)
  note('log file', readFileSync(join(gateway.folder, 'gateway.log'), 'utf8'))
  t.match(outputs.map(({ text }) => text).join('\n'), /http_access/, 'the outputs were read')
  expectNoSecret(t)
})

t.test('bridge 99: in PROD not even DEBUG logs a secret or any content of a request (M1, M2)', async t => {
  const prompt = plant('a prompt')
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      ...secretSettings,
      UPSTREAM_BASE_URL: emulator.baseUrl,
      GATEWAY_MODE: 'PROD',
      GATEWAY_LOG_LEVEL: 'DEBUG',
      GATEWAY_PASS_TOKEN: 'true',
      UPSTREAM_FIRST_BYTE_TIMEOUT: '2',
      GATEWAY_ACCESS_LOG: 'true',
      GATEWAY_MAX_REQUEST_BODY_BYTES: '20000'
    }
  })
  listen(gateway)
  await provoke(gateway, 'PROD')
  for (const token of [
    `upstream-auth-${plant('a passed token')}`,
    `upstream-cred-${plantedBase64('passed credentials')}`,
    `upstream-cred-${plant('broken credentials')}:`,
    `upstream-user-ann:${plant('a passed password')}`
  ]) {
    for (const family of families) {
      const options = { headers: { authorization: `Bearer ${token}`, 'x-api-key': apiKey } }
      noteResponse(`passed ${family}`, await askIn(gateway, family, `[[text:fine]] ${prompt}`, options))
    }
  }
  t.equal(await gateway.stop(), 0)
  note('log file', readFileSync(join(gateway.folder, 'gateway.log'), 'utf8'))
  t.match(outputs.map(({ text }) => text).join('\n'), /payload omitted in PROD/)
  expectNoSecret(t)
})

t.test('a debug log in DEV shows the request without its secrets (M3)', async t => {
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      ...secretSettings,
      UPSTREAM_BASE_URL: emulator.baseUrl,
      GATEWAY_LOG_LEVEL: 'DEBUG'
    }
  })
  listen(gateway)
  const content = `shown text, Bearer ${plant('a bearer in a prompt')}, password=${plant('a password in a prompt')}`
  const tools = [
    {
      type: 'function',
      function: {
        name: 'f',
        parameters: { type: 'object', properties: {}, 'x-example': { token: plant('a token in a schema') } }
      }
    }
  ]
  const more = { tools, tenant: { secret: plant('a secret member'), 'api-key': plant('a hyphenated member') } }
  const response = await askIn(gateway, 'completions', `[[text:fine]] ${content}`, { headers: withKey, more })
  t.equal(response.status, 200)
  t.equal(await gateway.stop(), 0)
  const log = readFileSync(join(gateway.folder, 'gateway.log'), 'utf8')
  t.match(log, /shown text/)
  note('debug log', log)
  expectNoSecret(t)
})

/** Runs the entry until it exits and returns all its output. */
async function run(t: Test, argumentList: string[], env: Record<string, string>): Promise<number | null> {
  const main = join(import.meta.dirname, '../../../supervisor/main.ts')
  const child = spawn(process.execPath, [main, ...argumentList], {
    cwd: folder,
    env: { PATH: process.env.PATH, GATEWAY_LOG_FILENAME: join(folder, 'gateway.log'), ...env }
  })
  t.teardown(() => child.kill('SIGKILL'))
  child.stdout.on('data', chunk => note(`stdout of ${argumentList.join(' ')}`, String(chunk)))
  child.stderr.on('data', chunk => note(`stderr of ${argumentList.join(' ')}`, String(chunk)))
  const [code] = await once(child, 'close')
  return code
}

t.test('bridge 99: a failed start shows no secret, in a preflight and in a normal start', async t => {
  const wrong = {
    ...secretSettings,
    GATEWAY_PORT: plant('a wrong port'),
    UPSTREAM_BASE_URL: `https://user:${plant('a base URL')}@up.example/v1`,
    GATEWAY_WORKERS: plant('a wrong number'),
    GATEWAY_MODEL_MAX_CONNECTIONS: `{"${plant('a broken map')}"`,
    GATEWAY_APIKEY: plant('a misspelt variable')
  }
  for (const argumentList of [[], ['--inspect-config']]) t.equal(await run(t, argumentList, wrong), 2)
  for (const argumentList of [
    ['--api-key', plant('an unknown flag')],
    ['--port', plant('a wrong flag value')],
    [plant('a stray word')],
    ['--config', join(folder, `${plant('a profile path')}.yaml`)]
  ]) {
    t.equal(await run(t, argumentList, secretSettings), 2)
  }
  t.equal(await run(t, ['--demo'], { ...secretSettings }), 2)
  t.equal(await run(t, ['--inspect-config'], secretSettings), 0)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  t.equal(await run(t, ['--host', '127.0.0.1', '--port', String(port)], secretSettings), 1)
  const unreadable = { ...secretSettings, UPSTREAM_CERT_FILE: join(folder, `${plant('a certificate path')}.pem`) }
  t.not(await run(t, ['--host', '127.0.0.1', '--port', '0'], unreadable), 0)
  note('log file', readFileSync(join(folder, 'gateway.log'), 'utf8'))
  planted.delete('a certificate path')
  planted.delete('a profile path')
  expectNoSecret(t)
})
