import { deserialize, serialize } from 'node:v8'
import t from 'tap'
import { readCatalogModels } from '../../../shared/catalog/catalog.ts'
import { handleMessage } from '../../../shared/ipc/handlers.ts'
import {
  createMessage,
  readSupervisorMessage,
  readWorkerMessage,
  type SupervisorMessageContent,
  type WorkerMessageContent
} from '../../../shared/ipc/messages.ts'
import type { KeySet } from '../../../shared/keys/key-set.ts'
import type { KeyUsage, Settlement } from '../../../shared/limits/leases.ts'
import { createNativeProfileSet } from '../../../shared/profile/native-profile.ts'
import { computeConfigRevision } from '../../../shared/profile/profile-revision.ts'
import type { RunningRequest } from '../../../shared/running-request.ts'
import { readTransferredSettings, writeTransferredSettings } from '../../../shared/settings/transfer.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { refusedDiscovery as failure } from '../../support/catalog-failure.ts'
import { snapshotOf } from '../../support/catalog-snapshots.ts'

/** How the channel carries a value: as a structured clone, or as JSON where it carries connections too. */
const channels: Array<[name: string, carry: (value: unknown) => unknown]> = [
  ['structured clone', value => deserialize(serialize(value))],
  ['JSON', value => JSON.parse(JSON.stringify(value))]
]

const models = readCatalogModels([{ id: 'one', limits: { context: 8 } }])
const snapshot = snapshotOf(models, {
  providerProfileId: 'native-upstream',
  providerKind: 'native',
  nowMs: 0
})
const settings = parseSettings({ GATEWAY_API_KEY: 'hunter2', UPSTREAM_MODEL: 'one' })
const profiles = createNativeProfileSet(settings)
const revisions = { config: computeConfigRevision(profiles), matrix: `sha256:${'b'.repeat(64)}` }

const runningRequest: RunningRequest = {
  requestId: 'r',
  traceId: 't',
  workerId: 1,
  protocol: 'openai',
  route: '/v1/responses',
  modelRequested: 'one',
  modelEffective: null,
  provider: null,
  startedAtMs: 1,
  isResponding: false,
  isStreaming: true,
  caller: null,
  apiKeyName: null,
  apiKeyHash: null
}

const keys: KeySet = {
  revision: `sha256:${'c'.repeat(64)}`,
  currency: 'USD',
  groups: [{ name: 'team-a', models: ['demo/*'], limits: { requestsPerMinute: 600 } }],
  keys: [
    {
      name: 'ci',
      group: 'team-a',
      digests: ['d'.repeat(64)],
      limits: { budget: { amount: 0.5, period: 'day' } },
      expiresAtMs: 1,
      isEnabled: true,
      metadata: { owner: 'build' }
    }
  ]
}

const targetRest = { target: 'eu gpt', restMs: 1000, round: 1 }

const leaseAmounts = { requests: 1, tokens: 2, slots: 3 }
const meters = { requests: { limit: 60, remaining: 5, resetMs: 1000 } }
const settlement: Settlement = {
  key: 'ci',
  grantedAtMs: 1.5,
  unusedRequests: 1,
  unusedTokens: -2,
  freedSlots: 0,
  costNanos: 4
}
const keyUsage: KeyUsage = {
  key: 'ci',
  lastUsedAtMs: null,
  limits: [{ limit: 'requests_per_minute', holder: 'key', limitAmount: 60, usedAmount: 1, periodEndsAtMs: null }]
}

const configure: SupervisorMessageContent = {
  kind: 'configure',
  workerId: 1,
  version: '1.2.3',
  settings: writeTransferredSettings(settings),
  profiles,
  credentials: {},
  keys,
  fingerprintKey: 'AAAA',
  compactionKey: { key: 'AAAA', isLasting: false },
  listen: { host: '127.0.0.1', port: 0, reusePort: true },
  isQuiet: false,
  catalog: snapshot,
  providerHealth: [],
  isHostStarted: true,
  isLeaving: false,
  rests: [targetRest],
  prices: null,
  writerSocket: null,
  storeSocket: null
}

const supervisorMessages: SupervisorMessageContent[] = [
  configure,
  { kind: 'host-started' },
  { kind: 'drain' },
  { kind: 'close-listener' },
  { kind: 'share-listener' },
  { kind: 'listener-inherited' },
  { kind: 'retire' },
  { kind: 'cancel' },
  { kind: 'close' },
  { kind: 'reopen-log' },
  { kind: 'keys-changed', keys },
  { kind: 'ping', nonce: 1 },
  { kind: 'catalog-refresh-wanted', profileId: 'one' },
  { kind: 'catalog-lease', requestId: 1 },
  { kind: 'catalog-result', requestId: 1, snapshot },
  { kind: 'catalog-unavailable', requestId: 1, failure },
  { kind: 'catalog-published', snapshot },
  { kind: 'slot-granted', requestId: 1 },
  { kind: 'slot-refused', requestId: 1 },
  { kind: 'target-rested', ...targetRest },
  { kind: 'target-restored', target: 'eu gpt' },
  { kind: 'target-trial-granted', requestId: 1 },
  { kind: 'target-trial-refused', requestId: 1 },
  { kind: 'metrics-collect', requestId: 1 },
  { kind: 'running-collect', requestId: 1 },
  { kind: 'running-listed', requestId: 1, requests: [runningRequest], total: 2, silentWorkers: 0 },
  { kind: 'limits-granted', requestId: 1, amounts: leaseAmounts, grantedAtMs: 1.5, meters },
  { kind: 'limits-granted', requestId: 1, amounts: leaseAmounts, grantedAtMs: 1.5, meters: {} },
  { kind: 'limits-refused', requestId: 1, refusal: { limit: 'budget', holder: 'group', retryAfterMs: null }, meters },
  { kind: 'limits-unavailable', requestId: 1 },
  { kind: 'keys-usage-listed', requestId: 1, usages: [keyUsage] }
]

const workerMessages: WorkerMessageContent[] = [
  { kind: 'worker-online', pid: 7 },
  { kind: 'worker-ready', revisions, address: { host: '::1', port: 8090 } },
  { kind: 'worker-failed', reason: 'internal', detail: 'unexpected error' },
  { kind: 'drain-acknowledged', activeRequests: 2 },
  { kind: 'listener-closed' },
  { kind: 'listener-shared', count: 2 },
  { kind: 'drain-progress', activeRequests: 1 },
  { kind: 'drained' },
  { kind: 'closed' },
  { kind: 'pong', nonce: 1 },
  { kind: 'catalog-refresh', requestId: 1, profileId: 'one', force: true },
  { kind: 'catalog-fetched', requestId: 1, models },
  { kind: 'catalog-failed', requestId: 1, failure },
  { kind: 'limits-lease', requestId: 1, key: 'ci', amounts: leaseAmounts },
  { kind: 'limits-lease-cancelled', requestId: 1 },
  { kind: 'limits-settle', settlements: [settlement] },
  { kind: 'keys-usage', requestId: 1 },
  { kind: 'slot-acquire', requestId: 1, key: 'one' },
  { kind: 'target-rest', ...targetRest },
  { kind: 'target-restore', target: 'eu gpt' },
  { kind: 'target-trial', requestId: 1, target: 'eu gpt' },
  { kind: 'target-trial-ended', target: 'eu gpt' },
  { kind: 'slot-cancel', requestId: 1 },
  { kind: 'slot-release', requestId: 1 },
  { kind: 'metrics-collected', requestId: 1 },
  { kind: 'metrics-scrape', requestId: 1, format: 'openmetrics' },
  { kind: 'running-list', requestId: 1 },
  { kind: 'running-collected', requestId: 1, requests: [runningRequest], total: 2 }
]

/** Only structured clones carry typed arrays. */
const metricsText: SupervisorMessageContent = { kind: 'metrics-text', requestId: 1, body: Uint8Array.of(1, 2) }
const metricsDelta: WorkerMessageContent = {
  kind: 'metrics-delta',
  delta: {
    labelSets: [[0, ['request_completed', null]]],
    cells: Uint32Array.of(0),
    values: Float64Array.of(0.5)
  }
}

t.test('every message is read at the other end as it was written, and only there', async t => {
  for (const [channel, carry] of channels) {
    for (const content of supervisorMessages) {
      const message = createMessage(content)
      t.strictSame(readSupervisorMessage(carry(message)), carry(message), `${content.kind} as ${channel}`)
      t.equal(readWorkerMessage(carry(message)), undefined, `a worker does not send ${content.kind}`)
    }
    for (const content of workerMessages) {
      const message = createMessage(content)
      t.strictSame(readWorkerMessage(carry(message)), carry(message), `${content.kind} as ${channel}`)
      t.equal(readSupervisorMessage(carry(message)), undefined, `the supervisor does not send ${content.kind}`)
    }
  }
})

t.test('typed arrays are read at the other end as they were written', async t => {
  const carry = (value: unknown): unknown => deserialize(serialize(value))
  t.strictSame(readSupervisorMessage(carry(createMessage(metricsText))), createMessage(metricsText))
  t.strictSame(readWorkerMessage(carry(createMessage(metricsDelta))), createMessage(metricsDelta))
  for (const [field, value] of [
    ['cells', [0]],
    ['values', Uint32Array.of(0)],
    ['labelSets', 1]
  ]) {
    const delta = { ...metricsDelta.delta, [String(field)]: value }
    t.equal(readWorkerMessage({ ...createMessage(metricsDelta), delta }), undefined, String(field))
  }
})

t.test('the configuration that arrives is the one that was sent: settings, secrets and revision', async t => {
  for (const [, carry] of channels) {
    const received = readSupervisorMessage(carry(createMessage(configure)))
    if (received?.kind !== 'configure') throw new Error('The message was not read.')
    const transferred = readTransferredSettings(received.settings)
    t.equal(transferred.apiKey?.reveal(), 'hunter2')
    t.equal(transferred.upstream.model, 'one')
    t.equal(computeConfigRevision(received.profiles), revisions.config)
  }
})

t.test('a wrong field drops the message, whether its kind is checked by hand or by a schema (J7)', async t => {
  /** Every message with one field missing, and with one field of another type. */
  for (const [messages, read] of [
    [[...supervisorMessages, metricsText], readSupervisorMessage],
    [[...workerMessages, metricsDelta], readWorkerMessage]
  ] as const) {
    for (const content of messages) {
      const message: Record<string, unknown> = createMessage(content)
      for (const field of Object.keys(message)) {
        t.equal(read({ ...message, [field]: undefined }), undefined, `${content.kind} without ${field}`)
        t.equal(read({ ...message, [field]: Symbol.iterator }), undefined, `${content.kind} with another ${field}`)
      }
    }
  }
})

t.test('an unknown kind, another version or a value that is no message is dropped (J7)', async t => {
  const wrong: unknown[] = [
    { v: 1, kind: 'nonsense' },
    { v: 1, kind: 'toString' },
    { v: 1, kind: '__proto__' },
    { v: 2, kind: 'drain' },
    { kind: 'host-started' },
    { kind: 'drain' },
    { v: 1, kind: 'ping', nonce: -1 },
    { v: 1, kind: 'slot-granted', requestId: 0.5 },
    { v: 1, kind: 'catalog-published', snapshot: { ...snapshot, models: [{ id: 1 }] } },
    'drain',
    null,
    undefined,
    7n,
    []
  ]
  for (const value of wrong) {
    t.equal(readSupervisorMessage(value), undefined)
    t.equal(readWorkerMessage(value), undefined)
  }
})

t.test('a message reaches the handler of its kind, with the context', async t => {
  const handled: unknown[] = []
  const handlers = {
    ping: ({ nonce }: { nonce: number }, context: string) => handled.push(['ping', nonce, context]),
    drain: (_: object, context: string) => handled.push(['drain', context])
  }
  handleMessage(handlers, createMessage({ kind: 'ping', nonce: 3 } as const), 'here')
  handleMessage(handlers, createMessage({ kind: 'drain' } as const), 'there')
  t.same(handled, [
    ['ping', 3, 'here'],
    ['drain', 'there']
  ])
})
