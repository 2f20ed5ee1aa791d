// Reads frames of a Responses stream for the record of its response: the response object of the terminal event, and the finished items of a
// provider whose terminal event has none (memory.md 3).

import { asBuffer } from '../../shared/bytes.ts'
import type { StoredItem } from '../../shared/memory/store.ts'
import { isJsonObject, type JsonObject, tryParseJson } from '../normalized/index.ts'
import { findJsonMember, listJsonMembers, readJsonText } from '../protocols/shared/json/json-parts.ts'
import { findFrameData } from '../protocols/shared/stream/frame-data.ts'
import { FrameSplitter } from '../protocols/shared/stream/frame-splitter.ts'
import { readOutputItem, readWrittenResponse, type WrittenParts } from './response-record.ts'

/** A response object in a frame. */
export interface FramedResponse {
  readonly parts: WrittenParts
  readonly sequenceNumber: number
}

const TERMINAL_TYPES: ReadonlySet<string | undefined> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled'
])

/** The frames of these bytes, which hold whole ones. */
export function splitFrames(bytes: Uint8Array): Buffer[] {
  const splitter = new FrameSplitter(Number.POSITIVE_INFINITY)
  const frames = splitter.push(bytes)
  const rest = splitter.end()
  return rest.length === 0 ? frames : [...frames, rest]
}

/** Cuts frames before the terminal event; all are the end where none is found. */
export function splitAtEnd(bytes: Uint8Array): { sent: Buffer; held: Buffer } {
  const buffer = asBuffer(bytes)
  let start = 0
  for (const frame of splitFrames(buffer)) {
    if (TERMINAL_TYPES.has(readType(frame))) return { sent: buffer.subarray(0, start), held: buffer.subarray(start) }
    start += frame.length
  }
  return { sent: buffer.subarray(0, 0), held: buffer }
}

/** The last response object in these frames; undefined where none has one. */
export function findResponse(bytes: Uint8Array): FramedResponse | undefined {
  for (const frame of splitFrames(bytes).toReversed()) {
    const data = findFrameData(frame)
    const members = data === undefined ? undefined : listJsonMembers(data)
    if (data === undefined || members === undefined) continue
    const response = findJsonMember(members, 'response')
    const parts = response === undefined ? undefined : readWrittenResponse(data, response.start)
    if (parts === undefined) continue
    const number = findJsonMember(members, 'sequence_number')
    const sequenceNumber = Number(number === undefined ? 0 : data.toString('latin1', number.start, number.end))
    return { parts, sequenceNumber: Number.isSafeInteger(sequenceNumber) ? sequenceNumber : 0 }
  }
  return undefined
}

/** The finished items in these frames, in their order. */
export function listFinishedItems(bytes: Uint8Array): StoredItem[] {
  return splitFrames(bytes).flatMap(frame => {
    const data = frame.includes(ITEM_DONE) ? findFrameData(frame) : undefined
    const members = data === undefined ? undefined : listJsonMembers(data)
    const item = members && findJsonMember(members, 'item')
    if (data === undefined || item === undefined || readType(frame) !== ITEM_DONE) return []
    const { id, json } = readOutputItem(data, item)
    // A frame shares the memory of its whole read.
    return [{ id, json: Buffer.from(json) }]
  })
}

/** Deltas are small; what is longer is a finished item or a whole response. */
const EVENT_BYTES_MAX = 64 * 1024

/** The events in these frames, without the long ones. */
export function readSmallEvents(bytes: Uint8Array): JsonObject[] {
  return splitFrames(bytes).flatMap(frame => {
    const data = frame.length > EVENT_BYTES_MAX ? undefined : findFrameData(frame)
    const event = data === undefined ? undefined : tryParseJson(data.toString('utf8'))
    return isJsonObject(event) ? [event] : []
  })
}

export const ITEM_DONE = 'response.output_item.done'

function readType(frame: Buffer): string | undefined {
  const data = findFrameData(frame)
  const members = data === undefined ? undefined : listJsonMembers(data)
  const type = members && findJsonMember(members, 'type')
  return data === undefined || type === undefined ? undefined : readJsonText(data, type)
}
