// Runs the commands of the README and of the guides as a reader would; see `guide-page.ts`. A few words of each page stand for values of the
// reader; `PLANS` names them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startGateway } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { waitUntil } from '../../support/processes.ts'
import { whyWithout } from '../../support/programs.ts'
import { listCommands, NOT_RUN, readCommandBlocks } from './guide-commands.ts'
import { ADMIN_KEY, openGateway, type Page, type Plan, runPage, SECRET } from './guide-page.ts'

const root = join(import.meta.dirname, '..', '..', '..')

const LAST_RESPONSE = `$(sed -n 's/.*"id":"\\(resp_[^"]*\\)".*/\\1/p' "$GUIDE/body")`
const RECORD = '019b8a4e-3c00-7000-8000-000000000000'
const CHAT = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'hi' }] }
const MIGRATES = { GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: 'true', GATEWAY_RESPONSES_STORE_AUTO_MIGRATE: 'true' }
const KEY = { 'x-admin-api-key: …': `x-admin-api-key: ${ADMIN_KEY}` }

/** Its commands take minutes, and are run by `guide-measurements.long.test.ts`. */
const MEASUREMENTS = 'ops/guides/costs.md'
/** Its commands put other databases in the place of those of the gateway. */
const RESTORING = 'ops/guides/backup.md'

const PLANS: Readonly<Record<string, Plan>> = {
  'README.md': {
    words: { '<id from above>': `'"${LAST_RESPONSE}"'`, '<authorization key>': 'a2V5OnNlY3JldA==', '<key>': 'key' }
  },
  'ops/guides/agents.md': { words: { '<key>': 'key' } },
  'ops/guides/deployment.md': {
    words: { ' /etc/': ' "$GUIDE"/etc/' },
    prepare: (_t, { variables }) =>
      void mkdirSync(join(variables.GUIDE ?? '', 'etc/systemd/system'), { recursive: true })
  },
  'ops/guides/upstream.md': { words: { '<authorization key>': 'a2V5OnNlY3JldA==' } },
  'ops/guides/keys.md': {
    words: {
      'gw-…': SECRET,
      '<pid of the supervisor>': '$(cat "$GUIDE/supervisor")',
      ...KEY
    }
  },
  'ops/guides/operations.md': { words: { 'x-api-key: …': 'x-api-key: any' } },
  'ops/guides/traffic-log.md': {
    words: { ...KEY, [RECORD]: '$(cat "$GUIDE/record")', 'MjAyNi0…': '$(cat "$GUIDE/cursor")' },
    prepare: makeRecords
  },
  // Gateways of other tests run on the machine as well, and end meanwhile.
  'ops/guides/sizing.md': {
    words: { '$(pgrep -f supervisor/main) $(pgrep -f worker/main)': '$SUPERVISOR' }
  },
  [RESTORING]: { prepare: makeDatabases, check: readRestored }
}

const tools = ['curl', 'sqlite3', 'pg_dump', 'openssl']
const missing = tools.map(whyWithout).find(why => why !== false) ?? false

t.test('the list of commands that no test runs stands in the index of guides', async t => {
  const index = readFileSync(join(root, 'ops/guides/README.md'), 'utf8')
  for (const [reason, programs] of NOT_RUN) {
    for (const program of programs) t.ok(index.includes(`\`${program}\``), `${program}: ${reason}`)
  }
})

t.test('the commands of each page do what they say', { skip: missing, jobs: 1 }, async t => {
  const shared = await openGateway(t)
  for (const [document, blocks] of readCommandBlocks()) {
    const commands = blocks.flatMap(listCommands)
    for (const { line, text, needs } of commands) {
      if (needs !== undefined) t.comment(`${document}:${line} needs ${needs}, so it is not run: ${text}`)
    }
    const isRun = commands.length === 0 || commands.some(({ needs }) => needs === undefined)
    if (document === MEASUREMENTS || !isRun) continue
    await t.test(document, async t => {
      const checkout = document === RESTORING ? await openGateway(t) : shared
      await runPage(t, { document, blocks, plan: PLANS[document] ?? {}, checkout })
    })
  }
})

/** A recorded request, and the cursor of a page. */
async function makeRecords(t: Test, { variables }: Page): Promise<void> {
  const url = readFileSync(join(variables.GUIDE ?? '', 'url'), 'utf8')
  for (let turn = 0; turn < 2; turn += 1) await postJson(`${url}/v1/chat/completions`, CHAT)
  const { id, cursor } = await newestRecord(url)
  writeFileSync(join(variables.GUIDE ?? '', 'record'), id)
  writeFileSync(join(variables.GUIDE ?? '', 'cursor'), cursor)
  t.pass('a request is recorded')
}

async function postJson(url: string, body: object): Promise<unknown> {
  return await (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).json()
}

/** Waits until there are two records of chats. */
async function newestRecord(url: string): Promise<{ id: string; cursor: string }> {
  const query = `${url}/_admin/logs?route=/v1/chat/completions&limit=1`
  const found: Array<{ id: string; cursor: string }> = []
  await waitUntil(async () => {
    const response = await fetch(query, { headers: { 'x-admin-api-key': ADMIN_KEY } })
    const { data, next_cursor: cursor } = (await response.json()) as { data: { id: string }[]; next_cursor: string }
    if (data[0] !== undefined && cursor !== null) found.push({ id: data[0].id, cursor })
    return found.length > 0
  }, 'there are two records')
  return found[0] as { id: string; cursor: string }
}

/** The databases of the page: those of the gateway, and one in Postgres with records, their partitions and a stored response. */
async function makeDatabases(t: Test, page: Page): Promise<void> {
  await makeRecords(t, page)
  const { dsn } = await startPostgres(t, { isOfSystem: true })
  const gateway = await startGateway(t, { env: { ...postgresVariables(page, dsn), ...MIGRATES } })
  for (let turn = 0; turn < 2; turn += 1) await postJson(`${gateway.url}/v1/chat/completions`, CHAT)
  const { id } = (await postJson(`${gateway.url}/v1/responses`, { model: CHAT.model, input: 'hi' })) as { id: string }
  const record = await newestRecord(gateway.url)
  await gateway.stop()
  page.variables.DATABASE = dsn
  page.variables.RESTORED = dsn.replace(/[^/]*$/, 'gateway_restored')
  page.variables.STORED = JSON.stringify({ response: id, record: record.id })
}

/** A gateway on the restored database has the record and the response. */
async function readRestored(t: Test, page: Page): Promise<void> {
  const { response, record } = JSON.parse(page.variables.STORED ?? '')
  const gateway = await startGateway(t, { env: postgresVariables(page, page.variables.RESTORED ?? '') })
  const headers = { 'x-admin-api-key': ADMIN_KEY }
  t.match(await (await fetch(`${gateway.url}/_admin/logs/${record}`, { headers })).json(), { id: record })
  t.match(await (await fetch(`${gateway.url}/v1/responses/${response}`)).json(), { id: response, status: 'completed' })
}

function postgresVariables({ variables }: Page, dsn: string): Record<string, string> {
  return {
    ...Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith('UPSTREAM_'))),
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINK: 'postgres',
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn,
    GATEWAY_RESPONSES_STORE_DSN: dsn
  }
}
