// The executor of the native upstream: everything that opens a connection to it.

import type { Logger } from '../../../shared/logging.ts'
import { listSecretTexts } from '../../../shared/settings/effective.ts'
import { settingsTable } from '../../../shared/settings/table.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { MediaKind } from '../../protocols/native/media-types.ts'
import type { AddressPolicy } from '../egress/checked-lookup.ts'
import { createGuardedDownload, type DownloadDependencies } from '../egress/guarded-download.ts'
import { createTransport, type NativeTransport } from '../http/connections.ts'
import { createGate } from '../http/gate.ts'
import { createConcealment } from '../http/redaction.ts'
import type { NativeProvider, NativeProviderPool } from '../types.ts'
import { createUploadCache } from './attachments/upload-cache.ts'
import { createProvider, type NativeCredential, type SharedDependencies } from './provider.ts'
import { createProviderPool } from './provider-pool.ts'
import { type CreateReader, createNativeReader } from './reader.ts'

export type { AddressPolicy } from '../egress/checked-lookup.ts'
export { TransportConfigurationError } from '../http/connections.ts'
export type { CreateReader } from './reader.ts'

export interface NativeProviderOptions {
  settings: Settings
  log: Logger
  /** The product's version, for the user agent. */
  version: string
  createReader?: CreateReader
  /** Milliseconds since the epoch. */
  now?: () => number
  /** 0 up to 1. */
  random?: () => number
  /** Whether `UPSTREAM_BASE_URL` was given. Without a word: whether it differs from the default. */
  isBaseUrlNamed?: boolean
  /** Where the API may be: for profiles from a file. Without one, private hosts are legitimate. */
  addressPolicy?: AddressPolicy
  /** Called after each token call, for the metrics. */
  onTokenFetched?: (hasFailed: boolean) => void
  /** Replaces how clients' URLs are fetched. Only tests do: the product has no setting for it. */
  downloadDependencies?: Omit<DownloadDependencies, 'userAgent'>
}

/** Uploaded files that are remembered, over all credentials of a worker. */
const UPLOADS_REMEMBERED_MAX = 1000

/** Attachments that are in memory at once, over all requests of a worker: the largest has 40 MiB. */
const UPLOADS_AT_ONCE_MAX = 8
const UPLOAD_WAITERS_MAX = 256

/**
 * The native upstream for the server's credential and for those that clients bring. Raises `TransportConfigurationError` when a TLS
 * file cannot be read; opens no connection before the first call.
 */
export function createNativeProviderPool(options: NativeProviderOptions): NativeProviderPool {
  const { settings } = options
  const shared = createShared(options)
  // Clients that bring credentials share connections of their own: they are spared a handshake for each credential, and they
  // cannot use up those of the server's credential.
  let clientTransport: NativeTransport | undefined
  return createProviderPool({
    server: createServerProvider(options, shared),
    createProvider(credential, identity) {
      clientTransport ??= createTransport(settings, options.addressPolicy)
      return createProvider({ shared, transport: clientTransport, credential, identity, ownsTransport: false })
    },
    idleMax: settings.passTokenClientCacheSize,
    isBaseUrlNamed:
      options.isBaseUrlNamed ?? settings.upstream.baseUrl !== settingsTable.UPSTREAM_BASE_URL.defaultValue(),
    now: shared.now,
    closeShared: async () => clientTransport?.close(),
    destroyShared: async () => clientTransport?.destroy(),
    onCloseFailed: thrown =>
      options.log.warn({ event: 'upstream_close_failed', err: thrown }, 'An upstream client did not close')
  })
}

/** The native upstream for the credential in the settings alone. */
export function createNativeProvider(options: NativeProviderOptions): NativeProvider {
  return createServerProvider(options, createShared(options))
}

function createServerProvider(options: NativeProviderOptions, shared: SharedDependencies): NativeProvider {
  return createProvider({
    shared,
    transport: createTransport(shared.settings, options.addressPolicy),
    credential: readServerCredential(shared.settings),
    identity: 'server',
    ownsTransport: true
  })
}

function createShared(options: NativeProviderOptions): SharedDependencies {
  const { settings } = options
  const now = options.now ?? Date.now
  const userAgent = `llm-gateway/${options.version}`
  return {
    settings,
    log: options.log,
    userAgent,
    createReader: options.createReader ?? createNativeReader,
    download: createGuardedDownload({ ...options.downloadDependencies, userAgent }),
    uploads: createUploadCache<MediaKind>({ entriesMax: UPLOADS_REMEMBERED_MAX, now }),
    uploadGate: createGate({
      slotsMax: UPLOADS_AT_ONCE_MAX,
      waitersMax: UPLOAD_WAITERS_MAX,
      waitMsMax: Math.ceil(settings.upstream.timeout * 1000)
    }),
    concealment: createConcealment(listSecretTexts(settings)),
    now,
    random: options.random ?? Math.random,
    onTokenFetched: options.onTokenFetched
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
