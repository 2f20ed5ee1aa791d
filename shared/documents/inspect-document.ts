// The document of a successful preflight: where a gateway would lead, by which rules, and nothing
// that is secret (bridge.md 5.1, providers.md 1).
import { z } from 'zod'
import { compareCodePoints, type JsonObject } from '../json.ts'
import type { ModelAlias, ModelCapabilities, ProfileAuth, ProfileSet, ProviderProfile } from '../profile/profile.ts'
import { withoutUndefined, writeAlias, writeCapabilities, writeTimeouts } from '../profile/profile-content.ts'
import { expandFeatures } from '../profile/profile-features.ts'
import { computeConfigRevision, computeProfileRevision } from '../profile/profile-revision.ts'
import { machineText, revision, validated } from './machine-document.ts'

/** Names of headers or parameters. */
const names = z.array(machineText)
const object = z.record(z.string(), z.json())

const inspectDocument = z.strictObject({
  schema_version: z.literal('gateway.inspect.v1'),
  profile_schema_version: machineText,
  valid: z.literal(true),
  config_revision: revision,
  matrix_revision: revision,
  /** Only with a keys file. */
  keys_revision: revision.optional(),
  profiles: z.array(
    z.strictObject({
      profile_id: machineText,
      profile_revision: revision,
      provider_kind: machineText,
      base_url: machineText,
      credential_env: machineText.nullable(),
      network_policy_ref: machineText,
      tls_policy_ref: machineText,
      allow_loopback: z.boolean(),
      model_inventory: z.enum(['static', 'dynamic']),
      wire: machineText.optional(),
      state: machineText.optional(),
      token_counting: machineText.optional(),
      unsupported: machineText.optional(),
      allow_private: z.boolean().optional(),
      ca_file: z.literal(true).optional(),
      client_cert_file: z.literal(true).optional(),
      client_key_file: z.literal(true).optional(),
      proxy: machineText.optional(),
      proxy_credential_env: machineText.optional(),
      auth: object.optional(),
      headers: names.optional(),
      query: names.optional(),
      timeouts: object.optional(),
      limits: object.optional(),
      connections: z.number().optional(),
      retries: z.number().optional(),
      public_prefix: machineText.optional(),
      default_capabilities: object.optional(),
      models: z.array(object)
    })
  )
})

export type InspectDocument = z.infer<typeof inspectDocument>

/** The document of a successful preflight, `keys` being the revision of the keys file: profiles sorted by id, their aliases by name, disabled aliases included. */
export function createInspectDocument(
  set: ProfileSet,
  revisions: { matrix: string; keys?: string | undefined }
): InspectDocument {
  return validated(inspectDocument, {
    schema_version: 'gateway.inspect.v1',
    profile_schema_version: set.schemaVersion,
    valid: true,
    config_revision: computeConfigRevision(set),
    matrix_revision: revisions.matrix,
    ...(revisions.keys !== undefined && { keys_revision: revisions.keys }),
    profiles: [...set.profiles]
      .sort((left, right) => compareCodePoints(left.profileId, right.profileId))
      .map(writeInspectedProfile)
  })
}

function writeInspectedProfile(profile: ProviderProfile): JsonObject {
  return {
    profile_id: profile.profileId,
    profile_revision: computeProfileRevision(profile),
    provider_kind: profile.providerKind,
    base_url: profile.baseUrl,
    credential_env: profile.credentialEnv ?? null,
    network_policy_ref: profile.networkPolicyRef,
    tls_policy_ref: profile.tlsPolicyRef,
    allow_loopback: profile.allowLoopback,
    model_inventory: profile.modelInventory ?? 'static',
    ...writeWritten(profile),
    models: [...profile.models]
      .sort((left, right) => compareCodePoints(left.publicAlias, right.publicAlias))
      .map(writeInspectedAlias)
  }
}

/** The members that the file may leave out. Of files only that they are named, of headers and parameters only the names. */
function writeWritten(profile: ProviderProfile): JsonObject {
  const { auth, timeouts, responseBytesMax, defaultCapabilities } = profile
  return withoutUndefined({
    wire: profile.wire,
    state: profile.state,
    token_counting: profile.tokenCounting,
    unsupported: profile.unsupported,
    allow_private: profile.allowPrivate,
    ca_file: isNamed(profile.caFile),
    client_cert_file: isNamed(profile.clientCertFile),
    client_key_file: isNamed(profile.clientKeyFile),
    // The file has no place for credentials in it.
    proxy: profile.proxy,
    proxy_credential_env: profile.proxyCredentialEnv,
    auth: auth && writeInspectedAuth(auth),
    headers: profile.headers && Object.keys(profile.headers).sort(compareCodePoints),
    query: profile.query && Object.keys(profile.query).sort(compareCodePoints),
    timeouts: timeouts && writeTimeouts(timeouts),
    limits: responseBytesMax === undefined ? undefined : { response_bytes: responseBytesMax },
    connections: profile.connections,
    retries: profile.retries,
    public_prefix: profile.publicPrefix,
    default_capabilities: defaultCapabilities && writeExpanded(defaultCapabilities)
  })
}

function isNamed(path: string | undefined): true | undefined {
  return path === undefined ? undefined : true
}

/** What a form needs and where it leads; scopes and audiences are values. */
function writeInspectedAuth(auth: ProfileAuth): JsonObject {
  switch (auth.type) {
    case 'header':
      return { type: auth.type, header: auth.name }
    case 'query':
      return { type: auth.type, query: auth.name }
    case 'oauth2':
      return withoutUndefined({
        type: auth.type,
        token_url: auth.tokenUrl,
        client_id_env: auth.clientIdEnv,
        client_secret_env: auth.clientSecretEnv,
        client_auth: auth.clientAuth,
        network_policy_ref: auth.networkPolicyRef
      })
    case 'google_service_account':
      return withoutUndefined({ type: auth.type, file: isNamed(auth.file), env: auth.env })
    case 'aws_sigv4':
      return { type: auth.type, region: auth.region, service: auth.service }
  }
}

/** An alias with each of its features named: the words of the file count for the revisions alone. */
function writeInspectedAlias(alias: ModelAlias): JsonObject {
  const written = writeAlias(alias)
  return alias.capabilities === undefined ? written : { ...written, capabilities: writeExpanded(alias.capabilities) }
}

function writeExpanded(capabilities: ModelCapabilities): JsonObject {
  return writeCapabilities({ ...capabilities, features: expandFeatures(capabilities.features) })
}
