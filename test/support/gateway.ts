// Starts the real gateway, supervisor and workers, for tests that call it as a client does.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileCache } from './compile-cache.ts'
import type { Owner } from './owner.ts'
import { findListeningUrl, type GatewayOptions, type ServingGateway } from './serving-gateway.ts'
import { createTemporaryFolder } from './temporary.ts'

export {
  emulatorVariables,
  type GatewayOptions,
  readLog,
  type ServingGateway,
  startEmulator
} from './serving-gateway.ts'

const root = join(import.meta.dirname, '..', '..')
const START_DEADLINE_MS = 60_000

/** A gateway of processes that runs in its folder. */
export interface StartedGateway extends ServingGateway {
  process: ChildProcess
}

export interface ProcessOptions extends GatewayOptions {
  /** The program that becomes the gateway, with its arguments: it gets those of the gateway behind them. */
  launcher?: readonly string[]
  /** Called with the process before it is waited for. */
  onSpawned?: (child: ChildProcess) => void
}

/** Starts a gateway on a free port and waits until it listens. It exits with the test. */
export async function startGateway(t: Owner, options: ProcessOptions = {}): Promise<StartedGateway> {
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
  const command = [process.execPath, join(root, 'supervisor', 'main.ts'), ...(options.args ?? [])]
  const [program = '', ...args] = [...(options.launcher ?? []), ...command]
  const child = spawn(program, args, {
    cwd: folder,
    env: variables,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  options.onSpawned?.(child)
  const exited = once(child, 'exit')
  async function stop(): Promise<number | null> {
    child.kill('SIGTERM')
    await exited
    return child.exitCode
  }
  t.teardown(stop)
  const url = await readListeningUrl(child)
  const interrupt = () => void child.kill('SIGINT')
  const hangUp = () => void child.kill('SIGHUP')
  return { url, process: child, folder, interrupt, hangUp, stop }
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
