// Starts the real gateway, supervisor and workers, for tests that call it as a client does.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createEmulator, type Emulator } from '../../ops/emulator/server.ts'
import { compileCache } from './compile-cache.ts'
import { createTemporaryFolder } from './temporary.ts'

const root = join(import.meta.dirname, '..', '..')
const START_DEADLINE_MS = 60_000

/** A gateway that serves, wherever it runs. */
export interface ServingGateway {
  /** Such as `http://127.0.0.1:41234`, without a path. */
  url: string
  /** The folder of its files: its log file is `gateway.log` there. */
  folder: string
  /** Sends SIGTERM unless it has exited, and resolves with the exit code. */
  stop(): Promise<number | null>
}

/** A gateway of processes that runs in its folder. */
export interface StartedGateway extends ServingGateway {
  process: ChildProcess
}

/** The lines of the gateway's log file so far. One that is just being written is left out. */
export function readLog({ folder }: Pick<ServingGateway, 'folder'>): Array<Record<string, unknown>> {
  const text = readFileSync(join(folder, 'gateway.log'), 'utf8')
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  return lines.filter(line => line.trim() !== '').map(line => JSON.parse(line) as Record<string, unknown>)
}

export interface GatewayOptions {
  /** More variables; an undefined value removes a default one. */
  env?: Record<string, string | undefined>
  args?: string[]
  /** Text of a `.env` file in the working directory. */
  dotenv?: string
}

/** Variables that point a gateway at an emulator. */
export function emulatorVariables(emulator: Emulator): Record<string, string> {
  return {
    UPSTREAM_BASE_URL: emulator.baseUrl,
    UPSTREAM_AUTH_URL: emulator.authUrl,
    UPSTREAM_CREDENTIALS: Buffer.from('client:secret').toString('base64')
  }
}

/** An emulator in this process that closes with the test. */
export async function startEmulator(t: Test, options: Parameters<typeof createEmulator>[0] = {}): Promise<Emulator> {
  const emulator = await createEmulator(options)
  t.teardown(() => emulator.close())
  return emulator
}

/** Starts a gateway on a free port and waits until it listens. It exits with the test. */
export async function startGateway(t: Test, options: GatewayOptions = {}): Promise<StartedGateway> {
  const folder = createTemporaryFolder(t)
  if (options.dotenv !== undefined) writeFileSync(join(folder, '.env'), options.dotenv)
  const variables = {
    PATH: process.env.PATH,
    ...compileCache,
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: '0',
    GATEWAY_WORKERS: '1',
    GATEWAY_LOG_FILENAME: join(folder, 'gateway.log'),
    ...options.env
  }
  const child = spawn(process.execPath, [join(root, 'supervisor', 'main.ts'), ...(options.args ?? [])], {
    cwd: folder,
    env: variables,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const exited = once(child, 'exit')
  async function stop(): Promise<number | null> {
    child.kill('SIGTERM')
    await exited
    return child.exitCode
  }
  t.teardown(stop)
  const url = await readListeningUrl(child)
  return { url, process: child, folder, stop }
}

/** The address in what a gateway wrote to stdout; undefined before it listens. */
export function findListeningUrl(output: string): string | undefined {
  // With `--demo` it prints a text for people instead of its log.
  const port = /"event":\s?"listening"[^\n]*"port":\s?(\d+)|listens on +http:\S+:(\d+)\n/.exec(output)
  return port === null ? undefined : `http://127.0.0.1:${port[1] ?? port[2]}`
}

/** Reads the log on stdout until the port is known, and keeps reading so that the gateway never blocks on a full pipe. */
function readListeningUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    let isSettled = false
    const deadline = setTimeout(() => fail('was not ready in time'), START_DEADLINE_MS)
    function settle(): void {
      isSettled = true
      clearTimeout(deadline)
      output = ''
    }
    function fail(what: string): void {
      if (isSettled) return
      reject(new Error(`The gateway ${what}:\n${output}`))
      settle()
    }
    function read(chunk: unknown): void {
      if (isSettled) return
      output += String(chunk)
      const url = findListeningUrl(output)
      if (url === undefined) return
      resolve(url)
      settle()
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.on('exit', code => fail(`exited with ${code} before it was ready`))
  })
}
