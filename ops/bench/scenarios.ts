// What is measured, and the goals of the product.

import type { BodyShape, Family } from './bodies.ts'
import type { BenchWireName } from './bridge-profile.ts'

export interface Scenario {
  name: string
  unit: string
  shape: BodyShape
  connections: number
  requests: number
  /** Requests to each target before anything is measured. */
  warmUpRequests: number
  /** Events per response; 1 where the response is whole. */
  events: number
  measure: 'cpu' | 'first-content'
  /** The most that the product may be of the relay. */
  ratioMax?: number
  /** The most that each other family may be of completions; absent: only completions is measured. */
  familyRatioMax?: Record<OtherFamily, number>
}

/** A scenario of the product as a bridge to a provider on one wire; its goals are held against the bare relay. */
export interface BridgeScenario extends Omit<Scenario, 'familyRatioMax'> {
  /** The wire of the provider. Its own family is always measured. */
  wire: BenchWireName
  /** The families that are translated for this provider, with the most that each may be of the relay; none: a figure without a goal. */
  translated?: Partial<Record<Family, number | 'no goal'>>
}

/** The family that speaks a wire itself. */
export const ownFamilies: Readonly<Record<BenchWireName, Family>> = {
  chat: 'completions',
  responses: 'responses',
  messages: 'messages',
  content: 'content'
}

export type OtherFamily = Exclude<Family, 'completions'>
export const otherFamilies: OtherFamily[] = ['responses', 'messages', 'content']

const smallWhole = {
  unit: 'CPU µs per request',
  shape: { model: 'bench-L0-N1-G0', bytes: 2048, isStream: false },
  connections: 32,
  requests: 3_000,
  // The compiler is at work for that long in the larger of the programs; a tenth of it would show mostly the compiler.
  warmUpRequests: 24_000,
  events: 1,
  measure: 'cpu'
} satisfies Partial<Scenario>

const longStream = {
  unit: 'CPU µs per event',
  shape: { model: 'bench-L0-N200-G0', bytes: 2048, isStream: true },
  connections: 16,
  requests: 250,
  warmUpRequests: 2_000,
  events: 201,
  measure: 'cpu'
} satisfies Partial<Scenario>

export const scenarios: Scenario[] = [
  {
    ...smallWhole,
    name: 'whole response, 2 KB in, 1 KB out, 32 connections',
    ratioMax: 1.7,
    // A Responses object repeats the members of the request and carries more of its own.
    familyRatioMax: { responses: 1.2, messages: 1.1, content: 1.1 }
  },
  {
    ...longStream,
    name: 'stream of 200 events without pause, each in a chunk as upstreams send them, 16 connections',
    ratioMax: 1.5,
    // Every event of a Responses stream carries a type, a sequence number and the ids of its item.
    familyRatioMax: { responses: 1.25, messages: 1.1, content: 1.1 }
  },
  {
    // Without a goal: a relay does nothing per event, so here it has a tenth of the work and the product all of it.
    ...longStream,
    name: 'the same with ten events in a chunk',
    shape: { model: 'bench-L0-N200-G0-P10', bytes: 2048, isStream: true },
    warmUpRequests: 500
  },
  {
    name: 'first content of a paced stream, upstream latency 20 ms',
    unit: 'ms',
    shape: { model: 'bench-L20-N10-G5', bytes: 2048, isStream: true },
    connections: 2,
    requests: 25,
    warmUpRequests: 50,
    events: 11,
    measure: 'first-content'
  }
]

const medium = {
  ...smallWhole,
  shape: { model: 'bench-L0-N1-G0', bytes: 50 * 1024, isStream: false },
  connections: 16,
  requests: 800,
  warmUpRequests: 6_000
} satisfies Partial<Scenario>

const large = {
  ...smallWhole,
  shape: { model: 'bench-L0-N1-G0', bytes: 1024 * 1024, isStream: false },
  connections: 4,
  requests: 60,
  warmUpRequests: 300
} satisfies Partial<Scenario>

/** One wire: what its own family costs, and a family that is translated for it, whole and streamed. */
function listScenarios(
  wire: BenchWireName,
  kind: string,
  translated: Partial<Record<Family, { small: number; medium: number }>>
): BridgeScenario[] {
  const goals = (size: 'small' | 'medium') =>
    Object.fromEntries(Object.entries(translated).map(([family, goal]) => [family, goal[size]]))
  const ungoaled = Object.fromEntries(Object.keys(translated).map(family => [family, 'no goal' as const]))
  return [
    {
      ...smallWhole,
      wire,
      name: `${kind}, whole response, 2 KB in, 1 KB out, 32 connections`,
      ratioMax: 1.25,
      translated: goals('small')
    },
    {
      ...medium,
      wire,
      name: `${kind}, whole response, 50 KB in, 1 KB out, 16 connections`,
      ratioMax: 1.5,
      translated: goals('medium')
    },
    { ...large, wire, name: `${kind}, whole response, 1 MB in, 1 KB out, 4 connections`, ratioMax: 1.5 },
    // Without a goal of its own: what an event costs on its way through the bridge.
    {
      ...longStream,
      wire,
      name: `${kind}, stream of 200 events without pause, 16 connections`,
      translated: ungoaled
    }
  ]
}

const goal = { small: 1.5, medium: 2 }

export const bridgeScenarios: BridgeScenario[] = [
  ...listScenarios('chat', 'chat_compatible', { responses: goal, messages: goal, content: goal }),
  ...listScenarios('messages', 'messages_compatible', { completions: goal }),
  ...listScenarios('content', 'content_compatible', { completions: goal }),
  ...listScenarios('responses', 'chat_compatible with the Responses wire', { completions: goal })
]
