// What the package exports, run from the sources; `package.long.test.ts` imports it from the packed artifact.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { GatewayStartError, startGateway } from '../../../supervisor/start-gateway.ts'
import { post } from '../../support/client.ts'
import { compileCache } from '../../support/compile-cache.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const STOP_LIMIT_MS = 50
const module = join(import.meta.dirname, '../../../supervisor/start-gateway.ts')

const ask = (url: string, content: string, more = {}) =>
  post(`${url}/v1/chat/completions`, { model: 'GigaChat-2', messages: [{ role: 'user', content }], ...more })

/** A gateway that closed its port, however it ended. */
const isRefused = (url: string) =>
  fetch(`${url}/health`).then(
    () => false,
    () => true
  )

t.test('it listens on a free port of loopback, serves, and exits with 0 when it is stopped', async t => {
  const cwd = createTemporaryFolder(t)
  let output = ''
  const gateway = await startGateway({
    args: ['--demo'],
    cwd,
    env: { GATEWAY_LOG_LEVEL: 'ERROR', ...compileCache },
    onOutput: text => {
      output += text
    }
  })
  t.teardown(gateway.stop)
  t.match(gateway.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.equal((await ask(gateway.url, '[[text:started]]')).json.choices[0].message.content, 'started')
  t.match(output, `The gateway listens on  ${gateway.url}`)
  const stopping = gateway.stop()
  t.equal(gateway.stop(), stopping, 'a second call waits for the same stop')
  t.equal(await stopping, 0)
  t.strictSame(readdirSync(cwd), [], 'it leaves no file')
})

t.test('a start that fails rejects with the exit code and the output of the gateway, without secrets', async t => {
  const profile = join(createTemporaryFolder(t), 'profile.json')
  writeFileSync(profile, JSON.stringify({ schema_version: 'gateway.provider-profiles.v3', profiles: [] }))
  const failed = await startGateway({ config: profile, env: { GATEWAY_API_KEY: 'hunter2' } }).catch(error => error)
  t.ok(failed instanceof GatewayStartError)
  t.match(failed, { name: 'GatewayStartError', exitCode: 2, output: /^llm-gateway: invalid_profile_schema: / })
  t.match(failed.message, /^The gateway exited with 2 before it listened:\nllm-gateway: invalid_profile_schema: /)
  t.notMatch(failed.message, 'hunter2')

  const nowhere = await startGateway({ cwd: join(createTemporaryFolder(t), 'missing') }).catch(error => error)
  t.match(nowhere, { message: 'The gateway could not be started.', exitCode: null, cause: { code: 'ENOENT' } })
})

t.test('a start that takes too long is ended', async t => {
  const late = await startGateway({ args: ['--demo'], cwd: createTemporaryFolder(t), startTimeoutMs: 1 }).catch(
    error => error
  )
  t.match(late, { name: 'GatewayStartError', message: /^The gateway did not listen within 1 ms/ })
})

t.test('a signal prevents a start and ends one that is under way', async t => {
  const reason = new Error('no longer needed')
  await t.rejects(startGateway({ signal: AbortSignal.abort(reason) }), reason)
  const abort = new AbortController()
  const starting = startGateway({ args: ['--demo'], cwd: createTemporaryFolder(t), signal: abort.signal })
  abort.abort(reason)
  await t.rejects(starting, reason)
})

t.test('a signal stops a running gateway, and a drain that takes too long ends with a kill', async t => {
  const abort = new AbortController()
  const gateway = await startGateway({
    args: ['--demo'],
    cwd: createTemporaryFolder(t),
    signal: abort.signal,
    stopTimeoutMs: STOP_LIMIT_MS
  })
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model: 'GigaChat-2',
      messages: [{ role: 'user', content: '[[hang:1]]' }],
      stream: true
    })
  })
  const cut = t.rejects(response.text(), 'the running request is cut')
  abort.abort()
  t.equal(await gateway.stop(), null)
  await cut
})

t.test('it stops when the program that started it is killed', async t => {
  const folder = createTemporaryFolder(t)
  const program = join(folder, 'program.mjs')
  writeFileSync(
    program,
    `import { startGateway } from ${JSON.stringify(module)}
     console.log((await startGateway({ args: ['--demo'] })).url)`
  )
  const parent = spawn(process.execPath, [program], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(parent.stdout, 'data')
  const url = String(line).trim()
  t.notOk(await isRefused(url))
  parent.kill('SIGKILL')
  await waitUntil(() => isRefused(url), 'the gateway closed its port')
})
