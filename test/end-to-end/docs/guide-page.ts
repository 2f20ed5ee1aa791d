// Runs the commands of one page of the guides, block by block, as a reader would: in one shell, in a folder that looks like a checkout. The programs that no test can run are listed in `guide-commands.ts`: they do nothing here, the commands
// around them are run.
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { execa } from 'execa'
import type { Test } from 'tap'
import { emulatorVariables, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { type CommandBlock, NOT_RUN, settingsOf } from './guide-commands.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const shims = join(import.meta.dirname, 'shims')
export const ADMIN_KEY = 'admin-key-of-the-guides'
/** In place of the one that the first block of the page of keys prints. */
export const SECRET = 'gw-the-secret-of-the-first-key-of-the-guide'
const PAGE_DEADLINE_MS = 120_000

/** What a page leaves to its reader. */
export interface Plan {
  /** What stands in place of words of the page. Each must occur in a block. */
  readonly words?: Readonly<Record<string, string>>
  /** Prepares the folder before the first block. */
  prepare?(t: Test, page: Page): Promise<void> | void
  /** Looks at what the last block has left. */
  check?(t: Test, page: Page): Promise<void>
  /** Of a page that takes longer than others. */
  readonly deadlineMs?: number
}

/** Where a reader works. */
export interface Checkout {
  readonly folder: string
  readonly variables: Readonly<Record<string, string>>
  /** That answers at the address of the guides until the page starts another one; undefined where there is none yet. */
  readonly gateway?: StartedGateway
}

/** A reader's place in a page. `variables` are those of its shell, and `prepare` may add some. */
export interface Page extends Checkout {
  readonly variables: Record<string, string>
}

/** Runs the blocks of a page; a command that fails is a failure of the test, with the line of its block. */
export async function runPage(
  t: Test,
  {
    document,
    blocks,
    plan,
    checkout
  }: { document: string; blocks: readonly CommandBlock[]; plan: Plan; checkout: Checkout }
): Promise<void> {
  const state = createTemporaryFolder(t)
  if (checkout.gateway !== undefined) writeFileSync(join(state, 'url'), checkout.gateway.url)
  const page: Page = { ...checkout, variables: { ...checkout.variables, HOME: state, GUIDE: state } }
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
    timeout: plan.deadlineMs ?? PAGE_DEADLINE_MS
  })
  t.equal(exitCode, 0, `${document}: ${all.slice(-1500)}`)
  await plan.check?.(t, page)
}

/** Stops at the first command that fails, and says in which block it stands. */
const PRELUDE = `set -eEuo pipefail
trap 'echo "failed in the block at line $at: $BASH_COMMAND"; end_gateways' ERR
${[...NOT_RUN.values()]
  .flat()
  .filter(program => !program.includes(' '))
  .map(program => `${program}() { :; }`)
  .join('\n')}
end_gateways() { for pid in $(cat "$GUIDE/pids" 2>/dev/null); do kill "$pid" 2>/dev/null || true; done; }
`

function quote(value: string): string {
  return `'${value.replaceAll('…', 'secret')}'`
}

/** A folder that looks like a checkout. */
export function openCheckout(folder: string): Checkout {
  for (const name of ['package.json', 'node_modules', 'supervisor', 'worker', 'shared', 'test']) {
    symlinkSync(join(root, name), join(folder, name))
  }
  mkdirSync(join(folder, 'ops'))
  // The folder of Compose gets files of secrets.
  cpSync(join(root, 'ops/compose'), join(folder, 'ops/compose'), { recursive: true })
  for (const name of readdirSync(join(root, 'ops'))) {
    if (name !== 'compose') symlinkSync(join(root, 'ops', name), join(folder, 'ops', name))
  }
  const path = [shims, join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  return { folder, variables: { PATH: path, NODE: process.execPath } }
}

/** The same, with a gateway that has everything on. */
export async function openGateway(t: Test): Promise<Checkout & { gateway: StartedGateway }> {
  const emulator = await startEmulator(t)
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
  await waitUntil(async () => (await fetch(`${gateway.url}/ready`)).ok, 'the gateway is ready')
  const checkout = openCheckout(gateway.folder)
  const variables = {
    ...checkout.variables,
    // A page that starts a gateway without an account means the native upstream.
    ...emulatorVariables(emulator),
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    LITELLM_KEY: 'sk-1234',
    SUPERVISOR: String(gateway.process.pid)
  }
  return { ...checkout, gateway, variables }
}

/** The files that a page shows under their name, such as `# keys.yaml`, with the digest of the secret; of further ones with others. */
function writeFiles(document: string, folder: string): void {
  for (const [, name = '', yaml = ''] of readFileSync(join(root, document), 'utf8').matchAll(
    /^```yaml\n# (\w+\.yaml)\n(.*?)^```/gms
  )) {
    let secrets = 0
    writeFileSync(
      join(folder, name),
      yaml.replaceAll('…', () => {
        secrets += 1
        return createHash('sha256').update(SECRET.repeat(secrets)).digest('hex')
      })
    )
  }
}
