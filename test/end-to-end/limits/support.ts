// A worker whose leases come from the counters of a supervisor in the same process, in front of a provider that answers as the test says.

import { hash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import type { KeySet, Limits } from '../../../shared/keys/key-set.ts'
import type { LeaseSource, LimitName, Settlement } from '../../../shared/limits/leases.ts'
import type { ResponseStore } from '../../../shared/memory/store.ts'
import type { Price } from '../../../shared/prices.ts'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { hostLimits } from '../../../supervisor/limits/host-limits.ts'
import { createLedger } from '../../../supervisor/limits/ledger.ts'
import type { WorkerApp, WorkerAppOptions } from '../../../worker/app.ts'
import type { RequestObserver } from '../../../worker/observation/observer.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { providerKinds } from '../../../worker/providers/registry.ts'
import { aliasOf, edgeProfile, fileOf } from '../../support/profile-sets.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'
import { type StubHandler, type StubServer, startStub } from '../../worker/providers/support/stub-upstream.ts'

export const ALIAS = 'team/model'
/** An alias whose provider cannot be reached. */
export const GONE_ALIAS = 'team/gone'
/** An alias with two deployments, the first of which cannot be reached. */
export const SPREAD_ALIAS = 'team/spread'

/** The secret of the limited key. */
export const SECRET = 'limited-key-0123456789'
/** That of a key without limits. */
export const FREE_SECRET = 'unlimited-key-0123456789'
export const auth = (secret = SECRET) => ({ authorization: `Bearer ${secret}` })

export interface LimitedGateway {
  url: string
  app: WorkerApp
  stub: StubServer
  /** Questions for leases, by the name of the key. */
  asked: string[]
  settlements: Settlement[]
  /** What the record of each ended request has as its cost, in billionths; null where nothing is known of it. */
  costs: (number | null)[]
  /** Resolves when so many requests have been settled. The limited key counts slots, so that each one is. */
  settled(count: number): Promise<void>
  /** What the limited key uses of a limit now. */
  used(limit: LimitName): number
}

export interface LimitedOptions {
  limits: Limits
  group?: Limits
  kind?: 'chat_compatible' | 'messages_compatible' | 'content_compatible'
  env?: Record<string, string>
  /** Per 1,000,000 tokens of every model. */
  price?: Price
  memory?: ResponseStore
  /** The counters cannot be read, and the operator wants requests refused then. */
  isUnavailable?: boolean
  /** The clock of periods. */
  epochMs?: () => number
}

/** Starts both; they close with the test. */
export async function startLimited(
  t: Test,
  {
    limits,
    group,
    kind = 'chat_compatible',
    env = {},
    price,
    memory,
    isUnavailable,
    epochMs = Date.now
  }: LimitedOptions,
  handler: StubHandler
): Promise<LimitedGateway> {
  const stub = await startStub(handler)
  t.teardown(() => stub.close())
  const declared = { features: FEATURE_NAMES, limits: { contextWindow: 32_768, maxOutputTokens: 4096 } }
  const profiles = [
    edgeProfile(
      [
        aliasOf(ALIAS, 'exact-model-1', declared),
        aliasOf(SPREAD_ALIAS, 'exact-model-1', {
          ...declared,
          targets: [
            { profileId: 'gone', upstreamModel: 'exact-model-1', weight: 1, priority: 0 },
            { profileId: 'edge-chat', upstreamModel: 'exact-model-1', weight: 1, priority: 1 }
          ]
        })
      ],
      { providerKind: kind, baseUrl: stub.origin }
    ),
    edgeProfile([aliasOf(GONE_ALIAS, 'exact-model-1', declared)], { profileId: 'gone', baseUrl: 'http://127.0.0.1:9' })
  ]
  const keys = writeKeys(limits, group)
  const counters = openCounters(keys, epochMs)
  const options: WorkerAppOptions = {
    ...workerOptions(parseSettings(env), fileOf(profiles), keys),
    limits: { leases: isUnavailable === true ? UNAVAILABLE : counters.leases, listUsage: async () => undefined },
    ...(price && { prices: { currency: 'USD', models: { '*': price } } })
  }
  const costs: (number | null)[] = []
  const records: RequestObserver = {
    name: 'records',
    closed: (_, { facts }) => void costs.push(facts.costNanos ?? null)
  }
  const parts = { faces: providerFaces, kinds: providerKinds, observers: [records], ...(memory && { memory }) }
  const { app, url } = await startWorker(t, options, parts)
  return { url, app, stub, costs, ...counters }
}

function writeKeys(limits: Limits, group: Limits | undefined): KeySet {
  const key = { digests: [hash('sha256', SECRET)], limits, isEnabled: true, metadata: {} }
  return {
    revision: `sha256:${'0'.repeat(64)}`,
    currency: 'USD',
    groups: group === undefined ? [] : [{ name: 'team', limits: group }],
    keys: [
      { ...key, name: 'ci', ...(group !== undefined && { group: 'team' }) },
      { ...key, name: 'free', digests: [hash('sha256', FREE_SECRET)], limits: {} }
    ]
  }
}

const UNAVAILABLE: LeaseSource = { lease: async () => ({ kind: 'unavailable' }), settle: () => undefined }

/** The counters of a supervisor with one worker. */
function openCounters(keys: KeySet, epochMs: () => number) {
  const clock = { nowMs: () => performance.now(), epochMs }
  const ledger = createLedger({ clock, factory: hostLimits }, { keys, workers: 1 })
  const asked: string[] = []
  const settlements: Settlement[] = []
  const news = new EventEmitter()
  let freed = 0
  const leases: LeaseSource = {
    async lease(key, amounts) {
      asked.push(key)
      const decision = ledger.decide(
        { owner: 1, key, amounts, questionId: asked.length },
        { isExact: true, mustAnswer: true, blocked: new Set() }
      )
      if (decision.kind === 'waiting') throw new Error('The question had to be answered.')
      return decision
    },
    settle(batch) {
      settlements.push(...batch)
      for (const settlement of batch) {
        ledger.settle(1, settlement)
        freed += settlement.freedSlots
      }
      news.emit('settled')
    }
  }
  return {
    leases,
    asked,
    settlements,
    async settled(count: number) {
      while (freed < count) await once(news, 'settled')
    },
    used(limit: LimitName) {
      const { limits = [] } = ledger.usage().find(({ key }) => key === 'ci') ?? {}
      return limits.find(usage => usage.limit === limit)?.usedAmount ?? 0
    }
  }
}

export interface ChatAnswer {
  isStream: boolean
  text: string
  /** Prompt and completion; absent where the provider counts nothing. */
  usage?: [number, number] | undefined
  /** The stream breaks off behind its text. */
  isBroken?: boolean
  /** The stream stays open behind its text. */
  isHeld?: boolean
}

/** Answers on the wire of chat completions. */
export function answerChat(response: ServerResponse, { isStream, text, usage, isBroken, isHeld }: ChatAnswer): void {
  const counted = usage && {
    prompt_tokens: usage[0],
    completion_tokens: usage[1],
    total_tokens: usage[0] + usage[1]
  }
  const base = { id: 'chatcmpl-1', created: 1, model: 'exact-model-1' }
  if (!isStream) {
    const message = { role: 'assistant', content: text }
    const body = {
      ...base,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      ...(counted && { usage: counted })
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return
  }
  const chunk = (members: object) =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [], ...members })}\n\n`
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }] }))
  if (isHeld === true) return
  if (isBroken === true) {
    setImmediate(() => response.destroy())
    return
  }
  response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
  if (counted !== undefined) response.write(chunk({ usage: counted }))
  response.end('data: [DONE]\n\n')
}

/** Whether the body of a request on that wire asks for a stream. */
export function wantsStream({ body }: { body: Buffer }): boolean {
  return JSON.parse(body.toString('utf8')).stream === true
}
