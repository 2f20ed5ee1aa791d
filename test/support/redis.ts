// A real Redis or Valkey server for one test, started by the test itself.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createClient } from '@redis/client'
import type { Test } from 'tap'
import { findFreePort } from '../../ops/net/free-port.ts'
import { findProgram, whyWithout, whyWithoutProgram } from './programs.ts'
import { waitForLine } from './ready-line.ts'
import { createTemporaryFolder } from './temporary.ts'

/** The reason to skip a test of shared counters; false where a server is installed. */
export const whyWithoutRedis = whyWithout('redis-server')

/** The servers that are installed; Redis is one of them in CI. */
export const redisServers = (['redis-server', 'valkey-server'] as const).map(program => ({
  program,
  skip: program === 'redis-server' ? whyWithoutRedis : whyWithoutProgram(program)
}))

export interface RedisOptions {
  readonly program?: 'redis-server' | 'valkey-server'
  /** Further lines of its configuration, as arguments. */
  readonly args?: readonly string[]
  /** Whether it has TLS alone; `args` name its certificate. It then takes no commands of the test. */
  readonly isTls?: boolean
  /** Whether it keeps its data over a restart. */
  readonly isDurable?: boolean
}

export interface RedisServer {
  readonly port: number
  readonly url: string
  /** Sends one command as an administrator does. */
  command(...words: string[]): Promise<unknown>
  /** Kills the process; `start` runs it again on the same port. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops the process without its connections, until `resume`. */
  pause(): void
  resume(): void
}

/** Starts a server on a free port of 127.0.0.1, which is killed with the test. */
export async function startRedis(t: Test, options: RedisOptions = {}): Promise<RedisServer> {
  const { program = 'redis-server', args = [], isDurable = false, isTls = false } = options
  const folder = createTemporaryFolder(t)
  const port = await findFreePort()
  const durability = isDurable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no']
  const ports = isTls ? ['--port', '0', '--tls-port', String(port)] : ['--port', String(port)]
  const flags = ['--bind', '127.0.0.1', ...ports, '--dir', folder, '--save', '', ...durability, ...args]
  let send: (signal: NodeJS.Signals) => void = () => undefined
  let kill = () => Promise.resolve()

  async function start(): Promise<void> {
    const server = spawn(findProgram(program), flags, { stdio: ['ignore', 'pipe', 'ignore'] })
    const exited = once(server, 'exit')
    send = signal => void server.kill(signal)
    kill = async () => {
      server.kill('SIGKILL')
      await exited
    }
    await waitForLine(server.stdout, /ready to accept connections/i, program)
  }

  await start()
  t.teardown(() => kill())
  const password = args[args.indexOf('--requirepass') + 1]
  const credentials = args.includes('--requirepass') && password !== undefined ? { password } : {}
  return {
    port,
    url: `${isTls ? 'rediss' : 'redis'}://127.0.0.1:${port}`,
    async command(...words) {
      const client = createClient({
        RESP: 2,
        socket: { host: '127.0.0.1', port, reconnectStrategy: false },
        ...credentials
      })
      client.on('error', () => undefined)
      await client.connect()
      try {
        return await client.sendCommand(words)
      } finally {
        client.destroy()
      }
    },
    kill: () => kill(),
    start,
    pause: () => send('SIGSTOP'),
    resume: () => send('SIGCONT')
  }
}
