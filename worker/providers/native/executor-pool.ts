// The native upstream for every credential: the executor of the server's credential, which always
// exists, and one for each credential that clients bring, kept while in use and for a while after
// (operations.md 4.4; field-lessons.md N6).

import { createHash } from 'node:crypto'
import { assertNever } from '../../normalized/assert.ts'
import { GatewayError } from '../../normalized/index.ts'
import { shuttingDown } from '../single-executor-pool.ts'
import type { Executor, ExecutorLease, ExecutorPool, UpstreamAuthorization } from '../types.ts'
import type { NativeCredential } from './credential.ts'

/** The executor of a client's credential is closed after this time without use. */
export const IDLE_EXPIRY_MS = 15 * 60_000

export interface NativeExecutorPoolOptions {
  server: Executor
  /** Creates the executor of one credential. May throw. */
  createExecutor: (credential: NativeCredential, identity: string) => Executor
  /** Idle executors that are kept; those in use do not count. */
  idleMax: number
  /** False for the default base URL: a user and a password go only to a host that the operator named. */
  isBaseUrlNamed: boolean
  /** Milliseconds since the epoch. */
  now: () => number
  /** Closes what the executors share. */
  closeShared: () => Promise<void>
  destroyShared: () => Promise<void>
  onCloseFailed: (thrown: unknown) => void
}

interface Entry {
  executor: Executor
  leases: number
  idleSinceMs: number
}

type ClientAuthorization = Exclude<UpstreamAuthorization, { type: 'server' }>

/** Creates the pool. Its `acquire` raises `invalid_upstream_authorization` for a user of the default base URL. */
export function createNativeExecutorPool(options: NativeExecutorPoolOptions): ExecutorPool {
  // In order of last use, the least recent first.
  const entries = new Map<string, Entry>()
  let expiryTimer: NodeJS.Timeout | undefined
  let isClosed = false

  function open(authorization: ClientAuthorization, key: string): Entry {
    if (authorization.type === 'user' && !options.isBaseUrlNamed) throw invalidAuthentication()
    try {
      return { executor: options.createExecutor(mapCredential(authorization), key), leases: 0, idleSinceMs: 0 }
    } catch (thrown) {
      throw GatewayError.is(thrown) ? thrown : invalidAuthentication(thrown)
    }
  }

  function lend(key: string, entry: Entry): ExecutorLease {
    entries.delete(key)
    entries.set(key, entry)
    entry.leases += 1
    let isReleased = false
    return {
      executor: entry.executor,
      release() {
        if (isReleased) return
        isReleased = true
        entry.leases -= 1
        if (entry.leases > 0) return
        entry.idleSinceMs = options.now()
        if (entries.get(key) !== entry) return
        entries.delete(key)
        entries.set(key, entry)
        evict()
      }
    }
  }

  /** Closes the idle executors that are too many or idle for too long, and sets the timer for the next ones. */
  function evict(): void {
    const nowMs = options.now()
    const idle = [...entries].filter(([, entry]) => entry.leases === 0)
    let surplus = idle.length - options.idleMax
    for (const [key, entry] of idle) {
      if (surplus <= 0 && nowMs - entry.idleSinceMs < IDLE_EXPIRY_MS) continue
      surplus -= 1
      entries.delete(key)
      entry.executor.close().catch(options.onCloseFailed)
    }
    clearTimeout(expiryTimer)
    if (idle.length === 0 || isClosed) return
    expiryTimer = setTimeout(evict, IDLE_EXPIRY_MS)
    // It must not keep the process alive.
    expiryTimer.unref()
  }

  async function end(how: (executor: Executor) => Promise<void>, endShared: () => Promise<void>): Promise<void> {
    isClosed = true
    clearTimeout(expiryTimer)
    const executors = [options.server, ...[...entries.values()].map(entry => entry.executor)]
    entries.clear()
    await Promise.all([...executors.map(how), endShared()])
  }

  return {
    acquire(authorization) {
      if (isClosed) throw shuttingDown()
      if (authorization.type === 'server') return { executor: options.server, release: () => undefined }
      const key = identify(authorization)
      return lend(key, entries.get(key) ?? open(authorization, key))
    },
    certificates: () => options.server.certificates?.(),
    close: () => end(executor => executor.close(), options.closeShared),
    destroy: () => end(executor => executor.destroy(), options.destroyShared)
  }
}

/** SHA-256 over all parts of a credential, each with its length, so that different credentials never have the same key. */
function identify(authorization: ClientAuthorization): string {
  const hash = createHash('sha256')
  for (const part of listParts(authorization))
    hash
      .update(String(Buffer.byteLength(part)))
      .update(':')
      .update(part)
  return hash.digest('hex')
}

function listParts(authorization: ClientAuthorization): string[] {
  switch (authorization.type) {
    case 'access-token':
      return [authorization.type, authorization.accessToken.reveal()]
    case 'credentials':
      return [authorization.type, authorization.credentials.reveal(), authorization.scope]
    case 'user':
      return [authorization.type, authorization.user, authorization.password.reveal()]
    default:
      return assertNever(authorization)
  }
}

function mapCredential(authorization: ClientAuthorization): NativeCredential {
  switch (authorization.type) {
    case 'access-token':
      return { type: 'fixed', accessToken: authorization.accessToken }
    case 'credentials':
      return { type: 'oauth', credentials: authorization.credentials, scope: authorization.scope }
    case 'user':
      return { type: 'password', user: authorization.user, password: authorization.password }
    default:
      return assertNever(authorization)
  }
}

function invalidAuthentication(cause?: unknown): GatewayError {
  return new GatewayError('invalid_upstream_authorization', {
    message: 'Invalid upstream pass-through authentication',
    cause
  })
}
