// The provider kind `native`: its options and its executors for every credential.

import { type AddressPolicy, readAddressPolicy } from '../../../shared/profile/network-policy.ts'
import type { ProviderProfile } from '../../../shared/profile/profile.ts'
import { listSecretTexts } from '../../../shared/settings/effective.ts'
import { settingsTable } from '../../../shared/settings/table.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { MediaKind } from '../../protocols/native/media-types.ts'
import { findProviderFace } from '../../protocols/registry.ts'
import { createDestinationGuard, type DestinationGuard, type ResolveHost } from '../egress/checked-lookup.ts'
import { createGuardedDownload, type DownloadDependencies } from '../egress/guarded-download.ts'
import { chooseProfileProxy, listProxySecrets, type ProxyServer } from '../http/connections/proxy.ts'
import { createGate } from '../http/gate.ts'
import { type ReadError, refuseRedirects } from '../http/response-head.ts'
import { listStaticSecrets, readStaticParts } from '../http/static-parts.ts'
import type { ExecutorDependencies, ProviderKindRegistration } from '../provider-kind.ts'
import { createSingleExecutorPool } from '../single-executor-pool.ts'
import type { ExecutorPool } from '../types.ts'
import { createUploadCache } from './attachments/upload-cache.ts'
import { type NativeConnections, openNativeConnections } from './connections.ts'
import type { NativeCredential } from './credential.ts'
import { createNativeExecutor, type SharedDependencies } from './executor.ts'
import { createNativeExecutorPool } from './executor-pool.ts'
import { readNativeOptions } from './options.ts'
import { createParallelOptionFallback } from './parallel-option.ts'

export { readNativeOptions } from './options.ts'

export interface NativeKindOptions {
  /** Which addresses the API may have. Only tests give it: a profile of a file decides, and the settings allow private hosts. */
  addressPolicy?: AddressPolicy
  /** Replaces how the API's host is resolved where its addresses are checked. Only tests do. */
  resolve?: ResolveHost
  /** Replaces how clients' URLs are fetched. Only tests do: the product has no setting for it. */
  downloadDependencies?: Omit<DownloadDependencies, 'userAgent'>
}

export const nativeKind: ProviderKindRegistration = createNativeKind()

/** Creates the registration. Its pools raise `TransportConfigurationError` when a TLS file cannot be read. */
export function createNativeKind(options: NativeKindOptions = {}): ProviderKindRegistration {
  return {
    readOptions: (profile, settings) => readNativeOptions(settings, profile.baseUrl),
    createPool: (profile, dependencies) => createPool(profile, dependencies, options)
  }
}

/** Uploaded files that are remembered, over all credentials of a worker. */
const UPLOADS_REMEMBERED_MAX = 1000

/** Attachments of each source that are in memory at once, over all requests of a worker: the largest has 40 MiB. */
const UPLOADS_AT_ONCE_MAX = 8
const UPLOAD_WAITERS_MAX = 256

function createPool(
  profile: ProviderProfile,
  dependencies: ExecutorDependencies,
  options: NativeKindOptions
): ExecutorPool {
  const { baseUrl } = profile
  const { settings, log, now, origin, onConnectionChange } = dependencies
  const shared = createShared(profile, dependencies, options)
  const guard = createGuard(profile, origin, options)
  const proxyFor = (target: string) => findProxy(profile, target, dependencies)
  const proxyGuard = origin === 'file' ? createDestinationGuard('proxy') : undefined
  const profileFiles = { profileId: profile.profileId, paths: profile, log }
  const open = () =>
    openNativeConnections({ settings, baseUrl, guard, proxyFor, proxyGuard, profileFiles, onConnectionChange })
  if (origin === 'file') {
    // No client brings a credential for a profile of a file (bridge.md 7.2).
    return createSingleExecutorPool(
      createNativeExecutor({
        shared,
        connections: open(),
        ownsConnections: true,
        credential: readProfileCredential(dependencies),
        identity: 'server'
      })
    )
  }
  // The credentials of clients share connections of their own: none needs a handshake for each credential, and they cannot use up
  // the connections of the server's credential.
  let clientConnections: NativeConnections | undefined
  return createNativeExecutorPool({
    server: createNativeExecutor({
      shared,
      connections: open(),
      ownsConnections: true,
      credential: readServerCredential(settings),
      identity: 'server'
    }),
    createExecutor(credential, identity) {
      clientConnections ??= open()
      return createNativeExecutor({
        shared,
        connections: clientConnections,
        ownsConnections: false,
        isOfClient: true,
        credential,
        identity
      })
    },
    idleMax: settings.passTokenClientCacheSize,
    isBaseUrlNamed: baseUrl !== settingsTable.UPSTREAM_BASE_URL.defaultValue(),
    now,
    closeShared: async () => clientConnections?.close(),
    destroyShared: async () => clientConnections?.destroy(),
    onCloseFailed: thrown =>
      log.warn({ event: 'upstream_close_failed', err: thrown }, 'An upstream client did not close')
  })
}

function createGuard(
  profile: ProviderProfile,
  origin: ExecutorDependencies['origin'],
  { addressPolicy, resolve }: NativeKindOptions
): DestinationGuard | undefined {
  const policy = addressPolicy ?? (origin === 'file' ? readAddressPolicy(profile) : undefined)
  return policy === undefined ? undefined : createDestinationGuard(policy, { url: profile.baseUrl, resolve })
}

/** The environment decides unless the profile says otherwise: the native upstream was always reached so. */
function findProxy(
  profile: ProviderProfile,
  target: string,
  { settings, readSecret }: ExecutorDependencies
): ProxyServer | undefined {
  return chooseProfileProxy(profile, target, { variables: settings.proxy, readSecret, absent: 'environment' })
}

function createShared(
  profile: ProviderProfile,
  dependencies: ExecutorDependencies,
  { downloadDependencies }: NativeKindOptions
): SharedDependencies {
  const { settings, faces, now, origin } = dependencies
  const { baseUrl, profileId } = profile
  const userAgent = `llm-gateway/${dependencies.version}`
  const proxies = [baseUrl, settings.upstream.authUrl].map(url => findProxy(profile, new URL(url).origin, dependencies))
  const uploads = {
    slotsMax: UPLOADS_AT_ONCE_MAX,
    waitersMax: UPLOAD_WAITERS_MAX,
    waitMsMax: Math.ceil(settings.upstream.timeout * 1000)
  }
  // Only chat has a contract for each API mode.
  const face = findProviderFace(faces, { providerKind: 'native', apiMode: 'v1' })
  const readError: ReadError = (head, body) => face.readError(head, body)
  return {
    ...dependencies,
    profileId,
    userAgent,
    faceOptions: readNativeOptions(settings, baseUrl),
    // The settings may name an upstream behind anything; a profile of a file names its one
    // destination (bridge.md 8.6).
    readError: origin === 'file' ? refuseRedirects(readError) : readError,
    download: createGuardedDownload({ ...downloadDependencies, userAgent }),
    uploads: createUploadCache<MediaKind>({ entriesMax: UPLOADS_REMEMBERED_MAX, now }),
    uploadGates: { bytes: createGate(uploads), url: createGate(uploads) },
    parallelOption: createParallelOptionFallback(dependencies),
    staticParts: readStaticParts(profile, dependencies.readSecret),
    secrets: [
      ...listSecretTexts(settings),
      ...listStaticSecrets(profile, dependencies.readSecret),
      ...proxies.flatMap(proxy => (proxy === undefined ? [] : listProxySecrets(proxy)))
    ]
  }
}

/**
 * A profile of a file has its own authorization key, or none; the settings only give the scope
 * (bridge.md 7.2).
 */
function readProfileCredential({ credential, settings }: ExecutorDependencies): NativeCredential {
  if (credential === undefined) return { type: 'fixed', accessToken: null }
  return { type: 'oauth', credentials: credential, scope: settings.upstream.scope }
}

/** Which of the server's credentials is used: OAuth before user and password before a ready token before none (2.3). */
function readServerCredential({ upstream }: Settings): NativeCredential {
  const given = upstream.accessToken === undefined ? {} : { givenToken: upstream.accessToken }
  if (upstream.credentials !== undefined) {
    return { type: 'oauth', credentials: upstream.credentials, scope: upstream.scope, ...given }
  }
  if (upstream.user !== undefined && upstream.password !== undefined) {
    return { type: 'password', user: upstream.user, password: upstream.password, ...given }
  }
  return { type: 'fixed', accessToken: upstream.accessToken ?? null }
}
