// A provider kind whose calls are a face and a signature with the profile's credential: one executor
// per profile, as many attempts as the profile allows (decisions.md 112), and nothing of the client
// in its headers but what belongs to the wire of a passed call (bridge.md 8.2, 8.3 and 8.6).

import type { ProviderProfile } from '../../../shared/profile/profile.ts'
import type { Secret } from '../../../shared/secrets/secret.ts'
import { listSecretTexts } from '../../../shared/settings/effective.ts'
import { findProviderFace } from '../../protocols/registry.ts'
import { createSecretTexts } from '../credentials/secret-texts.ts'
import { TOKEN_DEADLINE_MS } from '../credentials/token-server.ts'
import { ProviderClient } from '../http/client.ts'
import { chooseProfileProxy, listProxySecrets } from '../http/connections/proxy.ts'
import { openTlsFiles } from '../http/connections/tls-files.ts'
import type { Sign } from '../http/credential.ts'
import { createHttpExecutor } from '../http/executor.ts'
import { createErrorRedaction } from '../http/redaction.ts'
import { RefusedMembers } from '../http/refused-members.ts'
import { refuseRedirects } from '../http/response-head.ts'
import { createProfileRetries } from '../http/retry.ts'
import { listStaticSecrets, readStaticParts } from '../http/static-parts.ts'
import type { ExecutorDependencies, ProviderKindRegistration } from '../provider-kind.ts'
import { createSingleExecutorPool } from '../single-executor-pool.ts'
import type { Executor } from '../types.ts'
import { type ConnectionOptions, openConnections } from './connections.ts'
import { createProfileCredential, listCredentialTexts, listTokenServers } from './credential.ts'
import { type CompatibleLimits, readLimits, tokenServerLimits } from './limits.ts'

/** What makes one kind of such a provider. */
export interface CompatibleKind {
  providerKind: ProviderProfile['providerKind']
  /** The signer for the credential of a profile. */
  createSigner(credential: Secret): Sign
  /** The options of the kind's face, from the base URL in canonical form: plain data. */
  readOptions(baseUrl: string): unknown
}

/** Replaces bounds and surroundings. Only tests do: in the product the profile writes the bounds. */
export interface CompatibleKindOptions extends ConnectionOptions {
  limits?: Partial<CompatibleLimits>
  /** Of a whole call to a token server. */
  tokenDeadlineMs?: number
}

/** Creates the registration of a kind. */
export function createCompatibleKind(
  kind: CompatibleKind,
  options: CompatibleKindOptions = {}
): ProviderKindRegistration {
  return {
    readOptions: ({ baseUrl }) => kind.readOptions(baseUrl),
    createPool: (profile, dependencies) =>
      createSingleExecutorPool(createExecutor(kind, profile, dependencies, options))
  }
}

function createExecutor(
  { providerKind, createSigner, readOptions }: CompatibleKind,
  profile: ProviderProfile,
  dependencies: ExecutorDependencies,
  options: CompatibleKindOptions
): Executor {
  const { settings, faces, version } = dependencies
  const limits = { ...readLimits(profile), ...options.limits }
  const findProxy = (url: string) =>
    chooseProfileProxy(profile, new URL(url).origin, {
      variables: settings.proxy,
      readSecret: dependencies.readSecret,
      absent: 'none'
    })
  const proxies = [findProxy(profile.baseUrl), ...listTokenServers(profile).map(findProxy)]
  // Each executor knows its own secrets: what one provider repeats of them is masked, and no other profile has them.
  const texts = createSecretTexts([
    ...listSecretTexts(settings),
    ...listCredentialTexts(profile, dependencies),
    ...listStaticSecrets(profile, dependencies.readSecret),
    ...proxies.flatMap(proxy => (proxy === undefined ? [] : listProxySecrets(proxy)))
  ])
  const redaction = createErrorRedaction(texts.list)
  const log = redaction.protect(dependencies.log)
  const lifetime = new AbortController()
  const tlsFiles = openTlsFiles({ profileId: profile.profileId, paths: profile, log })
  const open = (destination: ProviderProfile, bounds: CompatibleLimits) =>
    openConnections(destination, bounds, {
      ...options,
      proxy: findProxy(destination.baseUrl),
      tlsFiles,
      onConnectionChange: dependencies.onConnectionChange
    })
  const connections = open(profile, limits)
  const credential = createProfileCredential({
    profile,
    dependencies,
    createSigner,
    openTokenServer: server => open(server, tokenServerLimits),
    tokenDeadlineMs: options.tokenDeadlineMs ?? TOKEN_DEADLINE_MS,
    texts,
    log,
    lifetime: lifetime.signal
  })
  const face = findProviderFace(faces, { providerKind, apiMode: 'v1', wire: profile.wire })
  const client = new ProviderClient({
    profileId: profile.profileId,
    origin: connections,
    credentials: credential.source,
    readError: refuseRedirects((head, body) => face.readError(head, body)),
    retryPolicy: createProfileRetries(profile.retries ?? 0),
    userAgent: `llm-gateway/${version}`,
    sendsRequestHeaders: false,
    staticParts: readStaticParts(profile, dependencies.readSecret),
    lifetime: lifetime.signal,
    log,
    onOutcome: dependencies.onOutcome,
    now: dependencies.now,
    onStaleConnection: dependencies.onStaleConnection,
    draining: dependencies.draining,
    random: dependencies.random,
    totalMs: limits.totalMs
  })
  const refused = new RefusedMembers({ log, now: dependencies.now })
  return createHttpExecutor({
    providerKind,
    wire: profile.wire,
    faces,
    faceOptions: readOptions(profile.baseUrl),
    client,
    hooks: { openFallback: (call, context) => refused.open(call, context) },
    redaction,
    largeResponses: dependencies.largeResponses,
    lifetime,
    connections: {
      certificates: connections.certificates,
      async close() {
        await Promise.all([connections.close(), credential.close()])
      },
      async destroy() {
        await Promise.all([connections.destroy(), credential.destroy()])
      }
    },
    log,
    bounds: { wholeBytesMax: limits.responseBytesMax, streamBytesMax: limits.responseBytesMax },
    logsPayloads: settings.mode === 'DEV'
  })
}
