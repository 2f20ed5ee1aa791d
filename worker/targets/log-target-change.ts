// The log lines of a target that begins to rest or is back: for the operator, who sees there which deployment fails.

import type { Logger } from '../../shared/logging.ts'
import type { TargetChange } from './target-pool.ts'

/** Writes one line, in the worker that found the change. */
export function logTargetChange(log: Logger, { profileId, upstreamModel, restMs }: TargetChange): void {
  const fields = { profile_id: profileId, upstream_model: upstreamModel }
  if (restMs === undefined) {
    log.info({ event: 'target_restored', ...fields }, 'A deployment takes requests again')
    return
  }
  log.warn(
    { event: 'target_rested', ...fields, rest_ms: restMs },
    'A deployment failed and gets no requests for a while'
  )
}
