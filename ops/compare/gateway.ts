// Starts the gateway of a checkout with one worker and waits until it is ready, which includes its first model discovery.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const START_DEADLINE_MS = 30_000
const READY_INTERVAL_MS = 20

export interface ComparedGateway {
  port: number
  /** Process id of the supervisor. */
  pid: number
  /** Sends SIGTERM and resolves when the process has exited. */
  close(): Promise<void>
}

export interface GatewayOptions {
  checkout: string
  /** Working directory and place of the log file. */
  folder: string
  variables: Record<string, string>
}

/** Starts a gateway. Rejects when it exits before it listens, and when it is not ready within half a minute. */
export async function startGateway({ checkout, folder, variables }: GatewayOptions): Promise<ComparedGateway> {
  const node = join(checkout, 'node_modules', '.bin', 'node')
  const entry = join(checkout, 'supervisor', 'main.ts')
  for (const path of [node, entry]) if (!existsSync(path)) throw new Error(`${path} is missing.`)
  const child = spawn(node, [entry], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: '0',
      GATEWAY_WORKERS: '1',
      GATEWAY_LOG_FILENAME: join(folder, 'gateway.log'),
      ...variables
    }
  })
  const exited = once(child, 'exit')
  const close = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
  }
  const port = await readPort(child)
  try {
    await waitUntilReady(port)
  } catch (error) {
    await close()
    throw error
  }
  return { port, pid: child.pid ?? 0, close }
}

async function waitUntilReady(port: number): Promise<void> {
  const deadline = AbortSignal.timeout(START_DEADLINE_MS)
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/ready`, { signal: deadline })
    await response.arrayBuffer()
    if (response.status === 200) return
    await wait(READY_INTERVAL_MS)
  }
}

/** Reads the port from the line on stdout, and keeps reading so that the gateway never blocks on a full pipe. */
function readPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => fail('is not ready in time'), START_DEADLINE_MS)
    const fail = (what: string) => {
      clearTimeout(timer)
      child.kill('SIGTERM')
      reject(new Error(`A gateway ${what}:\n${output}`))
    }
    const onExit = () => fail('has exited')
    const read = (chunk: unknown) => {
      output += String(chunk)
      const port = /"event":\s?"listening"[^\n]*"port":\s?(\d+)/.exec(output)?.[1]
      if (port === undefined) return
      clearTimeout(timer)
      child.off('exit', onExit)
      child.stdout?.off('data', read)
      child.stdout?.resume()
      resolve(Number(port))
    }
    child.stdout?.on('data', read)
    child.once('exit', onExit)
  })
}
