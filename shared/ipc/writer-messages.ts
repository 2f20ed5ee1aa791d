// The messages between the supervisor and the writer of the traffic log. Records do not pass here: workers send them over a socket.
import { z } from 'zod'
import {
  type ContentOf,
  type FieldsOf,
  hasFields,
  hasNoFields,
  hasNonce,
  hasRequestId,
  type MessageOf,
  readMessage,
  reportChecks
} from './checks.ts'
import { FAILURE_DETAIL_MAX } from './messages.ts'
import { count } from './schemas.ts'

const toWriterChecks = {
  /** Acknowledged by `writer-ready` or `writer-failed`. */
  'configure-writer': hasFields({
    /** As `writeWriterSettings` returns them: secrets are plain texts. */
    settings: z.record(z.string(), z.unknown()),
    /** Where the writer listens: a path in a directory that only this user can enter. */
    socketPath: z.string(),
    isQuiet: z.boolean(),
    hasMetrics: z.boolean()
  }),
  /** Store everything, close the sinks, then exit. Acknowledged by the exit of the process. */
  'close-writer': hasNoFields,
  'reopen-log': hasNoFields,
  /** Acknowledged by `pong`. */
  ping: hasNonce,
  /** Asks for what changed in the metrics; acknowledged by `metrics-collected`, after the `metrics-delta`. */
  'metrics-collect': hasRequestId
}

const fromWriterChecks = {
  'writer-online': hasFields({ pid: count }),
  'writer-ready': hasNoFields,
  /**
   * A sink is unusable until the operator changes something; the process exits after this message.
   */
  'writer-failed': hasFields({
    reason: z.enum(['configuration', 'internal']),
    detail: z.string().max(FAILURE_DETAIL_MAX)
  }),
  ...reportChecks
}

export type ToWriterFields = FieldsOf<typeof toWriterChecks>
export type FromWriterFields = FieldsOf<typeof fromWriterChecks>
export type ToWriterContent = ContentOf<ToWriterFields>
export type FromWriterContent = ContentOf<FromWriterFields>
export type ToWriterMessage = MessageOf<ToWriterFields>
export type FromWriterMessage = MessageOf<FromWriterFields>

/** A message of the supervisor to the writer, or undefined for anything else. */
export function readToWriterMessage(value: unknown): ToWriterMessage | undefined {
  return readMessage(value, toWriterChecks)
}

/** A message of the writer, or undefined for anything else. */
export function readFromWriterMessage(value: unknown): FromWriterMessage | undefined {
  return readMessage(value, fromWriterChecks)
}
