// Drives a started gateway with the SDKs of one language, on every kind of route: native v1 and v2, and an alias of each
// external kind (decisions.md 107 to 110 were found so).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import {
  anthropicBaseUrl,
  chatBaseUrl,
  googleBaseUrl,
  startWithProfiles,
  writeChatProfile,
  writeNativeProfile
} from '../../support/profile-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { findToolchain } from './toolchains.ts'

/** More than the programs of a language take on a busy machine. */
export const PROGRAMS_MS = 900_000

const KEY = 'key-of-the-languages'
/** One request at a time. */
const SLOT_KEY = 'slot-key-of-the-languages'
/** The first request spends its budget. */
const SPENT_KEY = 'spent-key-of-the-languages'

/** What a program reports of one check. */
interface Report {
  sdk: string
  route: string
  check: string
  error: string | null
}

/** The routes of every check, as the programs read them from `ROUTES`. */
const routes = [
  { name: 'native v1', prefix: '/v1', model: 'GigaChat-2-Max', embeddings: 'Embeddings' },
  { name: 'native v2', prefix: '/v2', model: 'GigaChat-2-Max', embeddings: 'Embeddings' },
  { name: 'chat', prefix: '/v1', model: 'language-chat', embeddings: 'language-chat' },
  { name: 'messages', prefix: '/v1', model: 'language-messages' },
  { name: 'content', prefix: '/v1', model: 'language-content', embeddings: 'language-content' }
] as const

/**
 * Runs the checks of a language and asserts each of them, and that the provider saw every stream that a client left.
 * @param counts how many different checks each SDK has.
 */
export async function testLanguage(t: Test, language: string, counts: Readonly<Record<string, number>>): Promise<void> {
  const toolchain = findToolchain(language)
  const emulator = await startEmulator(t)
  const start = (settings: Readonly<Record<string, string>>) =>
    startWithProfiles(
      t,
      {
        env: {
          ...settings,
          ...emulatorVariables(emulator),
          UPSTREAM_BASE_URL: undefined,
          UPSTREAM_AUTH_URL: emulator.authUrl,
          GATEWAY_ENABLE_API_KEY_AUTH: 'true',
          GATEWAY_API_KEY: KEY,
          GATEWAY_KEYS_FILE: writeKeysFile(t),
          SLOT_KEY,
          SPENT_KEY,
          // Some clients leave their history to the gateway; and the place of budgets.
          GATEWAY_RESPONSES_STORE_DSN: `sqlite:${join(createTemporaryFolder(t), 'responses.sqlite')}`
        },
        profiles: [
          writeNativeProfile({
            id: 'language-native',
            emulator,
            credentialEnv: 'UPSTREAM_CREDENTIALS',
            isDynamic: true,
            aliases: []
          }),
          writeChatProfile({
            id: 'language-chat',
            baseUrl: chatBaseUrl(emulator, 'language'),
            aliases: [{ alias: 'language-chat', more: { pricing: { input: 1, output: 1 } } }]
          }),
          writeChatProfile({
            id: 'language-messages',
            kind: 'messages_compatible',
            baseUrl: anthropicBaseUrl(emulator, 'language'),
            aliases: [{ alias: 'language-messages' }]
          }),
          writeChatProfile({
            id: 'language-content',
            kind: 'content_compatible',
            baseUrl: googleBaseUrl(emulator, 'language'),
            aliases: [{ alias: 'language-content', model: 'gemini-3-emulator' }]
          })
        ]
      },
      startGateway
    )
  const { url } = await start({})
  const { url: headUrl } = await start({ GATEWAY_STREAM_HEAD_AFTER_SECONDS: '0.2' })
  const reports: Report[] = []
  for (const [program, ...parameters] of toolchain.runs) {
    reports.push(...(await runChecks(t, { folder: toolchain.folder, program, parameters, url, headUrl })))
  }
  for (const { sdk, route, check, error } of reports) t.equal(error, null, `${sdk}, ${route}: ${check}`)
  for (const [sdk, count] of Object.entries(counts)) {
    const checks = new Set(reports.filter(report => report.sdk === sdk).map(({ check }) => check))
    t.equal(checks.size, count, `${sdk} has run all of its checks`)
  }
  const left = reports.filter(({ check, error }) => check === 'cancelled' && error === null).length
  await emulator.waitFor(({ stats }) => stats.aborted >= left)
  t.ok(left > 0, `the provider saw ${left} clients leave`)
}

function writeKeysFile(t: Test): string {
  const path = join(createTemporaryFolder(t), 'keys.json')
  const keys = [
    { name: 'slot', secrets: [{ env: 'SLOT_KEY' }], limits: { concurrent_requests: 1 } },
    { name: 'spent', secrets: [{ env: 'SPENT_KEY' }], limits: { budget: { amount: 0.000_001, period: 'total' } } }
  ]
  writeFileSync(path, JSON.stringify({ schema_version: 'gateway.keys.v1', keys }))
  return path
}

interface Run {
  folder: string
  program: string
  parameters: readonly string[]
  url: string
  /** Of a gateway that sends the head of a stream while the provider is silent. */
  headUrl: string
}

async function runChecks(t: Test, { folder, program, parameters, url, headUrl }: Run): Promise<Report[]> {
  const path = program.includes('/') ? join(folder, program) : program
  const child = spawn(path, parameters, {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      GATEWAY_URL: url,
      HEAD_URL: headUrl,
      GATEWAY_KEY: KEY,
      SLOT_KEY,
      SPENT_KEY,
      ROUTES: JSON.stringify(routes)
    },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const reports: Report[] = []
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4000)
  })
  createInterface(child.stdout).on('line', line => {
    if (line.startsWith('{')) reports.push(JSON.parse(line) as Report)
  })
  const [code] = await once(child, 'close')
  t.equal(code, 0, `${program} ${parameters.join(' ')} ended: ${code === 0 ? 'well' : complaints}`)
  return reports
}
