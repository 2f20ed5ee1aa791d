// A gateway with a keys file, over HTTP: rotation, faults, revision (keys.md 1).
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const [OLD, NEW, LATER] = ['canary-hunter2-old-secret', 'canary-hunter2-new-secret', 'canary-hunter2-later-secret']
const folder = createTemporaryFolder(t)
const path = join(folder, 'keys.yaml')
for (const [name, secret] of Object.entries({ old: OLD, new: NEW, later: LATER })) {
  writeFileSync(join(folder, name), `${secret}\n`)
}
const keysText = (names: readonly string[], more = '') => `schema_version: gateway.keys.v1
keys:
  - name: ci
    secrets: [${names.map(name => `{file: ${join(folder, name)}}`).join(', ')}]
${more}`

writeFileSync(path, keysText(['old']))
const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    GATEWAY_KEYS_FILE: path,
    GATEWAY_METRICS_ENABLED: 'true',
    GATEWAY_API_KEY: 'operator-key-1'
  }
})
const chat = { model: 'GigaChat-2', messages: [{ role: 'user', content: 'hi' }] }
const ask = async (key: string) =>
  (await post(`${gateway.url}/v1/chat/completions`, chat, { authorization: `Bearer ${key}` })).status
const revision = async () => (await get(`${gateway.url}/ready`)).json.keys_revision
const countFailures = async () => {
  const { text } = await get(`${gateway.url}/metrics`, { authorization: 'Bearer operator-key-1' })
  return /^gateway_keys_reload_failed_total (\d+)$/m.exec(text)?.[1]
}
/** Reads the file again, and waits for the line that says how it went. */
async function reload(event: string): Promise<void> {
  const count = () => readLog(gateway).filter(line => line.event === event).length
  const before = count()
  gateway.hangUp()
  await waitUntil(() => count() > before, `a line ${event}`)
}

t.test('keys 1: a client needs a key of the file, although authentication is not switched on', async t => {
  const loaded = readLog(gateway).find(({ event }) => event === 'keys_loaded')
  t.match(loaded, { key_count: 1, group_count: 0, keys_revision: await revision() })
  t.equal(await ask(OLD), 200)
  t.equal(await ask(NEW), 401)
  t.equal((await post(`${gateway.url}/v1/chat/completions`, chat)).status, 401)
})

t.test('keys 2: two secrets rotate without a refused request', async t => {
  const before = await revision()
  let current = OLD
  let isOver = false
  const statuses = new Map<number, number>()
  const clients = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const status = await ask(current)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  const asked = async (count: number) => {
    const start = statuses.get(200) ?? 0
    await waitUntil(() => (statuses.get(200) ?? 0) >= start + count || statuses.size > 1, 'requests are served')
  }
  for (const [names, next] of [
    [['old', 'new'], NEW],
    [['new', 'later'], LATER]
  ] as const) {
    writeFileSync(path, keysText(names))
    await reload('keys_reloaded')
    await waitUntil(async () => (await ask(next)) === 200, 'the worker has the new secret')
    await asked(20)
    // Every client has the new secret before the old one leaves the file.
    current = next
    await asked(20)
  }
  isOver = true
  await Promise.all(clients)
  t.same([...statuses.keys()], [200])
  await waitUntil(async () => (await ask(OLD)) === 401, 'the first secret is in the file no more')
  t.equal(await revision(), before, 'a rotation does not change the revision')
})

t.test('keys 14: a faulty file leaves the old keys in force, and is logged and counted', async t => {
  writeFileSync(path, keysText(['new', 'later'], '    limit: {requests_per_minute: 1}\n'))
  t.equal(await countFailures(), '0')
  await reload('keys_reload_failed')
  t.equal(await ask(LATER), 200)
  t.equal(await countFailures(), '1')
  const line = readLog(gateway).findLast(({ event }) => event === 'keys_reload_failed')
  t.match(line, { level: 'ERROR', msg: /\(keys\[0\]: has an unknown member\)$/ })
  writeFileSync(path, keysText(['new', 'later'], '    limits: {requests_per_minute: 1000}\n'))
  const before = await revision()
  await reload('keys_reloaded')
  await waitUntil(async () => (await revision()) !== before, 'keys 15: a limit changes the revision')
  t.equal(await ask(LATER), 200)
})

t.test('a change of the content alone is found', async t => {
  writeFileSync(path, keysText(['later', 'new'], '    enabled: false\n'))
  await waitUntil(async () => (await ask(LATER)) === 401, 'the key is refused')
  t.equal(await ask('operator-key-1'), 200, 'keys of the settings stay')
})

t.test('keys 18: no secret is in the log', async t => {
  t.notOk(/canary-hunter2/.test(JSON.stringify(readLog(gateway))))
})
