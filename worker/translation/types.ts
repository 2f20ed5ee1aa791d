// The jobs of the translation, inline or in a pool thread, and the form in which their results cross a thread boundary.

import type { ClientProtocol, ErrorCode } from '../normalized/index.ts'
import type { ApiMode, ReadContext } from '../protocols/face.ts'

export interface TranslationJob {
  protocol: ClientProtocol
  apiMode: ApiMode
  /** The client's body, decompressed. */
  bytes: Uint8Array
  /** The facts of the request that are not in its body. */
  context: ReadContext
}

/** Token ids of one text, and the model whose tokenizer made them. */
export interface TokenDecodingJob {
  model: string
  texts: number[][]
}

/** The tasks of a pool thread. */
export type PoolTask = { type: 'translate'; job: TranslationJob } | { type: 'decode-tokens'; job: TokenDecodingJob }

/** An expected failure that crosses a thread boundary as plain data, because an `Error` object would lose its code. */
export interface TransferredError {
  code: ErrorCode
  message: string
  param?: string
  reason?: string
}

export type PoolResult<Value> = { ok: true; value: Value } | { ok: false; error: TransferredError }
