// What happens to each log call before its line is written: redaction, limits of equal warnings, errors as plain members.
import { format } from 'node:util'
import type { LogFn, Logger } from 'pino'
import type { Redactor } from '../secrets/redaction.ts'
import { DEBUG_LEVEL, WARN_LEVEL } from './levels.ts'
import { createWarningLimiter } from './warning-limiter.ts'

const REPORT_INTERVAL_MS = 1000

/**
 * Warnings that are each about another request and never suppressed: every failed upstream call has
 * its line (decisions.md 59).
 */
const UNLIMITED_EVENTS: ReadonlySet<unknown> = new Set(['upstream_call_failed'])

/** Redacts each log call and limits equal warnings. pino calls it only for enabled levels. */
export function createLogMethod(
  { isProduction, redactor }: { isProduction: boolean; redactor: Redactor | undefined },
  log: () => Logger
) {
  const limiter = createWarningLimiter()
  let isReportScheduled = false

  function reportSuppressed(): void {
    isReportScheduled = false
    for (const { text, count } of limiter.takeSuppressed(performance.now())) {
      log().info({ event: 'log_lines_suppressed', count }, `Suppressed ${count} equal lines: ${text}`)
    }
  }

  return function logMethod(this: Logger, parameters: Parameters<LogFn>, method: LogFn, level: number): void {
    let { fields, text } = readParameters(parameters)
    if (redactor !== undefined) text = redactor.redactText(text)
    const isLimited = level === WARN_LEVEL && !UNLIMITED_EVENTS.has(fields?.event)
    if (isLimited && !limiter.admit(text, performance.now())) {
      if (!isReportScheduled) setTimeout(reportSuppressed, REPORT_INTERVAL_MS).unref()
      isReportScheduled = true
      return
    }
    if (fields === undefined) {
      method.call(this, text)
      return
    }
    if (isProduction && level <= DEBUG_LEVEL && ('payload' in fields || 'response' in fields)) {
      const { payload: _payload, response: _response, ...kept } = fields
      fields = kept
      text = `${text} (payload omitted in PROD)`
    }
    method.call(this, writeFields(fields, redactor), text)
  }
}

function readParameters(parameters: readonly unknown[]): { fields: Record<string, unknown> | undefined; text: string } {
  const [first, ...rest] = parameters
  if (typeof first === 'string') return { fields: undefined, text: rest.length === 0 ? first : format(first, ...rest) }
  const text = rest.length === 0 ? '' : rest.length === 1 ? String(rest[0]) : format(...rest)
  if (first instanceof Error) return { fields: { err: first }, text: text === '' ? first.message : text }
  return { fields: typeof first === 'object' && first !== null ? (first as Record<string, unknown>) : {}, text }
}

function writeFields(fields: Record<string, unknown>, redactor: Redactor | undefined): object {
  // Most lines have no error: one copy of their fields is enough, which the redaction makes.
  if (fields.err === undefined) return redactor === undefined ? fields : (redactor.redactValue(fields) as object)
  const { err, ...others } = fields
  const written = redactor === undefined ? others : (redactor.redactValue(others) as object)
  const error = writeError(err)
  return { ...written, err: redactor === undefined ? error : redactor.redactValue(error) }
}

/** The members of an error that a line shows. All others are omitted: they may contain requests, headers or credentials. */
function writeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { code } = error as { code?: unknown }
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' && { code }),
    stack: error.stack,
    ...(error.cause instanceof Error && { cause: { type: error.cause.name, message: error.cause.message } })
  }
}
