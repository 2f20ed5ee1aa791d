// What goes into translating a client's body, and what comes out: everything that the executor and the writer of the answer need.

import type { ApiMode, ExecutionPlan } from '../bridge/plan.ts'
import type { ClientProtocol, ErrorCode, NormalizedRequest } from '../normalized/index.ts'
import type { PendingAttachment, ReadContext } from '../protocols/face.ts'
import type { NativeReading } from '../protocols/native/reading.ts'

export interface TranslationJob {
  protocol: ClientProtocol
  apiMode: ApiMode
  /** The body as it came, decompressed. */
  bytes: Uint8Array
  /** What is known of the request besides its body. */
  context: ReadContext
}

export interface TranslatedChat {
  /** The request without its messages once it came back from a thread: nothing after this needs them. */
  request: NormalizedRequest
  plan: ExecutionPlan
  /** JSON for the upstream, with placeholders where ids of uploaded files belong. */
  body: Uint8Array
  attachments: PendingAttachment[]
  reading: NativeReading
}

/** Token ids of one text, and the model whose tokenizer made them. */
export interface TokenDecodingJob {
  model: string
  texts: number[][]
}

/** What a pool thread is asked to do. */
export type PoolTask = { type: 'translate'; job: TranslationJob } | { type: 'decode-tokens'; job: TokenDecodingJob }

/** An expected failure as it crosses a thread boundary: an `Error` object would lose its code on the way. */
export interface TransferredError {
  code: ErrorCode
  message: string
  param?: string
  reason?: string
}

export type PoolResult<Value> = { ok: true; value: Value } | { ok: false; error: TransferredError }
