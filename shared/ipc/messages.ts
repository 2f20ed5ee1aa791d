// The messages between the supervisor and its workers: one table per direction, every kind with the check of its fields.
// Frequent kinds have hand-written checks; rare ones are checked by a schema.
import { z } from 'zod'
import { keySet } from '../keys/key-set.ts'
import { keyUsage } from '../limits/leases.ts'
import { METRICS_FORMATS, type MetricsFormat } from '../metrics/format.ts'
import { priceList } from '../prices.ts'
import { isTargetKey, isTargetRest } from '../profile/target-rests.ts'
import {
  type ContentOf,
  type FieldsOf,
  hasFields,
  hasNoFields,
  hasNonce,
  hasRequestId,
  isCount,
  type MessageOf,
  readMessage,
  reportChecks
} from './checks.ts'
import { hasGrant, hasLeaseQuestion, hasRefusal, hasSettlements } from './limits-checks.ts'
import {
  catalogFailure,
  catalogModels,
  catalogSnapshot,
  count,
  listenOptions,
  port,
  profileSet,
  providerHealths,
  revisions,
  runningRequests,
  targetRest,
  tlsPair
} from './schemas.ts'

export { type ContentOf, createMessage, type MessageOf } from './checks.ts'
export type { ListenOptions, TlsPair } from './schemas.ts'

/** Longest detail of a failed start, in characters: one line for the operator. */
export const FAILURE_DETAIL_MAX = 512

const hasSlotKey = (message: object): message is { readonly requestId: number; readonly key: string } =>
  hasRequestId(message) && 'key' in message && typeof message.key === 'string'

const hasMetricsFormat = (message: object): message is { readonly requestId: number; readonly format: MetricsFormat } =>
  hasRequestId(message) && 'format' in message && METRICS_FORMATS.some(format => format === message.format)

const hasMetricsText = (message: object): message is { readonly requestId: number; readonly body: Uint8Array } =>
  hasRequestId(message) && 'body' in message && message.body instanceof Uint8Array

const hasTargetRest = (
  message: object
): message is { readonly target: string; readonly restMs: number; readonly round: number } => isTargetRest(message)

const hasTarget = (message: object): message is { readonly target: string } =>
  'target' in message && isTargetKey(message.target)

const hasTargetTrial = (message: object): message is { readonly requestId: number; readonly target: string } =>
  hasRequestId(message) && hasTarget(message)

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
    /** Of a prices file, and the currency of all prices; null where no model has a price. */
    prices: priceList.nullable(),
    /** The credentials of a profile file in plain text, by profile id. */
    credentials: z.record(z.string(), z.string()),
    /** The keys in force; null without a keys file. */
    keys: keySet.nullable(),
    /** Base64. */
    fingerprintKey: z.string(),
    /** What summaries of conversations are sealed with. */
    compactionKey: z.strictObject({
      /** Base64. */
      key: z.string(),
      /** The same after a restart. */
      isLasting: z.boolean()
    }),
    listen: listenOptions,
    /** Only warnings and errors go to stdout. */
    isQuiet: z.boolean(),
    catalog: catalogSnapshot.nullable(),
    /** What the workers have seen of the profiles so far. */
    providerHealth: providerHealths,
    /** Every worker of the host has listened once: true for a respawned worker. */
    isHostStarted: z.boolean(),
    /** The gateway was asked to stop and still serves: true for a worker that is respawned then. */
    isLeaving: z.boolean(),
    /** Targets of aliases that rest now. */
    rests: z.array(targetRest),
    /** Where the writer of traffic records listens; null where there is none. */
    writerSocket: z.string().nullable(),
    /** Where the store of responses listens; null where there is none. */
    storeSocket: z.string().nullable()
  }),
  /** Every worker of the host listens, which readiness requires. */
  'host-started': hasNoFields,
  /** Report not ready, and serve on: the gateway stops soon. */
  'readiness-withdrawn': hasNoFields,
  /** Report not ready and refuse new model requests. Acknowledged by `drain-acknowledged`. */
  drain: hasNoFields,
  /** Stop accepting connections. Acknowledged by `listener-closed`. */
  'close-listener': hasNoFields,
  /** Send the listening sockets to the supervisor: another worker gets them. Acknowledged by `listener-shared`. */
  'share-listener': hasNoFields,
  /** Comes with a listening socket of the worker that this one replaces, before the configuration. */
  'listener-inherited': hasNoFields,
  /** Another worker has taken the place of this one: stop accepting, and close each connection behind its next response. Ends with `drained`. */
  retire: hasNoFields,
  /** End the requests that still run. */
  cancel: hasNoFields,
  /** Close everything that is owned, then exit. Acknowledged by `closed` and the exit of the process. */
  close: hasNoFields,
  'reopen-log': hasNoFields,
  /** The keys file was read again: these keys are in force instead of the earlier ones. */
  'keys-changed': hasFields({ keys: keySet }),
  /** The certificate was renewed: new connections get this one. */
  'certificate-changed': hasFields({ tls: tlsPair }),
  /** Acknowledged by `pong`. */
  ping: hasNonce,
  /** Asks this worker to start a refresh of a profile's models of its own (warm-up). */
  'catalog-refresh-wanted': hasFields({ profileId: z.string() }),
  /** The worker that asked fetches now and reports `catalog-fetched` or `catalog-failed` under the same id. */
  'catalog-lease': hasRequestId,
  /** The requested refresh succeeded, or failed and the earlier snapshot stays. */
  'catalog-result': hasFields({ requestId: count, snapshot: catalogSnapshot }),
  /** The requested refresh failed, in this worker or in another one, and the models of the profile are not known. */
  'catalog-unavailable': hasFields({ requestId: count, failure: catalogFailure }),
  'catalog-published': hasFields({ snapshot: catalogSnapshot }),
  /** A target of an alias rests from now on, or longer; sent to all workers, the one that reported it included. */
  'target-rested': hasTargetRest,
  /** A target is back. */
  'target-restored': hasTarget,
  /** The worker that asked sends the one trial of a target whose rest is over. */
  'target-trial-granted': hasRequestId,
  'target-trial-refused': hasRequestId,
  /** What all workers have seen of the profiles. */
  'provider-health-published': hasFields({ providers: providerHealths }),
  'slot-granted': hasRequestId,
  'slot-refused': hasRequestId,
  /** Asks for what changed in the worker's metrics; acknowledged by `metrics-collected`, after the `metrics-delta`. */
  'metrics-collect': hasRequestId,
  /** The text of a scrape, as bytes. */
  'metrics-text': hasMetricsText,
  /** Asks which model requests run in the worker; acknowledged by `running-collected`. */
  'running-collect': hasRequestId,
  /** The requests that run in all workers. */
  'running-listed': hasFields({ requestId: count, requests: runningRequests, total: count, silentWorkers: count }),
  /** A lease of the counters of a key. */
  'limits-granted': hasGrant,
  'limits-refused': hasRefusal,
  /** The counters cannot be read, and the operator wants requests refused then. */
  'limits-unavailable': hasRequestId,
  /** What the keys with limits use now, over all workers. */
  'keys-usage-listed': hasFields({ requestId: count, usages: z.array(keyUsage) })
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
  /** Comes with one of as many listening sockets; with none where the count is 0. */
  'listener-shared': hasFields({ count }),
  'drain-progress': hasActiveRequests,
  /** No request runs any more. */
  drained: hasNoFields,
  closed: hasNoFields,
  ...reportChecks,
  'catalog-refresh': hasFields({ requestId: count, profileId: z.string(), force: z.boolean() }),
  /** Ends a lease with what was discovered. */
  'catalog-fetched': hasFields({ requestId: count, models: catalogModels }),
  /** Ends a lease whose discovery failed. */
  'catalog-failed': hasFields({ requestId: count, failure: catalogFailure }),
  /** A target failed so that it rests; ends the trial of this worker. */
  'target-rest': hasTargetRest,
  /** A resting target has taken a request; ends the trial of this worker. */
  'target-restore': hasTarget,
  /** Asks for the trial of a target whose rest is over. */
  'target-trial': hasTargetTrial,
  /** The trial ended without a result, or nothing waits for it any more. */
  'target-trial-ended': hasTarget,
  /** How calls to providers ended since the last report. */
  'provider-health-report': hasFields({ reports: providerHealths }),
  'slot-acquire': hasSlotKey,
  /** The caller ended its wait; a grant that is already sent is released. */
  'slot-cancel': hasRequestId,
  'slot-release': hasRequestId,
  /** Asks for the metrics of all workers, for a scrape. */
  'metrics-scrape': hasMetricsFormat,
  /** Asks for the model requests that run in all workers. */
  'running-list': hasRequestId,
  'running-collected': hasFields({ requestId: count, requests: runningRequests, total: count }),
  /** Asks for at least these amounts of the counters of a key. */
  'limits-lease': hasLeaseQuestion,
  /** The caller ended its wait; a grant that is already sent is given back. */
  'limits-lease-cancelled': hasRequestId,
  /** Gives back what requests and old leases have not used, and says what requests cost. */
  'limits-settle': hasSettlements,
  'keys-usage': hasRequestId
}

/** Fields by kind. */
export type SupervisorMessageFields = FieldsOf<typeof supervisorChecks>
export type WorkerMessageFields = FieldsOf<typeof workerChecks>

export type SupervisorMessageContent = ContentOf<SupervisorMessageFields>
export type WorkerMessageContent = ContentOf<WorkerMessageFields>

export type SupervisorMessage = MessageOf<SupervisorMessageFields>
export type WorkerMessage = MessageOf<WorkerMessageFields>
export type ConfigureMessage = MessageOf<SupervisorMessageFields, 'configure'>

/** A message from the supervisor, or undefined when the value is of no known kind or a field does not fit its kind. */
export function readSupervisorMessage(value: unknown): SupervisorMessage | undefined {
  return readMessage(value, supervisorChecks)
}

/** A message from a worker, or undefined when the value is of no known kind or a field does not fit its kind. */
export function readWorkerMessage(value: unknown): WorkerMessage | undefined {
  return readMessage(value, workerChecks)
}
