// The model catalog as the routes read it: the shared one for the server's own credential, one of its own for every credential
// that a client brings, because accounts see different models (bridge.md 6.1).

import { createHash, randomUUID } from 'node:crypto'
import {
  CATALOG_DISCOVERY_TIMEOUT_MS,
  type CatalogModels,
  type CatalogSnapshot,
  isFresh
} from '../../shared/catalog.ts'
import type { Logger } from '../../shared/logging.ts'
import { type ControlChannel, createLocalControlChannel } from '../control/control-channel.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError } from '../normalized/index.ts'
import type { CallContext, Executors, UpstreamAuthorization } from '../providers/types.ts'
import { createCallContext } from './call-context.ts'

/** A catalog of its own needs no slots: those are counted by the shared channel. */
const NO_SLOT_LIMITS = {
  modelMaxConnections: {},
  modelMaxConnectionsDefault: undefined,
  modelMaxConnectionsAcquireTimeout: undefined
}

/** Catalogs of clients' own credentials that are kept, the least recently used one leaving first. */
const SCOPES_MAX = 64

export interface CatalogReader {
  /** A snapshot for the caller's credential. Raises `GatewayError` when there is none and the upstream cannot be asked. */
  read(context: RequestContext, options: { force: boolean }): Promise<CatalogSnapshot>
  /** Brings the shared catalog up to date, whatever comes of it. */
  warmUp(): void
}

export function createCatalogReader(dependencies: {
  control: ControlChannel
  executors: Executors
  /** The profile whose inventory is discovered. */
  profileId: string
  log: Logger
}): CatalogReader {
  const { control, executors, profileId } = dependencies
  const scopes = new Map<string, ControlChannel>()

  function findChannel(authorization: UpstreamAuthorization): ControlChannel {
    if (authorization.type === 'server') return control
    const key = digest(authorization)
    const channel = scopes.get(key) ?? createLocalControlChannel(NO_SLOT_LIMITS)
    // Deleted and set again: the order of the map is the order of use.
    scopes.delete(key)
    scopes.set(key, channel)
    const [oldest] = scopes.keys()
    if (scopes.size > SCOPES_MAX && oldest !== undefined) scopes.delete(oldest)
    return channel
  }

  async function discover(
    authorization: UpstreamAuthorization,
    call: Omit<CallContext, 'signal'>
  ): Promise<CatalogModels> {
    const { executor, release } = executors.acquire(profileId, authorization)
    const deadline = new AbortController()
    const timer = setTimeout(() => {
      const cause = `the discovery took longer than ${CATALOG_DISCOVERY_TIMEOUT_MS} ms`
      deadline.abort(new GatewayError('provider_timeout', { cause }))
    }, CATALOG_DISCOVERY_TIMEOUT_MS)
    try {
      if (executor.listModels === undefined) throw new GatewayError('unsupported_semantic')
      // Not the caller's own signal: a client disconnect must not end a discovery that other requests wait for.
      return await executor.listModels({ ...call, signal: deadline.signal })
    } finally {
      clearTimeout(timer)
      release()
    }
  }

  return {
    async read(context, { force }) {
      const channel = findChannel(context.authorization)
      const current = channel.catalogSnapshot()
      if (!force && isFresh(current, Date.now())) return current
      return channel.refreshCatalog(
        () => discover(context.authorization, createCallContext(dependencies, context, {})),
        { force, signal: context.signal }
      )
    },
    warmUp() {
      const call = { requestId: randomUUID(), headers: [] }
      // A failed warm-up shows as readiness; the supervisor says why in the log and asks for the next one.
      control.refreshCatalog(() => discover({ type: 'server' }, call), { force: false }).catch(() => undefined)
    }
  }
}

/** Tells credentials apart without keeping them. */
function digest(authorization: UpstreamAuthorization): string {
  const hash = createHash('sha256').update(authorization.type)
  switch (authorization.type) {
    case 'server':
      break
    case 'access-token':
      hash.update(authorization.accessToken.reveal())
      break
    case 'credentials':
      hash.update(JSON.stringify([authorization.credentials.reveal(), authorization.scope]))
      break
    case 'user':
      hash.update(JSON.stringify([authorization.user, authorization.password.reveal()]))
      break
  }
  return hash.digest('base64url')
}
