// Whole responses that are too large to be read on the event loop: the interface to the threads that read them, and the reading itself,
// which is pure.

import { randomUUID } from 'node:crypto'
import { createStopSequenceFilter, type NormalizedEvent } from '../../normalized/index.ts'
import type { ProviderFace, ResponseHead } from '../../protocols/provider-face.ts'
import type { FaceSelection } from '../../protocols/registry.ts'

/** A whole response to a chat: plain data that may cross a thread boundary. */
export interface ChatResponse {
  plan: FaceSelection
  /** What the face's writer of the request left for its reader. */
  reading: unknown
  head: ResponseHead
  bytes: Uint8Array
  /** Stop strings that the gateway applies itself. */
  stops: readonly string[]
  /** Of a response to a client of the provider's own wire: it is edited as well. */
  sameWire?: { publicModel: string }
}

export interface Anomaly {
  anomaly: string
  details: Readonly<Record<string, string | number>>
}

export interface ReadChatResponse {
  events: NormalizedEvent[]
  anomalies: Anomaly[]
  /** The edited response. */
  body?: Uint8Array | undefined
}

/** Where a body is read: at once, in a turn of the event loop of its own, or in a thread, because it would keep the loop busy for too long. */
export type ReadingPlace = 'here' | 'own-turn' | 'thread'

export interface LargeResponses {
  placeReading(bytes: Uint8Array): ReadingPlace
  /** Resolves in a turn of the event loop in which no other body begins to be read. */
  ownTurn(): Promise<void>
  /** Reads a response in a thread. Rejects with the `GatewayError` of the response, or when no thread becomes free in time. */
  readChat(response: ChatResponse, signal: AbortSignal): Promise<ReadChatResponse>
}

/** Reads a whole response as events, cut at a stop string. Raises the `GatewayError` of a response that is an error or cannot be used. */
export function readChatResponse(
  face: ProviderFace,
  { reading, head, bytes, stops, sameWire }: ChatResponse
): ReadChatResponse {
  const anomalies: Anomaly[] = []
  const reader = face.createReader(reading, head, {
    createNonce: randomUUID,
    onAnomaly: (anomaly, details) => anomalies.push({ anomaly, details })
  })
  const events = cutAtStop(reader.readBody(bytes), stops)
  if (sameWire === undefined) return { events, anomalies }
  const editor = face.sameWire?.createEditor({ ...sameWire, reading, createNonce: randomUUID })
  return { events, anomalies, body: editor?.editBody(bytes) }
}

/** The events up to the first stop string. */
export function cutAtStop(events: NormalizedEvent[], stops: readonly string[]): NormalizedEvent[] {
  if (stops.length === 0) return events
  const filter = createStopSequenceFilter(stops)
  return filter.push(events).concat(filter.finish())
}
