// A control channel for one process without a supervisor: local pools, boards and records handle the messages that the supervisor would.
import { type CatalogComposition, createDiscoveredComposition } from '../../shared/catalog/catalog-composition.ts'
import { createCatalogRecord } from '../../shared/catalog/catalog-record.ts'
import { writeCatalogReply } from '../../shared/ipc/catalog-reply.ts'
import { handleMessage, type WorkerMessageHandlers } from '../../shared/ipc/handlers.ts'
import { type ContentOf, createMessage, type SupervisorMessageFields } from '../../shared/ipc/messages.ts'
import {
  createSlotPool,
  hostSlotLimits,
  isHostSlotKey,
  type SlotSettings,
  slotLimitsFrom
} from '../../shared/model-slots.ts'
import { NATIVE_PROFILE_ID, NATIVE_PROVIDER_KIND } from '../../shared/profile/native-profile.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'
import { createRestBoard } from '../../shared/profile/rest-board.ts'
import { listTargetKeys } from '../../shared/profile/target-rests.ts'
import { createHealthBoard } from '../../shared/provider-health.ts'
import {
  type ChannelKind,
  type ChannelRequestKind,
  type ControlChannel,
  createControlChannel
} from './control-channel.ts'

/** Of the one process that has no supervisor. */
const LOCAL_OWNER = 0

/** What a gateway without a profile file shows. */
const nativeComposition = createDiscoveredComposition({
  profileId: NATIVE_PROFILE_ID,
  providerKind: NATIVE_PROVIDER_KIND
})

/** A channel for one process without a supervisor: a local slot pool and a local catalog record handle the same messages. */
export function createLocalControlChannel(
  settings: SlotSettings,
  {
    nowMs = Date.now,
    composition = nativeComposition,
    profiles = []
  }: { nowMs?: () => number; composition?: CatalogComposition; profiles?: readonly ProviderProfile[] } = {}
): ControlChannel {
  const slots = createSlotPool(slotLimitsFrom(settings, profiles))
  const hostSlots = createSlotPool(hostSlotLimits)
  const board = createRestBoard(
    {
      nowMs: () => performance.now(),
      onRested: rest => reply({ kind: 'target-rested', ...rest }),
      onRestored: target => reply({ kind: 'target-restored', target })
    },
    listTargetKeys({ profiles })
  )
  const health = createHealthBoard(profiles.map(({ profileId }) => profileId))
  const record = createCatalogRecord({
    composition,
    nowMs,
    publish: snapshot => reply({ kind: 'catalog-published', snapshot })
  })
  const ticket = ({ requestId }: { requestId: number }) => ({ owner: 0, requestId })
  /** A pool ignores the tickets of the other one. */
  function releaseSlot(message: { requestId: number }): void {
    slots.release(ticket(message))
    hostSlots.release(ticket(message))
  }
  const handlers: WorkerMessageHandlers<ChannelRequestKind> = {
    'slot-acquire': message =>
      (isHostSlotKey(message.key) ? hostSlots : slots).acquire(ticket(message), message.key, outcome =>
        reply({ kind: outcome === 'granted' ? 'slot-granted' : 'slot-refused', requestId: message.requestId })
      ),
    'slot-cancel': releaseSlot,
    'slot-release': releaseSlot,
    // There is no other worker, and this one has no admin API without a supervisor.
    'running-list': ({ requestId }) =>
      reply({ kind: 'running-listed', requestId, requests: [], total: 0, silentWorkers: 0 }),
    'target-rest': ({ target, restMs, round }) => board.rest(LOCAL_OWNER, { target, restMs, round }),
    'target-restore': ({ target }) => board.restore(LOCAL_OWNER, target),
    'target-trial': ({ requestId, target }) =>
      reply({
        kind: board.beginTrial(LOCAL_OWNER, target) ? 'target-trial-granted' : 'target-trial-refused',
        requestId
      }),
    'target-trial-ended': ({ target }) => board.endTrial(LOCAL_OWNER, target),
    'catalog-refresh': ({ requestId, profileId, force }) =>
      record.request(ticket({ requestId }), { profileId, force }, result =>
        reply(writeCatalogReply(requestId, result))
      ),
    'catalog-fetched': message => void record.complete(ticket(message), message.models),
    'catalog-failed': message => void record.fail(ticket(message), message.failure),
    'provider-health-report'({ reports }) {
      health.add(reports)
      reply({ kind: 'provider-health-published', providers: [...health.list()] })
    }
  }
  const channel = createControlChannel(
    { send: message => handleMessage(handlers, createMessage(message), undefined) },
    { settings, profiles, catalog: record.current(), isHostStarted: true }
  )
  const reply = (message: ContentOf<SupervisorMessageFields, ChannelKind>) => channel.receive(createMessage(message))
  return channel
}
