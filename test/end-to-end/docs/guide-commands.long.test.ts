// Runs the commands of the README and of the guides, block by block, as a reader would: those of a page in one shell, in a folder that looks
// like a checkout. A few words of each page stand for values of the reader; `PLANS` names them. What needs a program, a service or an account
// that no test has is listed in `guide-commands.ts`.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { emulatorVariables, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { startPostgres } from '../../support/postgres.ts'
import { whyWithout } from '../../support/programs.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { type CommandBlock, NOT_RUN, readCommandBlocks, settingsOf, whyNotRun } from './guide-commands.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const shims = join(import.meta.dirname, 'shims')
const ADMIN_KEY = 'admin-key-of-the-guides'
const BLOCK_DEADLINE_MS = 120_000

/** What a page leaves to its reader. */
interface Plan {
  /** What stands in place of words of the page. Each must occur in a block. */
  readonly words?: Readonly<Record<string, string>>
  /** Prepares the folder before the first block. */
  prepare?(t: Test, page: Page): Promise<void> | void
}

interface Page {
  readonly folder: string
  readonly gateway: StartedGateway
  readonly variables: Record<string, string>
}

const LAST_RESPONSE = `$(sed -n 's/.*"id":"\\(resp_[^"]*\\)".*/\\1/p' "$GUIDE/body")`
const RECORD = '019b8a4e-3c00-7000-8000-000000000000'
/** In place of the one that the page's first block prints. */
const SECRET = 'gw-the-secret-of-the-first-key-of-the-guide'
const KEY = { 'x-admin-api-key: …': `x-admin-api-key: ${ADMIN_KEY}` }

const PLANS: Readonly<Record<string, Plan>> = {
  'README.md': {
    words: { '<id from above>': `'"${LAST_RESPONSE}"'`, '<authorization key>': 'a2V5OnNlY3JldA==', '<key>': 'key' }
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
    const runs = blocks.filter(block => whyNotRun(block) === undefined)
    for (const block of blocks) {
      const why = whyNotRun(block)
      if (why !== undefined) t.comment(`${document}:${block.line} is not run, it needs ${why}`)
    }
    if (runs.length > 0) await t.test(document, t => runPage(t, document, runs))
  }
})

async function runPage(t: Test, document: string, blocks: readonly CommandBlock[]): Promise<void> {
  const plan = PLANS[document] ?? {}
  const page = await openPage(t)
  writeFiles(document, page.folder)
  await plan.prepare?.(t, page)
  const words = Object.entries(plan.words ?? {})
  for (const [word] of words)
    t.ok(
      blocks.some(({ text }) => text.includes(word)),
      `the page has ${word}`
    )
  // The settings of a block are checked together, in a shell of their own.
  const script = blocks.map(block => {
    const settings = settingsOf(block)
    if (settings === undefined) {
      return `at=${block.line}\n${words.reduce((text, [word, value]) => text.replaceAll(word, value), block.text)}`
    }
    const assignments = Object.entries(settings).map(([name, value]) => `export ${name}=${quote(value)}`)
    return `at=${block.line}\n( ${assignments.join('; ')}; llm-gateway --inspect-config > /dev/null )`
  })
  const { all, exitCode } = await execa('bash', ['-c', [PRELUDE, ...script, 'end_gateways'].join('\n')], {
    cwd: page.folder,
    env: page.variables,
    extendEnv: false,
    all: true,
    reject: false,
    timeout: BLOCK_DEADLINE_MS
  })
  t.equal(exitCode, 0, `${document}: ${all.slice(-1500)}`)
}

/** Stops at the first command that fails, and says in which block it stands. */
const PRELUDE = `set -eEuo pipefail
trap 'echo "failed in the block at line $at: $BASH_COMMAND"; end_gateways' ERR
end_gateways() { for pid in $(cat "$GUIDE/pids" 2>/dev/null); do kill "$pid" 2>/dev/null || true; done; }
`

function quote(value: string): string {
  return `'${value.replaceAll('…', 'secret')}'`
}

/** A folder that looks like a checkout, with a gateway that has everything on. */
async function openPage(t: Test): Promise<Page> {
  const emulator = await startEmulator(t)
  const state = createTemporaryFolder(t)
  const env = {
    ...emulatorVariables(emulator),
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true',
    GATEWAY_METRICS_ENABLED: 'true',
    GATEWAY_REPLAY_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINK: 'sqlite',
    GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true',
    GATEWAY_RESPONSES_STORE_DSN: 'sqlite:responses.sqlite',
    GATEWAY_LOG_FILENAME: 'gateway.log'
  }
  const gateway = await startGateway(t, { env })
  while (!(await fetch(`${gateway.url}/ready`)).ok) await setTimeout(50)
  const { folder } = gateway
  for (const name of ['package.json', 'node_modules', 'supervisor', 'worker', 'shared', 'ops', 'test']) {
    symlinkSync(join(root, name), join(folder, name))
  }
  writeFileSync(join(state, 'url'), gateway.url)
  const variables = {
    PATH: [shims, join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
    HOME: state,
    GUIDE: state,
    NODE: process.execPath,
    // A page that starts a gateway without an account means the native upstream.
    ...emulatorVariables(emulator),
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    LITELLM_KEY: 'sk-1234',
    SUPERVISOR: String(gateway.process.pid)
  }
  return { folder, gateway, variables }
}

/** The files that a page shows under their name, such as `# keys.yaml`, with the digest of the secret. */
function writeFiles(document: string, folder: string): void {
  const digest = createHash('sha256').update(SECRET).digest('hex')
  for (const [, name = '', yaml = ''] of readFileSync(join(root, document), 'utf8').matchAll(
    /^```yaml\n# (\w+\.yaml)\n(.*?)^```/gms
  )) {
    writeFileSync(join(folder, name), yaml.replace('…', digest))
  }
}

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
