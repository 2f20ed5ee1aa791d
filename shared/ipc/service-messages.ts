// The messages between the supervisor and a service process: the writer of the traffic log, the store of responses, or the process of shared
// limits. What workers send to such a process does not pass here: it goes over the socket of the process.
import { z } from 'zod'
import { counterAnswers, counterQuestions } from '../limits/shared-counters.ts'
import { SINK_NAMES } from '../traffic/sinks.ts'
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

const toServiceChecks = {
  /** Acknowledged by `service-ready` or `service-failed`. */
  'configure-service': hasFields({
    /** Those that the service may know, as `writeTransferredSettings` returns them: secrets are plain texts. */
    settings: z.record(z.string(), z.unknown()),
    /** Where the process listens: a path in a directory that only this user can enter. */
    socketPath: z.string(),
    /** The same for every process of one start of the gateway, and for no other start on any host. */
    gatewayId: z.string(),
    isQuiet: z.boolean(),
    hasMetrics: z.boolean()
  }),
  /** Finish and close everything, then exit. Acknowledged by `service-closed` and the exit of the process. */
  'close-service': hasNoFields,
  'reopen-log': hasNoFields,
  /** Acknowledged by `pong`. */
  ping: hasNonce,
  /** Asks for what changed in the metrics; acknowledged by `metrics-collected`, after the `metrics-delta`. */
  'metrics-collect': hasRequestId,
  /** Questions about counters that hosts share; acknowledged by `counters-reply` (keys.md 3). */
  'counters-exchange': hasFields({ requestId: count, exchangeId: z.string(), questions: counterQuestions })
}

const fromServiceChecks = {
  'service-online': hasFields({ pid: count }),
  'service-ready': hasNoFields,
  /**
   * The service is unusable until the operator changes something; the process exits after this message.
   */
  'service-failed': hasFields({
    reason: z.enum(['configuration', 'internal']),
    detail: z.string().max(FAILURE_DETAIL_MAX)
  }),
  /** Everything is closed; the exit follows. */
  'service-closed': hasNoFields,
  /** `null`: the place of the counters gave no answer in time, or this process has none. */
  'counters-reply': hasFields({ requestId: count, answers: counterAnswers.nullable() }),
  /** How many traffic records for this sink only the writer has; sent before a worker drops its copies, and whenever the number changes. */
  'records-held': hasFields({ sink: z.enum(SINK_NAMES), count }),
  ...reportChecks
}

export type ToServiceFields = FieldsOf<typeof toServiceChecks>
export type FromServiceFields = FieldsOf<typeof fromServiceChecks>
export type ToServiceContent = ContentOf<ToServiceFields>
export type FromServiceContent = ContentOf<FromServiceFields>
export type ToServiceMessage = MessageOf<ToServiceFields>
export type FromServiceMessage = MessageOf<FromServiceFields>

/** A message of the supervisor to a service process, or undefined for anything else. */
export function readToServiceMessage(value: unknown): ToServiceMessage | undefined {
  return readMessage(value, toServiceChecks)
}

/** A message of a service process, or undefined for anything else. */
export function readFromServiceMessage(value: unknown): FromServiceMessage | undefined {
  return readMessage(value, fromServiceChecks)
}
