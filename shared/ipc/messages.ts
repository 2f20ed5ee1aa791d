// The messages between the supervisor and its workers: one table per direction, every kind with the check of its fields.
// Frequent kinds have hand-written checks; rare ones are checked by a schema.
import { z } from 'zod'
import { isMetricsDelta, type MetricsDelta } from '../metrics/delta.ts'
import { METRICS_FORMATS, type MetricsFormat } from '../metrics/format.ts'
import {
  catalogFailure,
  catalogModels,
  catalogSnapshot,
  count,
  listenOptions,
  port,
  profileSet,
  revisions
} from './schemas.ts'

export type { ListenOptions } from './schemas.ts'

/** Raised when a message changes its meaning. Both ends come from one build, so a difference is a mistake, not a negotiation. */
export const IPC_VERSION = 1

/** Longest detail of a failed start, in characters: one line for the operator. */
export const FAILURE_DETAIL_MAX = 512

type Check<Fields extends object> = (message: object) => message is Fields

function hasFields<Fields extends z.ZodRawShape>(fields: Fields): Check<z.infer<z.ZodObject<Fields>>> {
  const schema = z.object(fields)
  return (message): message is z.infer<typeof schema> => schema.safeParse(message).success
}

/** For kinds without fields. */
const hasNoFields: Check<object> = (message): message is object => typeof message === 'object'

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

const hasRequestId = (message: object): message is { readonly requestId: number } =>
  'requestId' in message && isCount(message.requestId)

const hasSlotKey = (message: object): message is { readonly requestId: number; readonly key: string } =>
  hasRequestId(message) && 'key' in message && typeof message.key === 'string'

const hasNonce = (message: object): message is { readonly nonce: number } =>
  'nonce' in message && isCount(message.nonce)

const hasMetricsDelta = (message: object): message is { readonly delta: MetricsDelta } =>
  'delta' in message && isMetricsDelta(message.delta)

const hasMetricsFormat = (message: object): message is { readonly requestId: number; readonly format: MetricsFormat } =>
  hasRequestId(message) && 'format' in message && METRICS_FORMATS.some(format => format === message.format)

const hasMetricsText = (message: object): message is { readonly requestId: number; readonly body: Uint8Array } =>
  hasRequestId(message) && 'body' in message && message.body instanceof Uint8Array

const hasActiveRequests = (message: object): message is { readonly activeRequests: number } =>
  'activeRequests' in message && isCount(message.activeRequests)

const supervisorChecks = {
  /**
   * The whole configuration, validated. A worker reads nothing else, so a respawned one is equal to the one that it replaces.
   * Acknowledged by `worker-ready` or `worker-failed`.
   */
  configure: hasFields({
    workerId: z.int().min(1),
    version: z.string(),
    /** As `writeTransferredSettings` returns them: secrets are plain texts. */
    settings: z.record(z.string(), z.unknown()),
    profiles: profileSet,
    /** The credentials of a profile file in plain text, by profile id. */
    credentials: z.record(z.string(), z.string()),
    /** Base64. */
    fingerprintKey: z.string(),
    listen: listenOptions,
    /** Only warnings and errors go to stdout. */
    isQuiet: z.boolean(),
    catalog: catalogSnapshot.nullable(),
    /** Every worker of the host has listened once: true for a respawned worker. */
    isHostStarted: z.boolean()
  }),
  /** Every worker of the host listens: readiness waits for it no more. */
  'host-started': hasNoFields,
  /** Readiness false, new model requests refused. Acknowledged by `drain-acknowledged`. */
  drain: hasNoFields,
  /** Stop accepting connections. Acknowledged by `listener-closed`. */
  'close-listener': hasNoFields,
  /** End the requests that still run. */
  cancel: hasNoFields,
  /** Close everything that is owned, then exit. Acknowledged by `closed` and the exit of the process. */
  close: hasNoFields,
  'reopen-log': hasNoFields,
  /** Acknowledged by `pong`. */
  ping: hasNonce,
  /** Asks this worker to start a catalog refresh of its own (warm-up). */
  'catalog-refresh-wanted': hasNoFields,
  /** The worker that asked fetches now and reports `catalog-fetched` or `catalog-failed` under the same id. */
  'catalog-lease': hasRequestId,
  /** The requested refresh succeeded, or failed and the earlier snapshot stays. */
  'catalog-result': hasFields({ requestId: count, snapshot: catalogSnapshot }),
  /** The requested refresh failed, in this worker or in another one, and there is no earlier snapshot. */
  'catalog-unavailable': hasFields({ requestId: count, failure: catalogFailure }),
  'catalog-published': hasFields({ snapshot: catalogSnapshot }),
  'slot-granted': hasRequestId,
  'slot-refused': hasRequestId,
  /** Asks for what changed in the worker's metrics; acknowledged by `metrics-collected`, after the `metrics-delta`. */
  'metrics-collect': hasRequestId,
  /** The text of a scrape, as bytes. */
  'metrics-text': hasMetricsText
}

const workerChecks = {
  'worker-online': hasFields({ pid: count }),
  'worker-ready': hasFields({ revisions, address: z.object({ host: z.string(), port }) }),
  /** The start failed for a reason that the operator can act on; the process exits after it. */
  'worker-failed': hasFields({
    reason: z.enum(['port_in_use', 'address_not_available', 'permission_denied', 'configuration', 'internal']),
    /** Names settings or error codes, never values. */
    detail: z.string().max(FAILURE_DETAIL_MAX)
  }),
  'drain-acknowledged': hasActiveRequests,
  'listener-closed': hasNoFields,
  'drain-progress': hasActiveRequests,
  /** No request runs any more. */
  drained: hasNoFields,
  closed: hasNoFields,
  pong: hasNonce,
  'catalog-refresh': hasFields({ requestId: count, force: z.boolean() }),
  /** Ends a lease with what was discovered. */
  'catalog-fetched': hasFields({ requestId: count, models: catalogModels }),
  /** Ends a lease whose discovery failed. */
  'catalog-failed': hasFields({ requestId: count, failure: catalogFailure }),
  'slot-acquire': hasSlotKey,
  /** The caller ended its wait; a grant that is already on its way is given back. */
  'slot-cancel': hasRequestId,
  'slot-release': hasRequestId,
  /** What changed in the worker's metrics; only while metrics are on. */
  'metrics-delta': hasMetricsDelta,
  'metrics-collected': hasRequestId,
  /** Asks for the metrics of all workers, for a scrape. */
  'metrics-scrape': hasMetricsFormat
}

type FieldsOf<Checks> = { [Kind in keyof Checks]: Checks[Kind] extends Check<infer Fields> ? Fields : never }

/** Fields by kind. */
export type SupervisorMessageFields = FieldsOf<typeof supervisorChecks>
export type WorkerMessageFields = FieldsOf<typeof workerChecks>

/** A message as the sender writes it; `createMessage` adds the version. */
export type ContentOf<FieldsByKind, Kind extends keyof FieldsByKind = keyof FieldsByKind> = {
  [One in Kind]: { readonly kind: One } & FieldsByKind[One]
}[Kind]
export type SupervisorMessageContent = ContentOf<SupervisorMessageFields>
export type WorkerMessageContent = ContentOf<WorkerMessageFields>

export type MessageOf<FieldsByKind, Kind extends keyof FieldsByKind = keyof FieldsByKind> = {
  [One in Kind]: { readonly v: typeof IPC_VERSION; readonly kind: One } & FieldsByKind[One]
}[Kind]
export type SupervisorMessage = MessageOf<SupervisorMessageFields>
export type WorkerMessage = MessageOf<WorkerMessageFields>
export type ConfigureMessage = MessageOf<SupervisorMessageFields, 'configure'>

/** Puts the version on a message. */
export function createMessage<Content extends { readonly kind: string }>(
  content: Content
): Content & { readonly v: typeof IPC_VERSION } {
  return { v: IPC_VERSION, ...content }
}

/** A message from the supervisor, or undefined when the value is of no known kind or a field does not fit its kind. */
export function readSupervisorMessage(value: unknown): SupervisorMessage | undefined {
  return isMessage(value, supervisorChecks) ? value : undefined
}

/** A message from a worker, or undefined when the value is of no known kind or a field does not fit its kind. */
export function readWorkerMessage(value: unknown): WorkerMessage | undefined {
  return isMessage(value, workerChecks) ? value : undefined
}

function isMessage<Checks extends Readonly<Record<string, Check<object>>>>(
  value: unknown,
  checks: Checks
): value is MessageOf<FieldsOf<Checks>> {
  if (typeof value !== 'object' || value === null) return false
  if (!('v' in value) || value.v !== IPC_VERSION || !('kind' in value) || typeof value.kind !== 'string') return false
  return Object.hasOwn(checks, value.kind) && checks[value.kind]?.(value) === true
}
