// How a response of an external provider begins and ends in the normalized form.

import type { EventAssembler, FinishReason, NormalizedUsage, ResponseIdentity } from '../../normalized/index.ts'

/** Begins a response with the model that its first payload names, if it names one. */
export function startResponse(
  assembler: EventAssembler,
  model: unknown,
  { identity, usage }: { identity: ResponseIdentity | undefined; usage?: NormalizedUsage | null }
): void {
  assembler.start({
    providerModel: typeof model === 'string' && model !== '' ? model : null,
    metadata: {},
    ...(identity && { identity }),
    ...(usage && { usage })
  })
}

/**
 * The reason of a response. Agents run tools only for the reason of calls, so the calls of the response decide, not the word of the
 * provider (field-lessons.md A6).
 * @param onCallMissing called when the provider's word announces calls and the response has none.
 */
export function decideReason(
  reason: FinishReason | undefined,
  callCount: number,
  onCallMissing: () => void
): FinishReason {
  if (reason === 'length' || reason === 'content-filter') return reason
  if (callCount > 0) return 'tool-calls'
  if (reason === 'tool-calls') onCallMissing()
  return 'stop'
}
