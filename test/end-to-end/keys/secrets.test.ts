// Secrets of a keys file in no output, with everything recorded that can be, and replays of its keys' requests (keys.md 2 and 5).

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { adminVariables, createCalls, postJson, recording, until } from '../admin/support.ts'
import { type Family, families, send } from '../bridge/families.ts'

const CANARY = 'c4n4ry-0f-k3ys'
const SECRETS = {
  env: `${CANARY}-in-a-variable`,
  file: `${CANARY}-in-a-file-0001`,
  digest: `${CANARY}-as-a-digest-1`,
  expired: `${CANARY}-has-expired-1`,
  disabled: `${CANARY}-is-disabled-1`,
  limited: `${CANARY}-has-limits-01`,
  wrong: `${CANARY}-is-no-key-0001`,
  operator: `${CANARY}-of-operators`
}
/** As `--new-key` prints it: also masked where a client writes it into its prompt. */
const PRINTED = `gw-${CANARY}${'x'.repeat(43 - CANARY.length)}`
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')

const folder = createTemporaryFolder(t)
const keysFile = join(folder, 'keys.json')
writeFileSync(join(folder, 'secret'), `${SECRETS.file}\n`)
writeFileSync(
  keysFile,
  JSON.stringify({
    schema_version: 'gateway.keys.v1',
    groups: { team: { models: ['GigaChat-2', 'Embeddings*'] } },
    keys: [
      { name: 'ci', group: 'team', secrets: [{ env: 'CI_KEY' }, { file: join(folder, 'secret') }] },
      { name: 'printed', secrets: [{ sha256: digestOf(SECRETS.digest) }, { sha256: digestOf(PRINTED) }] },
      { name: 'limited', secrets: [{ sha256: digestOf(SECRETS.limited) }], limits: { requests_per_minute: 100 } },
      { name: 'old', secrets: [{ sha256: digestOf(SECRETS.expired) }], expires_at: '2001-01-01T00:00:00Z' },
      { name: 'off', secrets: [{ sha256: digestOf(SECRETS.disabled) }], enabled: false }
    ]
  })
)
const emulator = await startEmulator(t)
const jsonl = join(folder, 'traffic.jsonl')
const gateway = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    ...adminVariables(`sqlite:${join(folder, 'traffic.sqlite')}`),
    ...recording,
    GATEWAY_TRAFFIC_LOG_SINK: undefined,
    GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,sqlite',
    GATEWAY_TRAFFIC_LOG_JSONL_PATH: jsonl,
    GATEWAY_KEYS_FILE: keysFile,
    CI_KEY: SECRETS.env,
    GATEWAY_API_KEY: SECRETS.operator,
    GATEWAY_REPLAY_ENABLED: 'true',
    GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true',
    GATEWAY_METRICS_ENABLED: 'true',
    GATEWAY_ACCESS_LOG: 'true',
    GATEWAY_LOG_LEVEL: 'DEBUG'
  }
})
const { call, logs } = createCalls(gateway)
const chat = (model: string, content = 'hi') => ({ model, messages: [{ role: 'user', content }] })
const CHAT = `${gateway.url}/v1/chat/completions`

/** Resolves with the summary of the record of this request. */
async function recordOf(response: { headers: Headers }) {
  const id = response.headers.get('x-request-id')
  const { json } = await until(
    () => logs('?limit=100'),
    ({ json: page }) => page.data?.some((item: { request_id: string }) => item.request_id === id)
  )
  return json.data.find((item: { request_id: string }) => item.request_id === id)
}

t.test('keys 1: each form of a secret admits, and each near miss is 401 in the form of its family', async t => {
  const admitted = { ...SECRETS, printed: PRINTED }
  const statusOf = async (family: Family, secret: string) =>
    send(gateway.url, family, { model: 'GigaChat-2', prompt: 'hi', headers: { 'x-api-key': secret } })
  for (const family of families) {
    for (const form of ['env', 'file', 'digest', 'printed'] as const) {
      const secret = admitted[form]
      t.equal((await statusOf(family, secret)).status, 200, `${family.name}: ${form}`)
      const misses = {
        shorter: secret.slice(0, -1),
        longer: `${secret}1`,
        other: secret.replace(/.$/, last => (last === '2' ? '3' : '2')),
        capital: secret.toUpperCase(),
        digest: digestOf(secret)
      }
      for (const [name, miss] of Object.entries(misses)) {
        const response = await statusOf(family, miss)
        const { message } = family.readFailure(response)
        t.strictSame([response.status, message], [401, 'Invalid API key'], `${family.name}: ${form}, ${name}`)
      }
    }
  }
})

t.test('keys 3: a replay needs no secret, and names what the key that made the record may name', async t => {
  const response = await post(CHAT, chat('GigaChat-2'), { authorization: `Bearer ${SECRETS.env}` })
  t.equal(response.status, 200)
  const record = await recordOf(response)
  t.equal(record.api_key_name, 'ci')
  const replay = async (overrides = {}) => (await logs(`/${record.id}/replay`, postJson({ overrides }))).json.response
  const same = await replay()
  t.equal(same.status_code, 200)
  const hidden = await replay({ model: 'GigaChat-2-Max' })
  t.match(hidden, { status_code: 404, body: { error: { code: 'unknown_model_alias' } } })
  const again = await recordOf({ headers: new Headers(same.headers) })
  t.equal(again.api_key_name, 'default', 'it counts for the operator, not for the key')
  t.equal(again.metadata.replay_of, record.id)
})

t.test('keys 8: a replay uses nothing of the limits of the key that made the record', async t => {
  const response = await post(CHAT, chat('GigaChat-2'), { 'x-api-key': SECRETS.limited })
  const record = await recordOf(response)
  const isOneUsed = async () => (await call('/_admin/keys/limited')).json.data.usage.requests_per_minute === 1
  // What a lease holds beyond its request counts as well until it is given back.
  await waitUntil(isOneUsed, 'the lease is given back')
  const { json } = await logs(`/${record.id}/replay`, postJson({}))
  t.equal(json.response.status_code, 200)
  await waitUntil(isOneUsed, 'one request is used')
})

t.test('keys 18: secrets of a keys file, and their digests, are in no output', async t => {
  const places: Array<{ name: string; text: string }> = []
  const note = async (name: string, response: Promise<{ headers: Headers; text: string }>) => {
    const { headers, text } = await response
    places.push({ name, text: `${JSON.stringify([...headers])}\n${text}` })
  }
  for (const [name, secret] of Object.entries({ ...SECRETS, printed: PRINTED })) {
    const carriers = [{ authorization: `Bearer ${secret}` }, { 'x-api-key': secret }, { 'x-goog-api-key': secret }]
    for (const headers of [...carriers, { 'api-key': secret }]) {
      await note(`${name} in ${Object.keys(headers)}`, post(CHAT, chat('GigaChat-2'), headers))
      await note(`${name} in ${Object.keys(headers)}`, get(`${gateway.url}/v1/models`, headers))
    }
    for (const query of [`key=${secret}`, `x-api-key=${secret}`]) {
      await note(`${name} in the query`, post(`${CHAT}?${query}`, chat('GigaChat-2-Max')))
      await note(`${name} in the query`, get(`${gateway.url}/nowhere?${query}`))
    }
    await note(`${name} for metrics`, get(`${gateway.url}/metrics`, { authorization: `Bearer ${secret}` }))
  }
  const last = await post(CHAT, chat('GigaChat-2', `My key is ${PRINTED}.`), { 'x-api-key': PRINTED })
  const { id } = await recordOf(last)
  const shown = ['/_admin/keys', '/_admin/keys/ci', '/_admin/keys/printed', '/_admin/logs?limit=100', '/openapi.json']
  const more = ['/ready', '/metrics', '/logs/5000', '/_admin/logs/export.csv', `/_admin/logs/${id}/request`]
  for (const path of [...shown, ...more]) await note(path, call(path))
  await note('explanation', call('/_debug/explain/openai?key_name=ci', postJson(chat('GigaChat-2'))))
  t.ok(places.length > 80, `${places.length} answers`)
  await gateway.stop()
  const isOutput = (path: string) => path !== keysFile && path !== join(folder, 'secret')
  for (const where of [folder, gateway.folder]) {
    for (const entry of readdirSync(where, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isFile() && isOutput(path)) places.push({ name: entry.name, text: readFileSync(path, 'latin1') })
    }
  }
  t.ok(places.some(({ name }) => name === 'gateway.log') && places.some(({ name }) => name === 'traffic.jsonl'))
  const digests = Object.values({ ...SECRETS, PRINTED }).map(secret => digestOf(secret).slice(0, 12))
  for (const { name, text } of places) {
    t.notOk(text.includes(CANARY), `${name}: a secret`)
    t.notOk(
      digests.some(digest => text.includes(digest)),
      `${name}: the beginning of a digest`
    )
  }
})
