// Keeps one response: makes its record, stores it, and says in the response where that failed (memory.md 2 and 6).

import { asBuffer } from '../../shared/bytes.ts'
import {
  type Owner,
  type ResponseRecord,
  type ResponseStore,
  type SaveResult,
  type StoredItem,
  StoreUnavailable
} from '../../shared/memory/store.ts'
import type { NormalizedEvent } from '../normalized/index.ts'
import type { StreamFrames, WrittenPartial } from '../protocols/client-face.ts'
import { JsonEdits } from '../protocols/shared/json/edits.ts'
import { editJson } from '../protocols/shared/json/spans.ts'
import { editFrameData } from '../protocols/shared/stream/frame-data.ts'
import type { ResponseKeeper } from './chat-turn.ts'
import { PartialOutput } from './partial-output.ts'
import {
  findResponse,
  ITEM_DONE,
  listFinishedItems,
  readSmallEvents,
  splitAtEnd,
  splitFrames
} from './response-frames.ts'
import { readWrittenResponse, type WrittenParts } from './response-record.ts'

export interface RecordKeeperOptions {
  readonly store: ResponseStore
  readonly owner: Owner
  readonly createRecord: (
    parts: WrittenParts,
    rest: { lastSequenceNumber: number; threadId: string | undefined }
  ) => ResponseRecord
  /** Called where a response was not stored. */
  readonly onNotStored: (reason: Exclude<SaveResult, 'saved'> | StoreUnavailable['reason']) => void
  /** Called with the work that goes on when the request is over. */
  readonly onPending: (work: Promise<unknown>) => void
}

export class RecordKeeper implements ResponseKeeper {
  readonly #options: RecordKeeperOptions
  /** Of a provider of this wire: its terminal event may have no items. */
  readonly #finished: StoredItem[] = []
  /** What of the same provider has not finished yet. */
  readonly #partial = new PartialOutput()
  /** The frame of the last response object that went to the client. */
  #lastResponse: Buffer | undefined
  #threadId: string | undefined

  constructor(options: RecordKeeperOptions) {
    this.#options = options
  }

  noteEvents(events: readonly NormalizedEvent[]): void {
    this.#threadId = findThreadId(events) ?? this.#threadId
  }

  takeFrames(frames: Uint8Array, isLast: boolean): { sent: Uint8Array; held?: Uint8Array } {
    const { sent, held } = isLast ? splitAtEnd(frames) : { sent: asBuffer(frames), held: undefined }
    if (sent.includes(ITEM_DONE)) this.#finished.push(...listFinishedItems(sent))
    if (held === undefined) for (const event of readSmallEvents(sent)) this.#partial.add(event)
    if (this.#lastResponse === undefined && sent.includes('"response"')) this.#lastResponse = Buffer.from(sent)
    return held === undefined ? { sent } : { sent, held }
  }

  async keepBody(body: string | Uint8Array): Promise<string | Uint8Array> {
    const bytes = toBuffer(body)
    const parts = readWrittenResponse(bytes)
    if (parts !== undefined && (await this.#save(parts, 0))) return body
    return editJson(bytes, notStored([])).edited
  }

  async keepEnd(frames: StreamFrames | Uint8Array): Promise<string | Uint8Array> {
    const bytes = toBuffer(frames)
    const found = findResponse(bytes)
    if (found !== undefined) {
      const { parts, sequenceNumber } = found
      const output = parts.output.length === 0 ? this.#finished : parts.output
      if (await this.#save({ ...parts, output }, sequenceNumber)) return bytes
    }
    const edits = notStored(['response'])
    return Buffer.concat(splitFrames(bytes).map(frame => editFrameData(frame, data => editJson(data, edits).edited)))
  }

  keepPartial(partial: WrittenPartial | undefined): void {
    const found = this.#lastResponse === undefined ? undefined : findResponse(this.#lastResponse)
    const written = partial && readWrittenResponse(Buffer.from(partial.response))
    const parts = found === undefined ? written : { ...found.parts, output: this.#listItems() }
    if (parts === undefined) return
    // A client that comes back with the number of the last event that it has seen gets the end.
    const sequenceNumber = partial?.sequenceNumber ?? 0
    this.#options.onPending(this.#save({ ...parts, ...endPartial(parts) }, sequenceNumber))
  }

  /** The items of a provider of this wire: the finished ones as it wrote them, and what came of the open ones. */
  #listItems(): StoredItem[] {
    const finished = new Set(this.#finished.map(({ id }) => id))
    const open = this.#partial.read('incomplete').flatMap((item): StoredItem[] => {
      const { id } = item
      return typeof id !== 'string' || finished.has(id) ? [] : [{ id, json: Buffer.from(JSON.stringify(item)) }]
    })
    return [...this.#finished, ...open]
  }

  /** False where the response could not be stored. */
  async #save(parts: WrittenParts, lastSequenceNumber: number): Promise<boolean> {
    const { store, owner, createRecord, onNotStored } = this.#options
    const record = createRecord(parts, { lastSequenceNumber, threadId: this.#threadId })
    try {
      const result = await store.saveResponse({ owner, record })
      if (result === 'saved') return true
      onNotStored(result)
    } catch (thrown) {
      onNotStored(thrown instanceof StoreUnavailable ? thrown.reason : 'failed')
    }
    return false
  }
}

/** The thread of the upstream that these events name. */
export function findThreadId(events: readonly NormalizedEvent[]): string | undefined {
  const named = events.filter(event => event.type === 'start' || event.type === 'finish')
  return named.findLast(({ conversationId }) => conversationId !== undefined)?.conversationId
}

/** The record of a response whose stream has no end. */
function endPartial({ body }: WrittenParts): Pick<WrittenParts, 'status' | 'body'> {
  const edits = new JsonEdits()
  edits.set(['status'], 'incomplete')
  return { status: 'incomplete', body: editJson(body, edits).edited }
}

function notStored(place: readonly string[]): JsonEdits {
  const edits = new JsonEdits()
  edits.set([...place, 'store'], false)
  return edits
}

function toBuffer(frames: StreamFrames | Uint8Array): Buffer {
  if (typeof frames === 'string') return Buffer.from(frames)
  if (frames instanceof Uint8Array) return asBuffer(frames)
  return Buffer.concat(frames.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
