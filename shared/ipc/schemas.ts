// Shapes of what rare messages carry, checked member by member: profiles, listening, the model catalog.
import { z } from 'zod'
import { CATALOG_SCHEMA_VERSION, type CatalogFailure, type CatalogModels, type CatalogSnapshot } from '../catalog.ts'
import { PROFILE_SCHEMA_VERSIONS, type ProfileSet } from '../profile.ts'
import { RUNNING_REQUESTS_MAX, type RunningRequest } from '../running-request.ts'
import { PROVIDER_KINDS, SUPPORT_STATUSES } from '../support-vocabulary.ts'

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
  providerMetadata: z.record(z.string(), z.json())
}

export const catalogModels: z.ZodType<CatalogModels> = z.object({
  entries: z.array(z.object(catalogEntryFields)),
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

export const profileSet: z.ZodType<ProfileSet> = z.object({
  schemaVersion: z.enum(PROFILE_SCHEMA_VERSIONS),
  origin: z.enum(['settings', 'file']),
  profiles: z.array(
    z.object({
      profileId: z.string(),
      providerKind: z.enum(PROVIDER_KINDS),
      baseUrl: z.string(),
      credentialEnv: z.string().exactOptional(),
      networkPolicyRef: z.string(),
      tlsPolicyRef: z.string(),
      allowLoopback: z.boolean(),
      modelInventory: z.enum(['static', 'dynamic']).exactOptional(),
      tokenCounting: z.enum(['local', 'off']).exactOptional(),
      models: z.array(
        z.object({
          publicAlias: z.string(),
          upstreamModel: z.string(),
          capabilityProfile: z.string(),
          capabilities: z
            .object({
              features: z.array(z.string()),
              limits: z.object({
                contextWindow: count,
                maxInputTokens: count.exactOptional(),
                maxOutputTokens: count.exactOptional()
              })
            })
            .exactOptional(),
          supportStatus: z.enum(SUPPORT_STATUSES),
          enabled: z.boolean(),
          deprecated: z.boolean()
        })
      )
    })
  )
})

export const listenOptions = z.object({
  host: z.string(),
  port,
  /** Every worker binds the port itself and the kernel spreads connections; otherwise the supervisor hands them out in turn. */
  reusePort: z.boolean(),
  tls: z.object({ key: z.string(), cert: z.string() }).exactOptional()
})

export type ListenOptions = z.infer<typeof listenOptions>
