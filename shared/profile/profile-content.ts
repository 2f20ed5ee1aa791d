// Profiles under the names of a profile file, as documents and revisions write them (bridge.md 4.9 and
// 5.1). A member that the file does not write is not written here.
import type { JsonObject, JsonValue } from '../json.ts'
import type { Price } from '../prices.ts'
import type {
  AliasTarget,
  ModelAlias,
  ModelCapabilities,
  ProfileAuth,
  ProfileTimeouts,
  ProviderProfile,
  TextOrVariable
} from './profile.ts'

/** An alias under the names that documents and revisions use, with features in sorted order. */
export function writeAlias(alias: ModelAlias): JsonObject {
  const { capabilities, targets } = alias
  return {
    public_alias: alias.publicAlias,
    ...(targets === undefined ? { upstream_model: alias.upstreamModel } : { targets: targets.map(writeTarget) }),
    capability_profile: alias.capabilityProfile,
    ...(capabilities !== undefined && { capabilities: writeCapabilities(capabilities) }),
    ...(alias.outputLimitField !== undefined && { output_limit_field: alias.outputLimitField }),
    ...(alias.unsupported !== undefined && { unsupported: alias.unsupported }),
    ...(alias.pricing !== undefined && { pricing: writePricing(alias.pricing) }),
    support_status: alias.supportStatus,
    enabled: alias.enabled,
    deprecated: alias.deprecated
  }
}

function writePricing({ input, output, cacheRead, cacheWrite, reasoning }: Price): JsonObject {
  return withoutUndefined({ input, output, cache_read: cacheRead, cache_write: cacheWrite, reasoning })
}

function writeTarget({ profileId, upstreamModel, weight, priority }: AliasTarget): JsonObject {
  return { profile_id: profileId, upstream_model: upstreamModel, weight, priority }
}

/** What an alias or an inventory declares, with features in sorted order. */
export function writeCapabilities(capabilities: ModelCapabilities): JsonObject {
  const { contextWindow, maxInputTokens, maxOutputTokens } = capabilities.limits
  return {
    features: [...capabilities.features].sort(),
    limits: {
      context_window: contextWindow,
      ...(maxInputTokens !== undefined && { max_input_tokens: maxInputTokens }),
      ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens })
    }
  }
}

/** Everything that a revision covers: all but secrets. */
export function writeProfileContent(profile: ProviderProfile): JsonObject {
  return {
    profile_id: profile.profileId,
    provider_kind: profile.providerKind,
    base_url: profile.baseUrl,
    ...(profile.wire !== undefined && { wire: profile.wire }),
    ...(profile.state !== undefined && { state: profile.state }),
    ...(profile.credentialEnv !== undefined && { credential_env: profile.credentialEnv }),
    network_policy_ref: profile.networkPolicyRef,
    tls_policy_ref: profile.tlsPolicyRef,
    allow_loopback: profile.allowLoopback,
    ...(profile.modelInventory !== undefined && { model_inventory: profile.modelInventory }),
    ...(profile.tokenCounting !== undefined && { token_counting: profile.tokenCounting }),
    ...(profile.unsupported !== undefined && { unsupported: profile.unsupported }),
    ...writeCallContent(profile),
    models: profile.models.map(writeAlias)
  }
}

/** The members of providers.md 1: none of them is written where the file does not write it, so that the revisions of older files stay. */
function writeCallContent(profile: ProviderProfile): JsonObject {
  const { timeouts, responseBytesMax, defaultCapabilities } = profile
  return withoutUndefined({
    allow_private: profile.allowPrivate,
    ca_file: profile.caFile,
    client_cert_file: profile.clientCertFile,
    client_key_file: profile.clientKeyFile,
    proxy: profile.proxy,
    proxy_credential_env: profile.proxyCredentialEnv,
    auth: profile.auth && writeAuth(profile.auth),
    headers: profile.headers && writeEntries(profile.headers),
    query: profile.query && writeEntries(profile.query),
    timeouts: timeouts && writeTimeouts(timeouts),
    limits: responseBytesMax === undefined ? undefined : { response_bytes: responseBytesMax },
    connections: profile.connections,
    retries: profile.retries,
    public_prefix: profile.publicPrefix,
    default_capabilities: defaultCapabilities && writeCapabilities(defaultCapabilities)
  })
}

export function writeTimeouts(timeouts: ProfileTimeouts): JsonObject {
  return withoutUndefined({
    connect_seconds: timeouts.connectSeconds,
    first_byte_seconds: timeouts.firstByteSeconds,
    idle_seconds: timeouts.idleSeconds,
    total_seconds: timeouts.totalSeconds
  })
}

function writeAuth(auth: ProfileAuth): JsonObject {
  switch (auth.type) {
    case 'header':
      return withoutUndefined({ header: auth.name, prefix: auth.prefix })
    case 'query':
      return { query: auth.name }
    case 'oauth2':
      return {
        oauth2: withoutUndefined({
          token_url: auth.tokenUrl,
          client_id_env: auth.clientIdEnv,
          client_secret_env: auth.clientSecretEnv,
          scope: auth.scope,
          audience: auth.audience,
          client_auth: auth.clientAuth,
          network_policy_ref: auth.networkPolicyRef
        })
      }
    case 'google_service_account':
      return {
        google_service_account: withoutUndefined({
          file: auth.file,
          env: auth.env,
          scopes: auth.scopes && [...auth.scopes]
        })
      }
    case 'aws_sigv4':
      return { aws_sigv4: { region: auth.region, service: auth.service } }
  }
}

function writeEntries(entries: Readonly<Record<string, TextOrVariable>>): JsonObject {
  return Object.fromEntries(
    Object.entries(entries).map(([name, value]) => [name, typeof value === 'string' ? value : { env: value.env }])
  )
}

/** The members that have a value. */
export function withoutUndefined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const written = Object.entries(members).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const]
  )
  return Object.fromEntries(written)
}
