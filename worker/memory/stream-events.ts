// The events of a response as they are stored (memory.md 4): one by one, with numbers of their own.

import { asBuffer } from '../../shared/bytes.ts'
import type { StoredEvent } from '../../shared/memory/store.ts'
import { isJsonObject, type JsonObject } from '../normalized/index.ts'
import type { StreamFrames } from '../protocols/client-face.ts'
import { JsonEdits } from '../protocols/shared/json/edits.ts'
import { editJson } from '../protocols/shared/json/spans.ts'
import { findFrameData } from '../protocols/shared/stream/frame-data.ts'
import { FrameSplitter } from '../protocols/shared/stream/frame-splitter.ts'

/** An event, and what it says. */
export interface NumberedEvent extends StoredEvent {
  readonly type: string
  readonly event: JsonObject
}

/** The events that begin a stream. The gateway has stored its own before anything is generated. */
const OPENING = new Set(['response.created', 'response.queued', 'response.in_progress'])

function opensNoStream(type: string): boolean {
  return !OPENING.has(type)
}

const ENDING = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Whether nothing follows an event of this type. */
export function endsStream(type: string): boolean {
  return ENDING.has(type)
}

/** Gives the events of one stream their numbers: those of its writer, or of a provider, begin again behind the gateway's own. */
export class EventNumbers {
  #next: number

  constructor(first = 0) {
    this.#next = first
  }

  get last(): number {
    return this.#next - 1
  }

  /** Makes an event of the gateway's own. */
  create(type: string, members: JsonObject): NumberedEvent {
    const event = { type, sequence_number: this.#next++, ...members }
    return { sequenceNumber: event.sequence_number, json: Buffer.from(JSON.stringify(event)), type, event }
  }

  /** Takes the events of whole frames, without those that begin the stream; only those of types that are wanted. */
  take(frames: StreamFrames | Uint8Array, isWanted: (type: string) => boolean = opensNoStream): NumberedEvent[] {
    const events: NumberedEvent[] = []
    for (const frame of new FrameSplitter().push(joinBytes(frames))) {
      const json = findFrameData(frame)
      const event = json === undefined ? undefined : parseEvent(json)
      if (json === undefined || typeof event?.type !== 'string' || !isWanted(event.type)) continue
      const sequenceNumber = this.#next++
      const edits = new JsonEdits()
      edits.set(['sequence_number'], sequenceNumber)
      // A copy: the bytes of a frame are a part of what was read with it.
      events.push({ sequenceNumber, json: Buffer.from(editJson(json, edits).edited), type: event.type, event })
    }
    return events
  }
}

/** The response object in the first of these frames that has one. */
export function findResponseObject(frames: StreamFrames): JsonObject | undefined {
  for (const frame of new FrameSplitter().push(joinBytes(frames))) {
    const json = findFrameData(frame)
    const response = json === undefined ? undefined : parseEvent(json)?.response
    if (isJsonObject(response)) return response
  }
  return undefined
}

/** An event as a frame of the stream of its response. */
export function writeEventFrame({ json }: Pick<StoredEvent, 'json'>): Buffer {
  return Buffer.concat([EVENT, Buffer.from(readType(json)), DATA, json, END])
}

const EVENT = Buffer.from('event: ')
const DATA = Buffer.from('\ndata: ')
const END = Buffer.from('\n\n')

/** The type is the first member of the events that the gateway writes. */
const TYPE = /^\{"type":"([\w.]+)"/
const TYPE_BYTES_MAX = 128

/** The type of a stored event. */
export function readType(json: Uint8Array): string {
  const buffer = asBuffer(json)
  const [, type] = TYPE.exec(buffer.toString('latin1', 0, TYPE_BYTES_MAX)) ?? []
  return type ?? String(parseEvent(buffer)?.type ?? '')
}

function parseEvent(json: Buffer): JsonObject | undefined {
  try {
    const event: unknown = JSON.parse(json.toString())
    return isJsonObject(event) ? event : undefined
  } catch {
    return undefined
  }
}

function joinBytes(frames: StreamFrames | Uint8Array): Buffer {
  if (typeof frames === 'string') return Buffer.from(frames)
  if (frames instanceof Uint8Array) return asBuffer(frames)
  return Buffer.concat(frames.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
