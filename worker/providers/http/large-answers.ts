// Whole answers that are too large to be read on the event loop: the interface to the threads that read them, and the reading itself,
// which is pure.

import { randomUUID } from 'node:crypto'
import type { ExecutionPlan } from '../../bridge/resolve-route.ts'
import { createStopSequenceFilter, type NormalizedEvent } from '../../normalized/index.ts'
import type { CancelSignal } from '../../performance/cancel-source.ts'
import type { ProviderFace, ResponseHead } from '../../protocols/face.ts'

/** A whole answer to a chat: plain data that may cross a thread boundary. */
export interface ChatAnswer {
  plan: Pick<ExecutionPlan, 'providerKind' | 'apiMode'>
  /** What the face's writer of the request left for its reader. */
  reading: unknown
  head: ResponseHead
  bytes: Uint8Array
  /** Stop strings that the gateway applies itself. */
  stops: readonly string[]
}

export interface Anomaly {
  anomaly: string
  details: Readonly<Record<string, string | number>>
}

export interface ReadChatAnswer {
  events: NormalizedEvent[]
  anomalies: Anomaly[]
}

export interface LargeAnswers {
  /** Whether reading this body would keep the event loop busy for too long. */
  isLargeAnswer(bytes: Uint8Array): boolean
  /** Reads an answer in a thread. Rejects with the `GatewayError` of the answer, or when no thread becomes free in time. */
  readChat(answer: ChatAnswer, signal: CancelSignal): Promise<ReadChatAnswer>
}

/** Reads a whole answer as events, cut at a stop string. Raises the `GatewayError` of an answer that is an error or cannot be used. */
export function readChatAnswer(face: ProviderFace, { reading, head, bytes, stops }: ChatAnswer): ReadChatAnswer {
  const anomalies: Anomaly[] = []
  const reader = face.createReader(reading, head, {
    createNonce: randomUUID,
    onAnomaly: (anomaly, details) => anomalies.push({ anomaly, details })
  })
  return { events: cutAtStop(reader.readBody(bytes), stops), anomalies }
}

/** The events up to the first stop string. */
export function cutAtStop(events: NormalizedEvent[], stops: readonly string[]): NormalizedEvent[] {
  if (stops.length === 0) return events
  const filter = createStopSequenceFilter(stops)
  return filter.push(events).concat(filter.finish())
}
