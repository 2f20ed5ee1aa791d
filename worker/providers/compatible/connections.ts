// The connections of a profile of an external kind: where they may lead, how they are secured, and
// through which proxy (bridge.md 8.2, 8.3 and 8.6).

import { readAddressPolicy } from '../../../shared/profile/network-policy.ts'
import type { ProviderProfile } from '../../../shared/profile/profile.ts'
import { createDestinationGuard, type ResolveHost } from '../egress/checked-lookup.ts'
import { connectionsExhausted } from '../http/call-failure.ts'
import type { ProxyServer } from '../http/connections/proxy.ts'
import type { TlsFiles } from '../http/connections/tls-files.ts'
import { openOrigin, type ProviderOrigin } from '../http/connections.ts'
import type { ExecutorDependencies } from '../provider-kind.ts'
import type { CompatibleLimits } from './limits.ts'

/** What only tests replace. */
export interface ConnectionOptions {
  /** All addresses of a host. */
  resolve?: ResolveHost
  /** Further certificate authorities, as PEM text. */
  ca?: string
}

export interface OpenOptions extends ConnectionOptions, Pick<ExecutorDependencies, 'onConnectionChange'> {
  proxy: ProxyServer | undefined
  tlsFiles: TlsFiles | undefined
}

/** Prepares the connections of a profile. None is opened before the first call. */
export function openConnections(
  profile: ProviderProfile,
  limits: CompatibleLimits,
  { resolve, ca, proxy, tlsFiles, onConnectionChange }: OpenOptions
): ProviderOrigin {
  const { baseUrl } = profile
  const { connectMs, firstByteMs, idleMs, connectionsMax, waitersMax, connectionWaitMs } = limits
  const response = { headMs: firstByteMs, idleMs }
  return openOrigin({
    origin: new URL(baseUrl).origin,
    connectionsMax,
    waiting: { waitersMax, waitMsMax: connectionWaitMs, refuse: connectionsExhausted },
    timeouts: { connectMs, writeMs: idleMs, call: response, chat: response, stream: response },
    // Explicit, so that no environment variable switches verification off.
    tls: { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) },
    tlsFiles,
    proxy,
    proxyGuard: proxy && createDestinationGuard('proxy', { url: proxy.origin }),
    guard: createDestinationGuard(readAddressPolicy(profile), { url: baseUrl, resolve }),
    onConnectionChange
  })
}
