// A gateway with a profile file over its life: drain, deadline, respawned workers, and the credentials in its processes.

import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { get, readUntilCut } from '../../support/client.ts'
import { startDraining } from '../../support/drain.ts'
import { readLog, startGateway } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { startProfileProcesses } from '../../support/profile-processes.ts'
import { readEnd } from '../system/support.ts'
import { families, openStream, send } from './families.ts'
import {
  type BridgeOptions,
  chat,
  credentialVariables,
  NATIVE_ALIAS,
  nativeCredentials,
  providers,
  startBridgeWith
} from './providers/index.ts'

const { aliases } = chat

const startBridgeProcesses = (options: BridgeOptions = {}) => startBridgeWith(t, options, startProfileProcesses)

t.test('bridge 95: a drain lets running requests finish and refuses new ones', async t => {
  const { gateway, emulator } = await startBridgeProcesses()
  await waitUntil(async () => (await get(`${gateway.url}/ready`)).status === 200, 'the gateway is ready')
  const model = aliases.keyless
  const prompt = '[[slow:3000]][[text:done]]'
  const running = families.flatMap(family =>
    [false, true].map(isStream => send(gateway.url, family, { model, prompt, isStream }))
  )
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === running.length)
  const draining = await startDraining(t, gateway)
  t.match((await get(`${draining.url}/ready`)).json.reasons, [{ reason_id: 'gateway_shutting_down' }])
  t.equal((await get(`${draining.url}/health`)).status, 200)
  for (const family of families) {
    for (const isStream of [false, true]) {
      const refused = await send(draining.url, family, { model, prompt: 'Hi', isStream })
      t.equal(refused.status, 503, family.name)
      t.equal(refused.headers.get('retry-after'), '1', family.name)
      t.match(refused.text, /gateway_shutting_down/, family.name)
    }
  }
  for (const [index, response] of (await Promise.all(running)).entries()) {
    const family = families[index >> 1]
    t.equal(response.status, 200)
    t.equal((index % 2 === 0 ? family?.read(response) : family?.readStream(response))?.text, 'done')
  }
  t.equal(await gateway.stop(), 0)
})

t.test('bridge 96: at the deadline an endless stream ends with an error, and the gateway exits', async t => {
  const { gateway } = await startBridgeProcesses({ env: { GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '2' } })
  const question = { model: aliases.keyless, prompt: '[[tick:100]][[len:5000]]', isStream: true }
  // The head of a stream is sent with its first event.
  const streams = await Promise.all(families.map(family => openStream(gateway.url, family, question)))
  gateway.process.kill('SIGTERM')
  const exited = waitUntil(() => gateway.process.exitCode !== null, 'the gateway has exited', 30_000)
  const ends = await Promise.all(streams.map(response => readUntilCut(response)))
  for (const [index, family] of families.entries()) {
    const text = ends[index]?.text ?? ''
    t.equal(streams[index]?.status, 200)
    t.ok(family.readStreamFailure(text), `${family.name}: ${text.slice(-500)}`)
    t.match(text, /Gateway routes are not ready/, family.name)
    t.equal(readEnd(family.name, text), 'error', family.name)
    t.match(text, /word5\b/, `${family.name}: not before the deadline`)
  }
  await exited
  t.equal(gateway.process.exitCode, 0)
})

t.test('bridge 98: a profile that changes on disk changes nothing until the next start', async t => {
  const { gateway, emulator } = await startBridgeProcesses()
  const model = aliases.keyless
  const readRevision = async () => (await get(`${gateway.url}/ready`)).json.config_revision
  const before = await readRevision()
  t.match(before, /^sha256:/)
  const text = readFileSync(gateway.profileFile, 'utf8')
  writeFileSync(gateway.profileFile, text.replaceAll(model, 'changed/name'))
  const [worker] = readChildPids(Number(gateway.process.pid))
  process.kill(Number(worker), 'SIGKILL')
  await waitUntil(() => readLog(gateway).some(line => line.event === 'worker_restart'), 'a worker returns')
  await waitUntil(async () => (await get(`${gateway.url}/health`).catch(() => undefined))?.status === 200, 'it serves')
  t.equal(await readRevision(), before)
  for (const family of families) {
    t.equal((await send(gateway.url, family, { model, prompt: 'Hi' })).status, 200)
    t.equal((await send(gateway.url, family, { model: 'changed/name', prompt: 'Hi' })).status, 404)
  }
  t.equal(await gateway.stop(), 0)
  const next = await startGateway(t, {
    args: ['--config', gateway.profileFile],
    env: { ...credentialVariables, UPSTREAM_AUTH_URL: emulator.authUrl }
  })
  const after = (await get(`${next.url}/ready`)).json.config_revision
  t.match(after, /^sha256:/)
  t.not(after, before, 'the next start has another revision')
  t.match((await get(`${next.url}/v1/models/changed/name`)).json, { id: 'changed/name' })
  t.equal((await get(`${next.url}/v1/models/${model}`)).status, 404)
})

t.test('no worker has a credential of a profile in its environment, also one that was respawned', async t => {
  const { gateway } = await startBridgeProcesses({ env: { GATEWAY_WORKERS: '2' } })
  const check = () => {
    const workers = readChildPids(Number(gateway.process.pid))
    t.ok(workers.length >= 2)
    for (const pid of workers) {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
      for (const secret of Object.entries(credentialVariables).flat()) {
        t.notOk(environment.includes(secret), `${secret} in process ${pid}`)
      }
      t.notOk(readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(chat.key))
    }
  }
  check()
  const [worker] = readChildPids(Number(gateway.process.pid))
  process.kill(Number(worker), 'SIGKILL')
  await waitUntil(() => {
    const now = readChildPids(Number(gateway.process.pid))
    // Until its program has started, a child shows the command line and the environment of its parent.
    const hasStarted = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker/main')
    return now.length >= 2 && !now.includes(Number(worker)) && now.every(hasStarted)
  }, 'a worker returns')
  check()
  const [family] = families
  if (family === undefined) throw new Error('No family.')
  for (const alias of [...providers.map(({ aliases }) => aliases.keyed), NATIVE_ALIAS]) {
    t.equal((await send(gateway.url, family, { model: alias, prompt: 'Hi' })).status, 200, 'it has its credentials')
  }
})

t.test('bridge 99: no output, log or response of a gateway with profiles has a secret', async t => {
  const { gateway } = await startBridgeProcesses()
  const outputs: string[] = []
  gateway.process.stdout?.on('data', chunk => outputs.push(String(chunk)))
  gateway.process.stderr?.on('data', chunk => outputs.push(String(chunk)))
  const prompts = ['Hi', '[[error:401]]', '[[error:500]]', '[[badjson]]', '[[die]]', '[[redirect:http://127.0.0.1:1/]]']
  for (const family of families) {
    for (const prompt of prompts) {
      for (const alias of [aliases.keyed, NATIVE_ALIAS, aliases.disabled, aliases.blocked]) {
        for (const isStream of [false, true]) {
          const { text, headers } = await send(gateway.url, family, { model: alias, prompt, isStream })
          outputs.push(text, JSON.stringify([...headers]))
        }
      }
    }
  }
  for (const path of ['/ready', '/bridge/models', '/bridge/capabilities', '/v1/models']) {
    outputs.push((await get(gateway.url + path)).text)
  }
  t.equal(await gateway.stop(), 0)
  outputs.push(readFileSync(`${gateway.folder}/gateway.log`, 'utf8'))
  for (const secret of [...providers.map(({ key }) => key), nativeCredentials, 'native-secret']) {
    t.notOk(outputs.some(output => output.includes(secret)))
  }
})
