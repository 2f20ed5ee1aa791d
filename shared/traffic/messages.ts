// The lines between a worker and the writer: records with their acknowledgements, and queries with
// their results. Both ends come from one build, so lines are checked only against broken
// connections and foreign programs.
import type { RecordBatch } from './batch.ts'
import type {
  Estimate,
  Latencies,
  PageRequest,
  PayloadField,
  StoreStatus,
  SumsRequest,
  SumsRow,
  TrafficFilter,
  TrafficPayload,
  TrafficSummary
} from './query.ts'
import type { RetentionCutoffs } from './retention.ts'

/** Raised when a line changes its meaning. */
export const TRAFFIC_PROTOCOL_VERSION = 4

/** Longest line in bytes: a batch of records with captured bodies. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024

/** Deletes one batch, the oldest records first. */
export interface PurgeRequest extends RetentionCutoffs {
  readonly batchSize: number
  /** Where the batch before ended, so that kept records are not read again for each batch; undefined for the first one. */
  readonly from?: string | undefined
}

export interface PurgeResult {
  readonly deleted: number
  /** The time of the last deleted record; undefined when none was deleted. */
  readonly until?: string | undefined
  /** The batch found fewer records than it may delete. */
  readonly isComplete: boolean
}

export interface RedactRequest {
  readonly id: string
  readonly fields: readonly PayloadField[]
  /** As the admin API shows times. */
  readonly redactedAt: string
}

/** `not_stored`: the mirror does not have the record now; one that still waits for the mirror is redacted when it arrives there. */
export type MirrorOutcome = 'redacted' | 'not_stored' | 'failed'

export interface RedactResult {
  readonly summary: TrafficSummary
  /** Which columns are empty now. */
  readonly emptied: Readonly<Record<PayloadField, boolean>>
  /** The outcome at each further sink that can be changed. */
  readonly mirrors: Readonly<Record<string, MirrorOutcome>>
}

/** One line of the audit (operations.md 9.7). */
export interface AuditEntry {
  readonly created_at: string
  readonly request_id: string
  readonly action: string
  readonly target: string | null
  readonly outcome: string
  readonly row_count: number | null
  readonly admin_key_hash: string | null
  readonly client_ip_hash: string | null
}

export interface SinkHealth {
  readonly name: string
  readonly isAvailable: boolean
  readonly queueDepth: number
  readonly spillBytes: number
  readonly written: number
  readonly dropped: number
}

export interface WriterHealth {
  readonly sinks: readonly SinkHealth[]
  /** Null without a relational store, and while it does not answer. */
  readonly store: StoreStatus | null
}

/** Every question with its answer. */
export interface TrafficQuestions {
  list: { readonly question: PageRequest; readonly answer: TrafficSummary[] }
  estimate: { readonly question: { readonly filter: TrafficFilter }; readonly answer: Estimate }
  latencies: { readonly question: { readonly filter: TrafficFilter }; readonly answer: Latencies }
  /** Fewer records than a full page where their content is large; at least one unless none is left. */
  'list-whole': { readonly question: PageRequest; readonly answer: Array<TrafficSummary & TrafficPayload> }
  /** Stores what still waits in memory, for a bounded time, so that the next question finds it. */
  settle: { readonly question: Readonly<Record<string, never>>; readonly answer: null }
  find: { readonly question: { readonly id: string }; readonly answer: TrafficSummary | null }
  'find-payload': { readonly question: { readonly id: string }; readonly answer: TrafficPayload | null }
  'count-expired': { readonly question: RetentionCutoffs; readonly answer: number }
  sums: { readonly question: SumsRequest; readonly answer: SumsRow[] }
  purge: { readonly question: PurgeRequest; readonly answer: PurgeResult }
  redact: { readonly question: RedactRequest; readonly answer: RedactResult | null }
  audit: { readonly question: AuditEntry; readonly answer: null }
  health: { readonly question: Readonly<Record<string, never>>; readonly answer: WriterHealth }
}

export type QuestionName = keyof TrafficQuestions
export type Question<Name extends QuestionName = QuestionName> = TrafficQuestions[Name]['question']
export type Answer<Name extends QuestionName = QuestionName> = TrafficQuestions[Name]['answer']

/** Why a question has no answer. */
export type QuestionFailure =
  | 'query_store_not_configured'
  | 'query_store_unavailable'
  | 'too_many_questions'
  | 'unknown_question'

export type WorkerLine =
  | { readonly kind: 'hello'; readonly version: number; readonly workerId: number }
  | RecordBatch
  | {
      readonly kind: 'ask'
      readonly requestId: number
      readonly name: QuestionName
      readonly question: Question
    }
  /**
   * The worker closes and waits for its acknowledgements: store everything now, without waiting for
   * further records.
   */
  | { readonly kind: 'flush' }
  /** Send this worker the summary of every new record from now on. */
  | { readonly kind: 'follow' }
  | { readonly kind: 'unfollow' }

export type WriterLine =
  | { readonly kind: 'acknowledged'; readonly sequence: number }
  | { readonly kind: 'answer'; readonly requestId: number; readonly answer: Answer }
  | { readonly kind: 'failed'; readonly requestId: number; readonly failure: QuestionFailure }
  /** New records for a worker that follows. `skipped` more were left out because the worker reads too slowly. */
  | { readonly kind: 'stored'; readonly summaries: readonly TrafficSummary[]; readonly skipped: number }

/** Writes a line, line feed included. */
export function writeLine(line: WorkerLine | WriterLine): string {
  return `${JSON.stringify(line)}\n`
}

const WORKER_KINDS: ReadonlySet<unknown> = new Set<WorkerLine['kind']>([
  'ask',
  'batch',
  'flush',
  'follow',
  'hello',
  'unfollow'
])
const WRITER_KINDS: ReadonlySet<unknown> = new Set<WriterLine['kind']>(['acknowledged', 'answer', 'failed', 'stored'])

/** Reads a line of a worker; undefined for anything else. */
export function readWorkerLine(line: Buffer): WorkerLine | undefined {
  return readKind(line, WORKER_KINDS) as WorkerLine | undefined
}

/** Reads a line of the writer; undefined for anything else. */
export function readWriterLine(line: Buffer): WriterLine | undefined {
  return readKind(line, WRITER_KINDS) as WriterLine | undefined
}

function readKind(line: Buffer, kinds: ReadonlySet<unknown>): object | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    return typeof value === 'object' && value !== null && 'kind' in value && kinds.has(value.kind) ? value : undefined
  } catch {
    return undefined
  }
}
