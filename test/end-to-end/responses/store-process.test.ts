// A gateway with the store process of its settings: what it keeps over a restart, what it measures, and starts that fail.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { scrapeUntil } from '../../support/scrape.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { createReader } from './memory-support.ts'

const MODEL = 'GigaChat-2-Max'
const key = () => randomBytes(32).toString('base64')

t.test('responses outlive the gateway, in a private file and without a readable text', async t => {
  const emulator = await startEmulator(t)
  const file = join(createTemporaryFolder(t), 'new', 'folder', 'responses.sqlite')
  const first = key()
  const env = {
    ...emulatorVariables(emulator),
    GATEWAY_METRICS_ENABLED: 'true',
    GATEWAY_RESPONSES_STORE_DSN: `sqlite:${file}`,
    GATEWAY_RESPONSES_STORE_KEY: first
  }
  const gateway = await startGateway(t, { env })
  const one = await createReader(gateway).ask('v1', { model: MODEL, input: 'the secret word is swordfish' })
  t.equal(one.store, true)
  await scrapeUntil(
    gateway,
    'the totals are known',
    metrics => metrics.sum('gateway_responses_store_write_seconds_count') > 0
  )
  const lines = readLog(gateway)
  const effective = lines.find(({ event }) => event === 'effective_settings')
  t.match(effective?.settings, { GATEWAY_RESPONSES_STORE_DSN: '***', GATEWAY_RESPONSES_STORE_KEY: '***' })
  t.notOk(JSON.stringify(lines).includes(first))
  t.equal(lines.filter(({ event }) => event === 'store_ready').length, 1)
  t.equal(await gateway.stop(), 0)
  t.equal(statSync(file).mode & 0o777, 0o600)

  const next = await startGateway(t, {
    env: { ...env, GATEWAY_RESPONSES_STORE_KEY: key(), GATEWAY_RESPONSES_STORE_KEY_PREVIOUS: first }
  })
  const two = await createReader(next).ask('v2', { model: MODEL, input: 'what was it?', previous_response_id: one.id })
  t.equal(two.previous_response_id, one.id)
  const items = await get(`${next.url}/responses/${one.id}/input_items`)
  t.match(items.json, { data: [{ content: [{ text: 'the secret word is swordfish' }] }] })
  await scrapeUntil(next, 'the totals are known', metrics => metrics.sum('gateway_responses_store_responses') > 0)
  t.equal(await next.stop(), 0)

  await t.rejects(startGateway(t, { env: { ...env, GATEWAY_RESPONSES_STORE_KEY: key() } }), {
    message: /ended with 2.*GATEWAY_RESPONSES_STORE_KEY/s
  })
})

t.test('a start fails with its reason: a file of a newer gateway, and a file of something else', async t => {
  const folder = createTemporaryFolder(t)
  const start = (name: string) =>
    startGateway(t, { env: { GATEWAY_RESPONSES_STORE_DSN: `sqlite:${join(folder, name)}` } })
  const ready = await start('newer.sqlite')
  t.equal(await ready.stop(), 0)
  const newer = new Database(join(folder, 'newer.sqlite'))
  newer.prepare('UPDATE store_meta SET value = ? WHERE name = ?').run(Buffer.from('1000'), 'schema_version')
  newer.close()
  await t.rejects(start('newer.sqlite'), {
    message: /ended with 2.*startup_failed: configuration: .* schema version 1000/s
  })
  const other = new Database(join(folder, 'other.sqlite'))
  other.exec('CREATE TABLE customers (name TEXT)')
  other.close()
  await t.rejects(start('other.sqlite'), { message: /ended with 2.*startup_failed: configuration/s })
  await t.rejects(start(''), { message: /ended with 2.*GATEWAY_RESPONSES_STORE_DSN must name a file/s })
})

t.test('without a DSN there is no store and no process of it', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
  const { status } = await post(`${gateway.url}/v1/responses`, { model: MODEL, input: 'hi', store: true })
  t.equal(status, 400)
  t.equal(await gateway.stop(), 0)
  t.notOk(readLog(gateway).some(({ event }) => event === 'store_ready'))
})
