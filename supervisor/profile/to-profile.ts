// Turns the content of a profile file into profiles: names of the file become names of the code, and
// a member that the file does not write stays absent, so that it enters no revision (bridge.md 4.9).
import type {
  AliasTarget,
  ModelAlias,
  ModelCapabilities,
  ProfileAuth,
  ProfileTimeouts,
  ProviderProfile
} from '../../shared/profile/profile.ts'
import { toPrice } from '../prices/pricing.ts'
import type { AliasContent, AliasContentV3, CapabilitiesContent, ProfileContent, ProfileContentV3 } from './schema.ts'

export function toProfile(content: ProfileContent): ProviderProfile {
  // Files of earlier versions have fewer members.
  const { default_capabilities: defaults, ...written }: Partial<ProfileContentV3> = content
  return {
    profileId: content.profile_id,
    providerKind: content.provider_kind,
    baseUrl: content.base_url.url,
    ...pick('wire', written.wire),
    ...pick('state', written.state),
    // Null is the written form of keyless.
    ...pick('credentialEnv', content.credential_env ?? undefined),
    networkPolicyRef: content.network_policy_ref,
    tlsPolicyRef: content.tls_policy_ref,
    allowLoopback: content.allow_loopback,
    ...pick('modelInventory', written.model_inventory ?? undefined),
    ...pick('tokenCounting', written.token_counting),
    ...pick('unsupported', written.unsupported),
    ...pick('allowPrivate', written.allow_private),
    ...pick('caFile', written.ca_file),
    ...pick('clientCertFile', written.client_cert_file),
    ...pick('clientKeyFile', written.client_key_file),
    ...pick('proxy', written.proxy),
    ...pick('proxyCredentialEnv', written.proxy_credential_env),
    ...pick('auth', written.auth && toAuth(written.auth)),
    ...pick('headers', written.headers && toLowerNames(written.headers)),
    ...pick('query', written.query),
    ...pick('timeouts', written.timeouts && toTimeouts(written.timeouts)),
    ...pick('responseBytesMax', written.limits?.response_bytes),
    ...pick('connections', written.connections),
    ...pick('retries', written.retries),
    ...pick('publicPrefix', written.public_prefix),
    ...pick('defaultCapabilities', defaults && toCapabilities(defaults)),
    models: content.models.map(alias => toAlias(alias))
  }
}

function toAlias(content: AliasContent): ModelAlias {
  const written: Partial<AliasContentV3> = content
  const targets = written.targets?.map(toTarget)
  const capabilities = written.capabilities ?? undefined
  return {
    publicAlias: content.public_alias,
    // The rules of the file let no alias have neither.
    upstreamModel: content.upstream_model ?? targets?.[0]?.upstreamModel ?? '',
    capabilityProfile: content.capability_profile,
    ...pick('capabilities', capabilities && toCapabilities(capabilities)),
    ...pick('targets', targets),
    ...pick('outputLimitField', written.output_limit_field),
    ...pick('unsupported', written.unsupported),
    ...pick('pricing', written.pricing && toPrice(written.pricing)),
    supportStatus: content.support_status,
    enabled: content.enabled,
    deprecated: content.deprecated
  }
}

function toTarget(content: NonNullable<AliasContentV3['targets']>[number]): AliasTarget {
  const { profile_id: profileId, upstream_model: upstreamModel, weight, priority } = content
  return { profileId, upstreamModel, weight, priority }
}

function toCapabilities({ features, limits }: CapabilitiesContent): ModelCapabilities {
  return {
    features: [...new Set(features)].sort(),
    limits: {
      contextWindow: limits.context_window,
      ...pick('maxInputTokens', limits.max_input_tokens ?? undefined),
      ...pick('maxOutputTokens', limits.max_output_tokens ?? undefined)
    }
  }
}

/** The schema lets exactly one form be written. */
function toAuth(content: NonNullable<ProfileContentV3['auth']>): ProfileAuth | undefined {
  const { header, prefix, query, oauth2, google_service_account: account, aws_sigv4: aws } = content
  if (header !== undefined) return { type: 'header', name: header.toLowerCase(), ...pick('prefix', prefix) }
  if (query !== undefined) return { type: 'query', name: query }
  if (account !== undefined) return { type: 'google_service_account', ...account }
  if (aws !== undefined) return { type: 'aws_sigv4', ...aws }
  if (oauth2 === undefined) return undefined
  return {
    type: 'oauth2',
    tokenUrl: oauth2.token_url,
    clientIdEnv: oauth2.client_id_env,
    clientSecretEnv: oauth2.client_secret_env,
    ...pick('scope', oauth2.scope),
    ...pick('audience', oauth2.audience),
    clientAuth: oauth2.client_auth,
    ...pick('networkPolicyRef', oauth2.network_policy_ref)
  }
}

function toTimeouts(content: NonNullable<ProfileContentV3['timeouts']>): ProfileTimeouts {
  return {
    ...pick('connectSeconds', content.connect_seconds),
    ...pick('firstByteSeconds', content.first_byte_seconds),
    ...pick('idleSeconds', content.idle_seconds),
    ...pick('totalSeconds', content.total_seconds)
  }
}

/** Names of headers have no case. */
function toLowerNames<Value>(entries: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name.toLowerCase(), value]))
}

/** An object with the member, or without it where its value is undefined. */
function pick<Name extends string, Value>(name: Name, value: Value | undefined): { [Key in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: Value }
}
