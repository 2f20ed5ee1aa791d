// Shapes of what rare messages carry, checked member by member: profiles, listening, the model catalog.
import { z } from 'zod'
import {
  CATALOG_SCHEMA_VERSION,
  type CatalogFailure,
  type CatalogModels,
  type CatalogSnapshot,
  EXTERNAL_MODELS_MAX
} from '../catalog/catalog.ts'
import { price } from '../prices.ts'
import {
  OUTPUT_LIMIT_FIELDS,
  PROFILE_SCHEMA_VERSIONS,
  PROVIDER_WIRES,
  type ProfileSet,
  type ProviderProfile,
  STATE_KEEPERS,
  UNSUPPORTED_MODES
} from '../profile/profile.ts'
import { isTargetRest, type TargetRest } from '../profile/target-rests.ts'
import { FAILURE_CLASSES_MAX, type ProviderHealth } from '../provider-health.ts'
import { RUNNING_REQUESTS_MAX, type RunningRequest } from '../running-request.ts'
import { PROVIDER_KINDS, SUPPORT_STATUSES } from '../support/support-vocabulary.ts'

export const revision = z.string().regex(/^sha256:[0-9a-f]{64}$/)
export const revisions = z.object({ config: revision, matrix: revision })
export const port = z.int().min(0).max(65535)
export const count = z.int().min(0)

const catalogEntryFields = {
  id: z.string().min(1),
  ownedBy: z.string().nullable(),
  modelType: z.string().nullable(),
  available: z.boolean(),
  deprecated: z.boolean(),
  providerMetadata: z.record(z.string(), z.json()),
  facts: z
    .object({
      contextWindow: count.exactOptional(),
      outputTokensMax: count.exactOptional(),
      readsImages: z.boolean().exactOptional(),
      readsFiles: z.boolean().exactOptional()
    })
    .exactOptional()
}

export const catalogModels: z.ZodType<CatalogModels> = z.object({
  entries: z.array(z.object(catalogEntryFields)).max(EXTERNAL_MODELS_MAX),
  skippedCount: count,
  duplicateCount: count
})

export const runningRequests: z.ZodType<RunningRequest[]> = z
  .array(
    z.object({
      requestId: z.string(),
      traceId: z.string(),
      workerId: count,
      protocol: z.string(),
      route: z.string(),
      modelRequested: z.string().nullable(),
      modelEffective: z.string().nullable(),
      provider: z.string().nullable(),
      startedAtMs: count,
      isResponding: z.boolean(),
      isStreaming: z.boolean(),
      caller: z.string().nullable(),
      apiKeyName: z.string().nullable(),
      apiKeyHash: z.string().nullable()
    })
  )
  .max(RUNNING_REQUESTS_MAX)

const seenCertificate = z.object({ expiresAtMs: z.number(), seenAtMs: z.number() }).nullable()

/** One entry for each profile that was called. */
export const providerHealths: z.ZodType<ProviderHealth[]> = z.array(
  z.object({
    profileId: z.string(),
    lastSuccessAtMs: z.number().nullable(),
    consecutiveFailures: count,
    lastFailures: z
      .array(z.object({ failure: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/), atMs: z.number() }))
      .max(FAILURE_CLASSES_MAX),
    certificates: z.object({ provider: seenCertificate, client: seenCertificate })
  })
)

export const targetRest: z.ZodType<TargetRest> = z.custom<TargetRest>(
  value => typeof value === 'object' && value !== null && isTargetRest(value)
)

export const catalogFailure: z.ZodType<CatalogFailure> = z.object({
  code: z.string(),
  status: z.int(),
  kind: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  reason: z.string().nullable(),
  retryAfter: z.string().nullable(),
  cause: z.string().nullable()
})

export const catalogSnapshot: z.ZodType<CatalogSnapshot> = z.object({
  schemaVersion: z.literal(CATALOG_SCHEMA_VERSION),
  providerProfileId: z.string(),
  inventoryRevision: revision,
  discoveredAt: z.string(),
  expiresAt: z.string(),
  stale: z.boolean(),
  source: z.enum(['provider_api', 'stale_cache', 'profile_file']),
  inventories: z.array(
    z.object({
      profileId: z.string(),
      state: z.enum(['fresh', 'stale', 'absent']),
      inventoryRevision: revision.nullable(),
      discoveredAt: z.string().nullable(),
      expiresAt: z.string().nullable()
    })
  ),
  models: z.array(
    z.object({
      ...catalogEntryFields,
      providerKind: z.enum(PROVIDER_KINDS),
      providerProfileId: z.string(),
      discoveredAt: z.string(),
      stale: z.boolean(),
      inventoryRevision: revision,
      declared: z
        .object({
          inputTokenLimit: count.exactOptional(),
          outputTokenLimit: count.exactOptional(),
          canCountTokens: z.boolean()
        })
        .exactOptional()
    })
  )
})

/** The supervisor has validated the profiles: here only their shape counts, and every member passes. */
const capabilities = z.object({
  features: z.array(z.string()),
  limits: z.object({
    contextWindow: count,
    maxInputTokens: count.exactOptional(),
    maxOutputTokens: count.exactOptional()
  })
})

const textOrVariable = z.union([z.string(), z.object({ env: z.string() })])

const profileAuth = z.discriminatedUnion('type', [
  z.object({ type: z.literal('header'), name: z.string(), prefix: z.string().exactOptional() }),
  z.object({ type: z.literal('query'), name: z.string() }),
  z.object({
    type: z.literal('oauth2'),
    tokenUrl: z.string(),
    clientIdEnv: z.string(),
    clientSecretEnv: z.string(),
    scope: z.string().exactOptional(),
    audience: z.string().exactOptional(),
    clientAuth: z.enum(['basic', 'post']),
    networkPolicyRef: z.string().exactOptional()
  }),
  z.object({
    type: z.literal('google_service_account'),
    file: z.string().exactOptional(),
    env: z.string().exactOptional(),
    scopes: z.array(z.string()).exactOptional()
  }),
  z.object({ type: z.literal('aws_sigv4'), region: z.string(), service: z.string() })
])

const modelAlias = z.object({
  publicAlias: z.string(),
  upstreamModel: z.string(),
  capabilityProfile: z.string(),
  capabilities: capabilities.exactOptional(),
  targets: z
    .array(z.object({ profileId: z.string(), upstreamModel: z.string(), weight: count, priority: count }))
    .exactOptional(),
  outputLimitField: z.enum(OUTPUT_LIMIT_FIELDS).exactOptional(),
  unsupported: z.enum(UNSUPPORTED_MODES).exactOptional(),
  pricing: price.exactOptional(),
  supportStatus: z.enum(SUPPORT_STATUSES),
  enabled: z.boolean(),
  deprecated: z.boolean()
})

/** Every member is named: one that is not would be lost on the way to a worker. */
const providerProfile = z.object({
  profileId: z.string(),
  providerKind: z.enum(PROVIDER_KINDS),
  baseUrl: z.string(),
  wire: z.enum(PROVIDER_WIRES).exactOptional(),
  state: z.enum(STATE_KEEPERS).exactOptional(),
  credentialEnv: z.string().exactOptional(),
  networkPolicyRef: z.string(),
  tlsPolicyRef: z.string(),
  allowLoopback: z.boolean(),
  modelInventory: z.enum(['static', 'dynamic']).exactOptional(),
  tokenCounting: z.enum(['local', 'off']).exactOptional(),
  unsupported: z.enum(UNSUPPORTED_MODES).exactOptional(),
  allowPrivate: z.boolean().exactOptional(),
  caFile: z.string().exactOptional(),
  clientCertFile: z.string().exactOptional(),
  clientKeyFile: z.string().exactOptional(),
  proxy: z.string().exactOptional(),
  proxyCredentialEnv: z.string().exactOptional(),
  auth: profileAuth.exactOptional(),
  headers: z.record(z.string(), textOrVariable).exactOptional(),
  query: z.record(z.string(), textOrVariable).exactOptional(),
  timeouts: z
    .object({
      connectSeconds: z.number().exactOptional(),
      firstByteSeconds: z.number().exactOptional(),
      idleSeconds: z.number().exactOptional(),
      totalSeconds: z.number().exactOptional()
    })
    .exactOptional(),
  responseBytesMax: count.exactOptional(),
  connections: count.exactOptional(),
  retries: count.exactOptional(),
  publicPrefix: z.string().exactOptional(),
  defaultCapabilities: capabilities.exactOptional(),
  models: z.array(modelAlias)
} satisfies Record<keyof ProviderProfile, z.ZodType>)

export const profileSet: z.ZodType<ProfileSet> = z.object({
  schemaVersion: z.enum(PROFILE_SCHEMA_VERSIONS),
  origin: z.enum(['settings', 'file']),
  profiles: z.array(providerProfile)
})

/** PEM texts of a certificate and its key. */
export const tlsPair = z.object({ key: z.string(), cert: z.string() })
export type TlsPair = z.infer<typeof tlsPair>

export const listenOptions = z.object({
  host: z.string(),
  port,
  /** Every worker binds the port itself and the kernel spreads connections; otherwise the supervisor hands them out in turn. */
  reusePort: z.boolean(),
  tls: tlsPair.exactOptional()
})

export type ListenOptions = z.infer<typeof listenOptions>
