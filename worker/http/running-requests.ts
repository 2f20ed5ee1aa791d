// What the admin API shows of the model requests that run in this worker: read from their contexts
// when it is asked (field-lessons.md L17).
import { keepOldest, type RunningRequest, type RunningRequests } from '../../shared/running-request.ts'
import type { DrainGate } from './drain-gate.ts'
import type { RequestContext } from './request-context.ts'

/** Names and ids that clients choose are cut here, as in traffic records. */
const TEXT_CHARACTERS_MAX = 512

export interface RunningRequestsOptions {
  readonly drainGate: Pick<DrainGate, 'listActive'>
  readonly workerId: number
  /** Applied to everything that a client has written. */
  readonly redactText: (text: string) => string
}

/** Lists the oldest model requests of this worker whose response is not complete. */
export function listRunningRequests({ drainGate, workerId, redactText }: RunningRequestsOptions): RunningRequests {
  const active = drainGate.listActive()
  const show = (text: string | undefined) =>
    text === undefined ? null : redactText(text).slice(0, TEXT_CHARACTERS_MAX).toWellFormed()

  function describe(context: RequestContext): RunningRequest {
    const { facts } = context
    const key = context.readKey()
    const requested = facts.model === undefined ? context.readRefusedModel() : facts.requestedModel
    return {
      requestId: context.requestId,
      traceId: show(context.traceId) ?? '',
      workerId,
      protocol: context.protocol,
      route: context.route,
      modelRequested: show(requested),
      modelEffective: show(facts.upstreamModel),
      provider: facts.providerKind ?? null,
      startedAtMs: context.startedAtEpochMs,
      isResponding: context.hasFirstByte,
      isStreaming: context.isStreaming,
      caller: show(context.caller.name),
      apiKeyName: key.name ?? null,
      apiKeyHash: key.hash ?? null
    }
  }

  return { requests: keepOldest(active).map(describe), total: active.length }
}
