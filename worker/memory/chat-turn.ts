// What the memory adds to one chat, as its route sees it: the body to translate, the response to keep (memory.md 2 and 3).

import type { NormalizedEvent, NormalizedRequest, ResponseTurn } from '../normalized/index.ts'
import type { StreamFrames, WrittenPartial } from '../protocols/client-face.ts'
import type { BackgroundTurn } from './background-response.ts'

/** Keeps a response before its end goes to the client. No method rejects: a response that could not be kept says so itself. */
export interface ResponseKeeper {
  /** Takes what was read of the response. */
  noteEvents(events: readonly NormalizedEvent[]): void
  /**
   * Takes frames of a provider of this wire, whole ones, on their way to the client.
   * @param isLast the response ends in them: then the frames of the end are `held` until `keepEnd`.
   */
  takeFrames(frames: Uint8Array, isLast: boolean): { sent: Uint8Array; held?: Uint8Array }
  /** Resolves with the body for the client, once it is stored. */
  keepBody(body: string | Uint8Array): Promise<string | Uint8Array>
  /** Resolves with the last frames for the client, once the response in them is stored. */
  keepEnd(frames: StreamFrames | Uint8Array): Promise<string | Uint8Array>
  /**
   * Stores what was generated of a response whose stream has no end.
   * @param partial `StreamWriter.writePartial`.
   */
  keepPartial(partial: WrittenPartial | undefined): void
}

/** One chat with memory. Its route closes it, however the chat ends. */
export interface ChatTurn {
  /** The body that is translated, with the history in its input. */
  readonly bytes: Uint8Array
  /** What the response repeats. */
  readonly response: ResponseTurn
  /** Of a response that runs in the background: its own code stores it, and there is no `keeper`. */
  readonly background: BackgroundTurn | undefined
  /** Absent where nothing is stored. */
  readonly keeper: ResponseKeeper | undefined
  /** The body was translated; `bytes` is not read any more, unless `shorten` says so. */
  planned(call: { readonly request: NormalizedRequest; readonly plan: { readonly publicModel: string } }): void
  /** The fields that the route leaves out, with the client's own indexes. */
  shiftFields(paths: readonly string[]): readonly string[]
  /** The error with the client's own indexes. */
  refine(thrown: unknown): unknown
  /** Leaves the oldest turns out of `bytes` after the error of a context that is too long; false where the error stays. */
  shorten(thrown: unknown): boolean
  close(): Promise<void>
}
