// Repeats a chat without the option for parallel calls when an upstream refuses the option, and no
// longer sends it from then on (decisions.md 50).

import { joinBytes } from '../../../shared/bytes.ts'
import type { Logger } from '../../../shared/logging.ts'
import { PARALLEL_TOOL_CALLS_MEMBER } from '../../protocols/native/constants.ts'
import { namesParallelCalls, withoutParallelCalls } from '../../protocols/native/parallel-calls.ts'
import type { BodyFallback } from '../http/hooks.ts'

const REFUSAL_STATUSES: readonly (number | null)[] = [400, 422]

/** One per upstream and worker. */
export function createParallelOptionFallback({ log }: { log: Logger }): BodyFallback {
  let isRefused = false
  return {
    prepare: body => (isRefused ? (withoutParallelCalls(joinBytes(body)) ?? body) : body),
    revise(body, { status, responseBody }) {
      if (!REFUSAL_STATUSES.includes(status) || responseBody === undefined) return undefined
      return namesParallelCalls(responseBody) ? withoutParallelCalls(joinBytes(body)) : undefined
    },
    confirm() {
      // A refusal may also quote a client's text that names the option; a success without the option shows that it was the cause.
      if (isRefused) return
      isRefused = true
      log.warn(
        { event: 'upstream_option_refused', option: PARALLEL_TOOL_CALLS_MEMBER },
        'The upstream refuses an option; this worker no longer sends it'
      )
    }
  }
}
