// The native upstream for every credential: the server's own provider, which is always there, and one for each credential that
// clients bring, kept while in use and for a while after (operations contract, section 4.4; field lesson N6).

import { createHash } from 'node:crypto'
import { assertNever } from '../../normalized/assert.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { NativeProvider, NativeProviderPool, UpstreamAuthorization } from '../types.ts'
import type { NativeCredential } from './provider.ts'

/** A client's provider that nobody used for this long is closed. */
export const IDLE_EXPIRY_MS = 15 * 60_000

export interface ProviderPoolOptions {
  server: NativeProvider
  /** Makes the provider of one credential. May throw. */
  createProvider: (credential: NativeCredential, identity: string) => NativeProvider
  /** Idle providers that are kept; those in use do not count. */
  idleMax: number
  /** False when the base URL is only the default one: a user and a password are not sent to a host that nobody named. */
  isBaseUrlNamed: boolean
  now: () => number
  /** Ends what the providers share. */
  closeShared: () => Promise<void>
  destroyShared: () => Promise<void>
  onCloseFailed: (thrown: unknown) => void
}

interface Entry {
  provider: NativeProvider
  leases: number
  idleSinceMs: number
}

type ClientAuthorization = Exclude<UpstreamAuthorization, { type: 'server' }>

export function createProviderPool(options: ProviderPoolOptions): NativeProviderPool {
  // In order of last use, the longest ago first.
  const entries = new Map<string, Entry>()
  let expiryTimer: NodeJS.Timeout | undefined
  let isClosed = false

  function open(authorization: ClientAuthorization, key: string): Entry {
    if (authorization.type === 'user' && !options.isBaseUrlNamed) throw invalidAuthentication()
    try {
      return { provider: options.createProvider(mapCredential(authorization), key), leases: 0, idleSinceMs: 0 }
    } catch (thrown) {
      throw GatewayError.is(thrown) ? thrown : invalidAuthentication(thrown)
    }
  }

  function lend(key: string, entry: Entry): { provider: NativeProvider; release: () => void } {
    entries.delete(key)
    entries.set(key, entry)
    entry.leases += 1
    let isReleased = false
    return {
      provider: entry.provider,
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

  /** Closes idle providers that are too many or too old, and comes back when the next one will be too old. */
  function evict(): void {
    const nowMs = options.now()
    const idle = [...entries].filter(([, entry]) => entry.leases === 0)
    let surplus = idle.length - options.idleMax
    for (const [key, entry] of idle) {
      if (surplus <= 0 && nowMs - entry.idleSinceMs < IDLE_EXPIRY_MS) continue
      surplus -= 1
      entries.delete(key)
      entry.provider.close().catch(options.onCloseFailed)
    }
    clearTimeout(expiryTimer)
    if (idle.length === 0 || isClosed) return
    expiryTimer = setTimeout(evict, IDLE_EXPIRY_MS)
    // It only tidies up: it must not keep a process alive.
    expiryTimer.unref()
  }

  async function end(how: (provider: NativeProvider) => Promise<void>, endShared: () => Promise<void>): Promise<void> {
    isClosed = true
    clearTimeout(expiryTimer)
    const providers = [options.server, ...[...entries.values()].map(entry => entry.provider)]
    entries.clear()
    await Promise.all([...providers.map(how), endShared()])
  }

  return {
    acquire(authorization) {
      if (isClosed) throw new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down', retryAfter: '1' })
      if (authorization.type === 'server') return { provider: options.server, release: () => undefined }
      const key = identify(authorization)
      return lend(key, entries.get(key) ?? open(authorization, key))
    },
    close: () => end(provider => provider.close(), options.closeShared),
    destroy: () => end(provider => provider.destroy(), options.destroyShared)
  }
}

/** SHA-256 of everything that makes a credential this one and no other. */
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
