// What all message tables between processes share: the version, the checks of fields, and the types that follow from a table.
import { z } from 'zod'
import { isMetricsDelta, type MetricsDelta } from '../metrics/delta.ts'

/** Raised when a message changes its meaning. Both ends come from one build, so a difference is a mistake, not a negotiation. */
export const IPC_VERSION = 1

export type Check<Fields extends object> = (message: object) => message is Fields

/** For rare kinds: a schema checks the fields. */
export function hasFields<Fields extends z.ZodRawShape>(fields: Fields): Check<z.infer<z.ZodObject<Fields>>> {
  const schema = z.object(fields)
  return (message): message is z.infer<typeof schema> => schema.safeParse(message).success
}

/** For kinds without fields. */
export const hasNoFields: Check<object> = (message): message is object => typeof message === 'object'

export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

export const hasNonce = (message: object): message is { readonly nonce: number } =>
  'nonce' in message && isCount(message.nonce)

export const hasRequestId = (message: object): message is { readonly requestId: number } =>
  'requestId' in message && isCount(message.requestId)

export const hasMetricsDelta = (message: object): message is { readonly delta: MetricsDelta } =>
  'delta' in message && isMetricsDelta(message.delta)

/** The kinds that every child process of the supervisor may send besides its own. */
export const reportChecks = {
  /** Acknowledges `ping`. */
  pong: hasNonce,
  /** What changed in the process's metrics; only while metrics are on. */
  'metrics-delta': hasMetricsDelta,
  'metrics-collected': hasRequestId
}

export type FieldsOf<Checks> = { [Kind in keyof Checks]: Checks[Kind] extends Check<infer Fields> ? Fields : never }

/** A message as the sender writes it; `createMessage` adds the version. */
export type ContentOf<FieldsByKind, Kind extends keyof FieldsByKind = keyof FieldsByKind> = {
  [One in Kind]: { readonly kind: One } & FieldsByKind[One]
}[Kind]
export type MessageOf<FieldsByKind, Kind extends keyof FieldsByKind = keyof FieldsByKind> = {
  [One in Kind]: { readonly v: typeof IPC_VERSION; readonly kind: One } & FieldsByKind[One]
}[Kind]
/** Puts the version on a message. */
export function createMessage<Content extends { readonly kind: string }>(
  content: Content
): Content & { readonly v: typeof IPC_VERSION } {
  return { v: IPC_VERSION, ...content }
}

/** The message, or undefined when the value is of no known kind or a field does not fit its kind. */
export function readMessage<Checks extends Readonly<Record<string, Check<object>>>>(
  value: unknown,
  checks: Checks
): MessageOf<FieldsOf<Checks>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!('v' in value) || value.v !== IPC_VERSION || !('kind' in value) || typeof value.kind !== 'string')
    return undefined
  const isKnown = Object.hasOwn(checks, value.kind) && checks[value.kind]?.(value) === true
  return isKnown ? (value as MessageOf<FieldsOf<Checks>>) : undefined
}
