// What is asked of the translation, inline or in a pool thread, and how its results cross a thread boundary.

import type { ClientProtocol, ErrorCode } from '../normalized/index.ts'
import type { ApiMode, ReadContext } from '../protocols/face.ts'

export interface TranslationJob {
  protocol: ClientProtocol
  apiMode: ApiMode
  /** The body as it came, decompressed. */
  bytes: Uint8Array
  /** What is known of the request besides its body. */
  context: ReadContext
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
