// A real PgBouncer before a Postgres server of the same test, with the settings of its package besides addresses, mode and sizes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { findFreePort } from '../../ops/net/free-port.ts'
import type { Issued } from './certificates.ts'
import { findAccount, type PostgresServer } from './postgres.ts'
import { findProgram, whyWithout } from './programs.ts'
import { waitForLine } from './ready-line.ts'
import { createTemporaryFolder } from './temporary.ts'

/** The reason to skip a test; false where PgBouncer is installed. */
export const whyWithoutPgBouncer = whyWithout('pgbouncer')

export interface PgBouncerOptions {
  readonly mode: 'session' | 'transaction'
  /** With TLS, which it then demands of every client. */
  readonly certificate?: Issued
}

const READY = /process up/

/** Starts a pool that stops with the test. Returns the DSN of a database behind it. */
export async function startPgBouncer(
  t: Test,
  server: PostgresServer,
  { mode, certificate }: PgBouncerOptions
): Promise<(database?: string) => string> {
  const folder = createTemporaryFolder(t)
  chmodSync(folder, 0o755)
  const account = findAccount()
  const port = await findFreePort()
  /** A file that the account of the pool may read. */
  const give = (name: string): string => {
    const path = join(folder, name)
    if (account !== undefined) chownSync(path, account.uid, account.gid)
    return path
  }
  writeFileSync(join(folder, 'users.txt'), `"${server.user}" "${server.password}"\n`, { mode: 0o600 })
  const tls: string[] = []
  if (certificate !== undefined) {
    copyFileSync(certificate.keyFile, join(folder, 'server.key'))
    copyFileSync(certificate.certFile, join(folder, 'server.pem'))
    tls.push('client_tls_sslmode = require')
    tls.push(`client_tls_key_file = ${give('server.key')}`, `client_tls_cert_file = ${give('server.pem')}`)
  }
  const lines = [
    '[databases]',
    `* = host=${server.host} port=${server.port}`,
    '[pgbouncer]',
    `listen_addr = ${server.host}`,
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${give('users.txt')}`,
    `pool_mode = ${mode}`,
    // In transaction mode clients share a connection of the server, which must show; the server takes 100, and each test has a database.
    ...(mode === 'transaction' ? ['default_pool_size = 2'] : []),
    'server_idle_timeout = 1',
    ...tls
  ]
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(settings, `${lines.join('\n')}\n`)
  const pool = spawn(findProgram('pgbouncer'), [settings], { ...account, stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(pool, 'exit')
  t.teardown(async () => {
    pool.kill('SIGTERM')
    await exited
  })
  await waitForLine(pool.stderr, READY, 'PgBouncer')
  const userinfo = `${server.user}:${server.password}`
  return (database = server.database) => `postgres://${userinfo}@${server.host}:${port}/${database}`
}
