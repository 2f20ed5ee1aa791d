// What is switched off is not loaded (design, "What is disabled costs nothing"): the modules of a worker are recorded as its loader is
// asked for them, in the process of the worker itself.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { startOtlpReceiver } from '../../support/otlp/receiver.ts'
import { readChildPids } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { askIn, families } from './support.ts'

/** Packages of features that are off by default, and `ajv`, with which the framework would compile schemas. */
const OPTIONAL = ['@opentelemetry', '@grpc', 'prom-client', 'piscina', 'better-sqlite3', 'protobufjs', 'ajv', 'ws']

/** A module for `--import` that writes the URL of each module that its process resolves into a file, with the process before it. */
function createProbe(t: Test): { option: string; readWorkerModules: () => string[]; readModules: () => string[] } {
  const folder = createTemporaryFolder(t)
  const list = join(folder, 'modules.txt')
  const probe = join(folder, 'probe.mjs')
  writeFileSync(list, '')
  writeFileSync(
    probe,
    `import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
const list = ${JSON.stringify(list)}
registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    appendFileSync(list, process.pid + ' ' + resolved.url + '\\n')
    return resolved
  }
})
`
  )
  return {
    option: `--import=${pathToFileURL(probe).href}`,
    readWorkerModules() {
      const lines = readFileSync(list, 'utf8').trim().split('\n')
      const loaded = lines.map(line => line.split(' ') as [pid: string, url: string])
      // The entry file of a worker tells its process from that of the supervisor.
      const workers = new Set(loaded.filter(([, url]) => url.endsWith('/worker/main.ts')).map(([pid]) => pid))
      return loaded.filter(([pid]) => workers.has(pid)).map(([, url]) => url)
    },
    readModules: () => readFileSync(list, 'utf8').trim().split('\n')
  }
}

function optionalPackages(urls: readonly string[]): string[] {
  return OPTIONAL.filter(name => urls.some(url => url.includes(`/node_modules/${name}/`)))
}

t.test('a worker with everything off loads nothing of tracing, metrics, threads and databases', async t => {
  const emulator = await startEmulator(t)
  const probe = createProbe(t)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), NODE_OPTIONS: probe.option }
  })
  for (const family of families) t.equal((await askIn(gateway, family, 'hi')).status, 200)
  t.equal((await get(`${gateway.url}/metrics`)).status, 404)
  await gateway.stop()
  const urls = probe.readWorkerModules()
  t.ok(
    urls.some(url => url.includes('/node_modules/fastify/')),
    'the probe sees what is loaded'
  )
  t.ok(urls.some(url => url.endsWith('/worker/observation/create-observers.ts')))
  t.same(optionalPackages(urls), [])
  t.notOk(
    urls.some(url => /\/worker\/(observation\/(tracing|metrics)|translation\/(describe-call|capture|debug))/.test(url))
  )
  t.notOk(urls.some(url => /\/worker\/(debug|admin|traffic|routes\/(debug|admin))|\/client\/write-request/.test(url)))
  t.notOk(urls.some(url => url.includes('/routes/responses-websocket/')))
  t.notOk(urls.some(url => /\/worker\/memory\/(store-|open-turn)|\/supervisor\/store\//.test(url)))
  t.notOk(
    urls.some(url => /\/worker\/(limits\/|control\/limits-channel)/.test(url)),
    'keys 19: without a keys file nothing of limits is loaded'
  )
})

t.test(
  'keys 19: without a keys file nothing of limits is loaded, and responses and documents are as before',
  async t => {
    const emulator = await startEmulator(t)
    const LIMITS =
      /\/worker\/(limits|control\/limits-)|\/supervisor\/limits\/(redis\/|ledger|limits-service)|\/node_modules\/(@redis|ioredis|redis)\//
    const secret = 'a-secret-of-the-keys-file'
    const keysFile = join(createTemporaryFolder(t), 'keys.json')
    const key = { name: 'ci', secrets: [{ env: 'NODE_CI' }], limits: { requests_per_minute: 1000 } }
    writeFileSync(keysFile, JSON.stringify({ schema_version: 'gateway.keys.v1', keys: [key] }))
    for (const hasFile of [false, true]) {
      const probe = createProbe(t)
      const env = hasFile ? { GATEWAY_KEYS_FILE: keysFile, NODE_CI: secret } : {}
      const gateway = await startGateway(t, {
        env: { ...emulatorVariables(emulator), ...env, NODE_OPTIONS: probe.option }
      })
      const chat = { model: 'GigaChat-2', messages: [{ role: 'user', content: 'hi' }] }
      const answer = await post(`${gateway.url}/v1/chat/completions`, chat, hasFile ? { 'x-api-key': secret } : {})
      t.equal(answer.status, 200)
      t.equal(answer.headers.has('x-ratelimit-limit-requests'), hasFile)
      t.equal('keys_revision' in (await get(`${gateway.url}/ready`)).json, hasFile)
      for (const pid of readChildPids(gateway.process.pid ?? 0)) {
        const isLeft = readFileSync(`/proc/${pid}/environ`, 'utf8').includes(secret)
        t.notOk(isLeft, 'no child process has the variable of a key')
      }
      await gateway.stop()
      t.equal(
        probe.readModules().some(line => LIMITS.test(line)),
        hasFile
      )
    }
  }
)

t.test('the pages for developers are loaded in DEV only, and payloads are logged only at the level DEBUG', async t => {
  const PAGES = /\/worker\/(routes\/(logs\/|docs)|docs\/)/
  const PAYLOADS = /\/worker\/http\/response\/payload-log/
  for (const [variables, hasPages, hasPayloads] of [
    [{}, true, false],
    [{ GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'a-key-of-production' }, false, false],
    [{ GATEWAY_LOG_LEVEL: 'DEBUG' }, true, true]
  ] as const) {
    const probe = createProbe(t)
    const gateway = await startGateway(t, { env: { ...variables, NODE_OPTIONS: probe.option } })
    await gateway.stop()
    const urls = probe.readWorkerModules()
    t.equal(
      urls.some(url => PAGES.test(url)),
      hasPages,
      JSON.stringify(variables)
    )
    t.equal(
      urls.some(url => PAYLOADS.test(url)),
      hasPayloads
    )
  }
})

t.test(
  'the same probe sees OpenTelemetry when tracing is on, and nothing of it at the sample rate 0 or without a backend',
  async t => {
    const emulator = await startEmulator(t)
    const receiver = await startOtlpReceiver(t, 'grpc')
    for (const [variables, expected] of [
      [{}, ['@opentelemetry', '@grpc']],
      [{ GATEWAY_OBSERVABILITY_SAMPLE_RATE: '0' }, []],
      [{ GATEWAY_OBSERVABILITY_BACKEND: 'noop' }, []]
    ] as const) {
      const probe = createProbe(t)
      const gateway = await startGateway(t, {
        env: {
          ...emulatorVariables(emulator),
          NODE_OPTIONS: probe.option,
          GATEWAY_OBSERVABILITY_ENABLED: 'true',
          TRACE_COLLECTOR_ENDPOINT: receiver.url,
          ...variables
        }
      })
      await gateway.stop()
      const found = optionalPackages(probe.readWorkerModules())
      for (const name of ['@opentelemetry', '@grpc'] as const) {
        t.equal(
          found.includes(name),
          expected.some(one => one === name),
          `${name} with ${JSON.stringify(variables)}`
        )
      }
    }
  }
)

t.test(
  'pages of DEV are not loaded in PROD, and the generator of the documentation only when it is asked for',
  async t => {
    const emulator = await startEmulator(t)
    const ofPages = (urls: readonly string[]) =>
      urls.filter(url => /\/worker\/(?:docs|routes\/(?:docs|logs))/.test(url))
    async function listLoaded(env: Record<string, string>, path: string): Promise<string[]> {
      const probe = createProbe(t)
      const gateway = await startGateway(t, {
        env: { ...emulatorVariables(emulator), GATEWAY_API_KEY: 'k1', NODE_OPTIONS: probe.option, ...env }
      })
      await get(gateway.url + path)
      await gateway.stop()
      return ofPages(probe.readWorkerModules())
    }
    t.same(await listLoaded({ GATEWAY_MODE: 'PROD' }, '/openapi.json'), [])
    const generator = /\/worker\/docs\/document\.ts$/
    t.notOk((await listLoaded({}, '/health')).some(url => generator.test(url)))
    t.ok((await listLoaded({}, '/openapi.json')).some(url => generator.test(url)))
  }
)
