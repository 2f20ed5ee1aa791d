// Runs the commands of the README and of the guides as a reader would; see `guide-page.ts`. A few words of each page stand for values of the
// reader; `PLANS` names them.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startPostgres } from '../../support/postgres.ts'
import { whyWithout } from '../../support/programs.ts'
import { listCommands, NOT_RUN, readCommandBlocks } from './guide-commands.ts'
import { ADMIN_KEY, type Page, type Plan, runPage, SECRET } from './guide-page.ts'

const root = join(import.meta.dirname, '..', '..', '..')

const LAST_RESPONSE = `$(sed -n 's/.*"id":"\\(resp_[^"]*\\)".*/\\1/p' "$GUIDE/body")`
const RECORD = '019b8a4e-3c00-7000-8000-000000000000'
const KEY = { 'x-admin-api-key: …': `x-admin-api-key: ${ADMIN_KEY}` }

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
  'ops/guides/backup.md': { prepare: makeDatabases }
}

/** Its commands take minutes, and are run by `guide-measurements.long.test.ts`. */
const MEASUREMENTS = 'ops/guides/costs.md'
const tools = ['curl', 'sqlite3', 'pg_dump', 'openssl']
const missing = tools.map(whyWithout).find(why => why !== false) ?? false

t.test('the list of commands that no test runs stands in the index of guides', async t => {
  const index = readFileSync(join(root, 'ops/guides/README.md'), 'utf8')
  for (const [reason, programs] of NOT_RUN) {
    for (const program of programs) t.ok(index.includes(`\`${program}\``), `${program}: ${reason}`)
  }
})

t.test('the commands of each page do what they say', { skip: missing, jobs: 1 }, async t => {
  for (const [document, blocks] of readCommandBlocks()) {
    const commands = blocks.flatMap(listCommands)
    for (const { line, text, needs } of commands) {
      if (needs !== undefined) t.comment(`${document}:${line} needs ${needs}, so it is not run: ${text}`)
    }
    const isRun = commands.length === 0 || commands.some(({ needs }) => needs === undefined)
    if (document === MEASUREMENTS || !isRun) continue
    await t.test(document, t => runPage(t, { document, blocks, plan: PLANS[document] ?? {} }))
  }
})

/** A recorded request, and the cursor of a page. */
async function makeRecords(t: Test, { gateway, variables }: Page): Promise<void> {
  const body = JSON.stringify({ model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'hi' }] })
  for (let turn = 0; turn < 2; turn += 1) {
    await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body })
  }
  const query = `${gateway.url}/_admin/logs?route=/v1/chat/completions&limit=1`
  for (;;) {
    const response = await fetch(query, { headers: { 'x-admin-api-key': ADMIN_KEY } })
    const { data, next_cursor: cursor } = (await response.json()) as { data: { id: string }[]; next_cursor: string }
    if (data[0] === undefined || cursor === null) continue
    writeFileSync(join(variables.GUIDE ?? '', 'record'), data[0].id)
    writeFileSync(join(variables.GUIDE ?? '', 'cursor'), cursor)
    break
  }
  t.pass('a request is recorded')
}

/** The databases of the page: those of the gateway, and one in Postgres. */
async function makeDatabases(t: Test, page: Page): Promise<void> {
  await makeRecords(t, page)
  const postgres = await startPostgres(t, { isOfSystem: true })
  page.variables.DATABASE = postgres.dsn
  mkdirSync(join(page.folder, 'backup'), { recursive: true })
  t.ok(existsSync(join(page.folder, 'responses.sqlite')))
}
