// The audit of every action of the admin key: a line in the runtime log, and a row in the
// relational store where there is one (operations.md 9.7).
import { createHash } from 'node:crypto'
import { canonicalJson, type JsonValue } from '../../shared/json.ts'
import type { Logger } from '../../shared/logging.ts'
import type { Settings } from '../../shared/settings.ts'
import type { AuditEntry } from '../../shared/traffic/messages.ts'
import { writeRecordTime } from '../../shared/traffic/record.ts'
import { planSinks } from '../../shared/traffic/sinks.ts'
import type { Fingerprint } from '../http/request/fingerprint.ts'
import type { RequestContext } from '../http/request-context.ts'
import { toGatewayError } from '../normalized/index.ts'
import type { WriterConnection } from '../traffic/writer-connection.ts'

export type AuditAction =
  | 'list'
  | 'tail'
  | 'get'
  | 'payload_read'
  | 'export'
  | 'purge'
  | 'replay'
  | 'redact'
  | 'sums'
  | 'latencies'
  | 'debug_translate'
  | 'thread_list'
  | 'thread_read'

export interface Audited {
  readonly action: AuditAction
  /** Id of a record, or the digest of a filter. */
  readonly target?: string | undefined
}

/** What an action found or changed. */
export interface AuditResult {
  readonly rows?: number
  /** Code of what ended a response that had begun: the action itself does not fail then. */
  readonly failure?: string | undefined
}

export interface Audit {
  /**
   * Runs the action and writes its entry when it has ended, failed or not. `work` sets the members
   * of the result that it is given. Rejects with the error of `work`.
   */
  run<Result>(
    context: RequestContext,
    audited: Audited,
    work: (result: { -readonly [Name in keyof AuditResult]: AuditResult[Name] }) => Promise<Result>
  ): Promise<Result>
}

export interface AuditDependencies {
  readonly settings: Settings
  readonly log: Logger
  readonly fingerprint: Fingerprint
  readonly connection: WriterConnection | undefined
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
}

/** The store is not waited for: the log has the entry even where the store fails. */
export function createAudit({ settings, log, fingerprint, connection, nowMs }: AuditDependencies): Audit {
  const { adminApiKey } = settings
  const adminKeyHash = adminApiKey === undefined ? null : fingerprint(adminApiKey.reveal())
  const hasStore = planSinks(settings).relational !== undefined

  function write(entry: AuditEntry): void {
    log.info({ event: 'admin_audit', ...entry }, `Admin action ${entry.action}: ${entry.outcome}`)
    if (connection === undefined || !hasStore) return
    void connection.ask('audit', entry).then(result => {
      if (result.ok) return
      const { request_id, action } = entry
      const lost = { event: 'admin_audit_not_stored', request_id, action, failure: result.failure }
      log.warn(lost, 'An entry of the audit is only in this log')
    })
  }

  return {
    async run(context, { action, target }, work) {
      // A connection that is closed has no address any more.
      const clientIpHash = context.clientIpHash ?? null
      const result: { -readonly [Name in keyof AuditResult]: AuditResult[Name] } = {}
      let outcome = 'ok'
      try {
        const returned = await work(result)
        outcome = result.failure ?? outcome
        return returned
      } catch (error) {
        outcome = toGatewayError(error).code
        throw error
      } finally {
        write({
          created_at: writeRecordTime(nowMs()),
          request_id: context.requestId,
          action,
          target: target ?? null,
          outcome,
          row_count: result.rows ?? null,
          admin_key_hash: adminKeyHash,
          client_ip_hash: clientIpHash
        })
      }
    }
  }
}

/** Names a filter without its values, which may be secret: equal filters have equal digests. */
export function digestFilter(filter: object): string {
  const text = canonicalJson(filter as JsonValue, { keepNulls: true })
  return `sha256:${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
}
