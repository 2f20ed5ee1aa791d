// Tells the rests of targets to all workers, and lets one worker at a time try a target whose rest is over (decisions.md 116).

import type { MessageSender, WorkerMessageHandlers } from '../../shared/ipc/handlers.ts'
import type { SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import { createRestBoard, type RestBoard } from '../../shared/profile/rest-board.ts'
import { listTargetKeys } from '../../shared/profile/target-rests.ts'

export type TargetMessageKind = 'target-rest' | 'target-restore' | 'target-trial' | 'target-trial-ended'

export interface TargetRests extends Pick<RestBoard, 'list' | 'releaseOwner'> {
  readonly handlers: WorkerMessageHandlers<TargetMessageKind, MessageSender>
}

export interface TargetRestsDependencies {
  readonly send: (owner: number, message: SupervisorMessageContent) => void
  readonly broadcast: (message: SupervisorMessageContent) => void
  /** Milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
}

export function createTargetRests(
  dependencies: TargetRestsDependencies,
  profiles: Pick<ProfileSet, 'profiles'>
): TargetRests {
  const { send, broadcast, nowMs } = dependencies
  const board = createRestBoard(
    {
      nowMs,
      onRested: rest => broadcast({ kind: 'target-rested', ...rest }),
      onRestored: target => broadcast({ kind: 'target-restored', target })
    },
    listTargetKeys(profiles)
  )
  return {
    list: board.list,
    releaseOwner: board.releaseOwner,
    handlers: {
      'target-rest': ({ target, restMs, round }, { owner }) => board.rest(owner, { target, restMs, round }),
      'target-restore': ({ target }, { owner }) => board.restore(owner, target),
      'target-trial': ({ requestId, target }, { owner }) =>
        send(owner, {
          kind: board.beginTrial(owner, target) ? 'target-trial-granted' : 'target-trial-refused',
          requestId
        }),
      'target-trial-ended': ({ target }, { owner }) => board.endTrial(owner, target)
    }
  }
}
