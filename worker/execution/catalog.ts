// The model catalog that the routes read. Requests with the gateway's credential share one catalog; each credential that a client sends
// has a separate one, because accounts see different models (bridge.md 6.1).

import { createHash, randomUUID } from 'node:crypto'
import {
  CATALOG_DISCOVERY_TIMEOUT_MS,
  type CatalogModels,
  type CatalogSnapshot,
  isInventoryFresh
} from '../../shared/catalog/catalog.ts'
import { createDiscoveredComposition } from '../../shared/catalog/catalog-composition.ts'
import { isInScope, type ModelScope } from '../../shared/keys/model-scope.ts'
import type { Logger } from '../../shared/logging.ts'
import type { ProfileSet, ProviderProfile } from '../../shared/profile/profile.ts'
import { findDynamicProfile, listDiscoveredProfiles } from '../../shared/profile/profile-routes.ts'
import type { ControlChannel } from '../control/control-channel.ts'
import { createLocalControlChannel } from '../control/local-control-channel.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError } from '../normalized/index.ts'
import type { CallContext, Executor, Executors, UpstreamAuthorization } from '../providers/types.ts'
import { createCallContext } from './call-context.ts'

/** The channel of a client's credential limits nothing: the shared channel counts the slots. */
const NO_SLOT_LIMITS = {
  modelMaxConnections: {},
  modelMaxConnectionsDefault: undefined,
  modelMaxConnectionsAcquireTimeout: undefined
}

/** How many catalogs of client credentials are kept; beyond that the least recently used one is deleted. */
const SCOPES_MAX = 64

export interface CatalogReader {
  /**
   * A snapshot for the caller's credential, for which every inventory that is not fresh was asked for, with the models that the
   * caller's key may use (keys.md 2). Raises `GatewayError` when there is no snapshot and the discovery fails.
   */
  read(context: RequestContext, options: { force: boolean }): Promise<CatalogSnapshot>
  /** Starts a refresh of a profile's models in the shared catalog; a failure is not reported to the caller. */
  warmUp(profileId: string): void
}

export function createCatalogReader(dependencies: {
  control: ControlChannel
  executors: Executors
  profiles: ProfileSet
  log: Logger
}): CatalogReader {
  const { control, executors } = dependencies
  const native = findDynamicProfile(dependencies.profiles)
  const discovered = listDiscoveredProfiles(dependencies.profiles)
  const scopes = new Map<string, ControlChannel>()

  function findChannel(authorization: UpstreamAuthorization): ControlChannel {
    // A client's credential is one of the native upstream: it changes no other list.
    if (authorization.type === 'server' || native === undefined) return control
    const key = digest(authorization)
    const channel =
      scopes.get(key) ?? createLocalControlChannel(NO_SLOT_LIMITS, { composition: createDiscoveredComposition(native) })
    // Deleting and setting the key again moves it to the end, so that the first key is the least recently used one.
    scopes.delete(key)
    scopes.set(key, channel)
    const [oldest] = scopes.keys()
    if (scopes.size > SCOPES_MAX && oldest !== undefined) scopes.delete(oldest)
    return channel
  }

  async function discover(
    { profileId }: ProviderProfile,
    authorization: UpstreamAuthorization,
    describeCall: (executor: Executor) => Omit<CallContext, 'signal'>
  ): Promise<CatalogModels> {
    const { executor, release } = executors.acquire(profileId, authorization)
    const deadline = new AbortController()
    const timer = setTimeout(() => {
      const cause = `the discovery took longer than ${CATALOG_DISCOVERY_TIMEOUT_MS} ms`
      deadline.abort(new GatewayError('provider_timeout', { cause }))
    }, CATALOG_DISCOVERY_TIMEOUT_MS)
    try {
      if (executor.listModels === undefined) throw new GatewayError('unsupported_semantic')
      // The caller's signal is not used: a client disconnect must not end a discovery that other requests wait for.
      return await executor.listModels({ ...describeCall(executor), signal: deadline.signal })
    } finally {
      clearTimeout(timer)
      release()
    }
  }

  return {
    async read(context, { force }) {
      const { authorization, signal } = context
      const channel = findChannel(authorization)
      const current = channel.catalogSnapshot()
      const nowMs = Date.now()
      const due = (channel === control ? discovered : native === undefined ? [] : [native]).filter(
        ({ profileId }) => force || !isInventoryFresh(current, profileId, nowMs)
      )
      const refreshes = due.map(profile => {
        const { profileId } = profile
        const describeCall = (executor: Executor) => createCallContext(dependencies, context, { profile }, executor)
        return channel.refreshCatalog(() => discover(profile, authorization, describeCall), {
          profileId,
          force,
          signal
        })
      })
      const results = await Promise.allSettled(refreshes)
      signal.throwIfAborted()
      const snapshot = channel.catalogSnapshot()
      if (snapshot !== undefined) return showScope(snapshot, context.modelScope)
      for (const result of results) if (result.status === 'rejected') throw result.reason
      throw new GatewayError('gateway_not_ready')
    },
    warmUp(profileId) {
      const profile = discovered.find(one => one.profileId === profileId)
      if (profile === undefined) return
      const call = { requestId: randomUUID(), headers: [] }
      const fetchModels = () => discover(profile, { type: 'server' }, () => call)
      // A failed warm-up shows in the readiness document; the supervisor logs the cause and requests the next warm-up.
      control.refreshCatalog(fetchModels, { profileId, force: false }).catch(() => undefined)
    }
  }
}

/** Without the models that a key may not use. */
function showScope(snapshot: CatalogSnapshot, scope: ModelScope): CatalogSnapshot {
  if (scope === undefined) return snapshot
  return { ...snapshot, models: snapshot.models.filter(({ id }) => isInScope(scope, id)) }
}

/** A key that differs for different credentials and does not contain them. */
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
