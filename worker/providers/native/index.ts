// The provider kind `native`: its options and its executors for every credential.

import { listSecretTexts } from '../../../shared/settings/effective.ts'
import { settingsTable } from '../../../shared/settings/table.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { MediaKind } from '../../protocols/native/media-types.ts'
import { findProviderFace } from '../../protocols/registry.ts'
import type { AddressPolicy } from '../egress/checked-lookup.ts'
import { createGuardedDownload, type DownloadDependencies } from '../egress/guarded-download.ts'
import { createGate } from '../http/gate.ts'
import type { ExecutorDependencies, ProviderKindRegistration } from '../provider-kind.ts'
import type { ExecutorPool } from '../types.ts'
import { createUploadCache } from './attachments/upload-cache.ts'
import { type NativeConnections, openNativeConnections } from './connections.ts'
import type { NativeCredential } from './credential.ts'
import { createNativeExecutor, type SharedDependencies } from './executor.ts'
import { createNativeExecutorPool } from './executor-pool.ts'
import { readNativeOptions } from './options.ts'
import { createParallelOptionFallback } from './parallel-option.ts'

export { TransportConfigurationError } from './connections.ts'
export { readNativeOptions } from './options.ts'

export interface NativeKindOptions {
  /** Which addresses the API may have: for profiles from a file. Without one, private hosts are legitimate. */
  addressPolicy?: AddressPolicy
  /** Replaces how clients' URLs are fetched. Only tests do: the product has no setting for it. */
  downloadDependencies?: Omit<DownloadDependencies, 'userAgent'>
}

export const nativeKind: ProviderKindRegistration = createNativeKind()

/** Creates the registration. Its pools raise `TransportConfigurationError` when a TLS file cannot be read. */
export function createNativeKind(options: NativeKindOptions = {}): ProviderKindRegistration {
  return {
    readOptions: (profile, settings) => readNativeOptions(settings, profile.baseUrl),
    createPool: ({ baseUrl }, dependencies) => createPool(baseUrl, dependencies, options)
  }
}

/** Uploaded files that are remembered, over all credentials of a worker. */
const UPLOADS_REMEMBERED_MAX = 1000

/** Attachments of each source that are in memory at once, over all requests of a worker: the largest has 40 MiB. */
const UPLOADS_AT_ONCE_MAX = 8
const UPLOAD_WAITERS_MAX = 256

function createPool(baseUrl: string, dependencies: ExecutorDependencies, options: NativeKindOptions): ExecutorPool {
  const { settings, log, now } = dependencies
  const shared = createShared(baseUrl, dependencies, options)
  const open = () => openNativeConnections({ settings, baseUrl, addressPolicy: options.addressPolicy })
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

function createShared(
  baseUrl: string,
  dependencies: ExecutorDependencies,
  { downloadDependencies }: NativeKindOptions
): SharedDependencies {
  const { settings, faces, now } = dependencies
  const userAgent = `llm-gateway/${dependencies.version}`
  const uploads = {
    slotsMax: UPLOADS_AT_ONCE_MAX,
    waitersMax: UPLOAD_WAITERS_MAX,
    waitMsMax: Math.ceil(settings.upstream.timeout * 1000)
  }
  // Only chat has a contract for each API mode.
  const face = findProviderFace(faces, { providerKind: 'native', apiMode: 'v1' })
  return {
    ...dependencies,
    userAgent,
    faceOptions: readNativeOptions(settings, baseUrl),
    readError: (head, body) => face.readError(head, body),
    download: createGuardedDownload({ ...downloadDependencies, userAgent }),
    uploads: createUploadCache<MediaKind>({ entriesMax: UPLOADS_REMEMBERED_MAX, now }),
    uploadGates: { bytes: createGate(uploads), url: createGate(uploads) },
    parallelOption: createParallelOptionFallback(dependencies),
    secrets: listSecretTexts(settings)
  }
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
