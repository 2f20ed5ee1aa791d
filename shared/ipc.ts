// The messages between the supervisor and its workers: every kind with its fields, checked at both ends.
import { z } from 'zod'
import type { CatalogFailure, CatalogModels, CatalogSnapshot } from './catalog.ts'
import { PROVIDER_KINDS } from './support-matrix.ts'

/** Raised when a message changes its meaning. Both ends come from one build, so a difference is a mistake, not a negotiation. */
export const IPC_VERSION = 1

const jsonValue = z.json()
const revision = z.string().regex(/^sha256:[0-9a-f]{64}$/)
const count = z.int().min(0)
const requestId = z.int().min(0)

const catalogEntryFields = {
  id: z.string().min(1),
  ownedBy: z.string().nullable(),
  modelType: z.string().nullable(),
  available: z.boolean(),
  deprecated: z.boolean(),
  providerMetadata: z.record(z.string(), jsonValue)
}

const catalogModels: z.ZodType<CatalogModels> = z.object({
  entries: z.array(z.object(catalogEntryFields)),
  skippedCount: count,
  duplicateCount: count
})

const catalogFailure: z.ZodType<CatalogFailure> = z.object({
  code: z.string(),
  status: z.int(),
  kind: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  reason: z.string().nullable(),
  retryAfter: z.string().nullable(),
  cause: z.string().nullable()
})

const catalogSnapshot: z.ZodType<CatalogSnapshot> = z.object({
  schemaVersion: z.literal('gateway.model-catalog.v1'),
  providerProfileId: z.string(),
  inventoryRevision: revision,
  discoveredAt: z.string(),
  expiresAt: z.string(),
  stale: z.boolean(),
  source: z.enum(['provider_api', 'stale_cache']),
  models: z.array(
    z.object({
      ...catalogEntryFields,
      providerKind: z.enum(PROVIDER_KINDS),
      providerProfileId: z.string(),
      discoveredAt: z.string(),
      stale: z.boolean(),
      inventoryRevision: revision
    })
  )
})

const listenOptions = z.object({
  host: z.string(),
  port: z.int().min(0).max(65535),
  /** Every worker binds the port itself and the kernel spreads connections; otherwise the supervisor hands them out in turn. */
  reusePort: z.boolean(),
  tls: z.object({ key: z.string(), cert: z.string() }).optional()
})

export type ListenOptions = z.infer<typeof listenOptions>

function message<Kind extends string, Fields extends z.ZodRawShape>(kind: Kind, fields: Fields) {
  return z.object({
    v: z.literal(IPC_VERSION),
    kind: z.literal(kind),
    ...fields
  })
}

const supervisorMessage = z.discriminatedUnion('kind', [
  /** The whole configuration. A worker reads nothing else, so a respawned one is equal to the one that it replaces. */
  message('configure', {
    workerId: z.int().min(1),
    version: z.string(),
    variables: z.record(z.string(), z.string()),
    revisions: z.object({ config: revision, matrix: revision }),
    /** Base64. */
    fingerprintKey: z.string(),
    listen: listenOptions,
    /** Only warnings and errors go to stdout. */
    isQuiet: z.boolean(),
    catalog: catalogSnapshot.nullable()
  }),
  /** Readiness false, new model requests refused. Answered by `drain-acknowledged`. */
  message('drain', {}),
  /** Stop accepting connections. Answered by `listener-closed`. */
  message('close-listener', {}),
  /** End what still runs. */
  message('cancel', {}),
  /** Close everything that is owned, then exit. Answered by `closed` and the end of the process. */
  message('close', {}),
  message('reopen-log', {}),
  message('ping', { nonce: count }),
  /** Asks this worker to start a catalog refresh of its own (warm-up). */
  message('catalog-refresh-wanted', {}),
  /** The worker that asked must fetch now and answer with `catalog-fetched` or `catalog-failed` under the same id. */
  message('catalog-lease', { requestId }),
  /** What became of the refresh that was asked for. */
  message('catalog-result', { requestId, snapshot: catalogSnapshot }),
  /** The refresh that was asked for failed, whichever worker tried, and there is no earlier snapshot. */
  message('catalog-unavailable', { requestId, failure: catalogFailure }),
  message('catalog-published', { snapshot: catalogSnapshot }),
  message('slot-granted', { requestId }),
  message('slot-refused', { requestId })
])

const workerMessage = z.discriminatedUnion('kind', [
  message('worker-online', { pid: count }),
  message('worker-ready', {
    revisions: z.object({ config: revision, matrix: revision }),
    address: z.object({ host: z.string(), port: z.int().min(0).max(65535) })
  }),
  /** Startup failed for a reason that is worth a word; the process ends after it. */
  message('worker-failed', {
    reason: z.enum(['port_in_use', 'address_not_available', 'permission_denied', 'configuration', 'internal']),
    /** Names settings or error codes, never values. */
    detail: z.string().max(512)
  }),
  message('drain-acknowledged', { activeRequests: count }),
  message('listener-closed', {}),
  message('drain-progress', { activeRequests: count }),
  /** No request runs any more. */
  message('drained', {}),
  message('closed', {}),
  message('pong', { nonce: count }),
  message('catalog-refresh', { requestId, force: z.boolean() }),
  /** Ends a lease with what was discovered. */
  message('catalog-fetched', { requestId, models: catalogModels }),
  /** Ends a lease whose discovery failed. */
  message('catalog-failed', { requestId, failure: catalogFailure }),
  message('slot-acquire', { requestId, key: z.string() }),
  /** The caller went away while it waited. */
  message('slot-cancel', { requestId }),
  message('slot-release', { requestId })
])

export type SupervisorMessage = z.infer<typeof supervisorMessage>
export type WorkerMessage = z.infer<typeof workerMessage>

type WithoutVersion<Message> = Message extends { v: 1 } ? Omit<Message, 'v'> : never
/** A message as the sender writes it; `createMessage` adds the version. */
export type SupervisorMessageContent = WithoutVersion<SupervisorMessage>
export type WorkerMessageContent = WithoutVersion<WorkerMessage>
export type ConfigureMessage = Extract<SupervisorMessage, { kind: 'configure' }>

/** Puts the version on a message. */
export function createMessage<Content extends { kind: string }>(content: Content): Content & { v: 1 } {
  return { v: IPC_VERSION, ...content }
}

/** A message from the supervisor, or undefined when the value is none of the known kinds with its exact fields. */
export function readSupervisorMessage(value: unknown): SupervisorMessage | undefined {
  return supervisorMessage.safeParse(value).data
}

/** A message from a worker, or undefined when the value is none of the known kinds with its exact fields. */
export function readWorkerMessage(value: unknown): WorkerMessage | undefined {
  return workerMessage.safeParse(value).data
}
