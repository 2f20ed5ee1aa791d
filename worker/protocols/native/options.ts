// The operator's settings for the native upstream: plain data, because they may cross a thread boundary.

import type { ParallelCallsPolicy } from './parallel-calls.ts'

export interface NativeOptions {
  /** Path of v1 chat and of every call that is not chat; '' or beginning with a slash, never ending with one. */
  v1Base: string
  /** Path of v2 chat; equal to `v1Base` when the configured base has no version. */
  v2Base: string
  isImageInputEnabled: boolean
  /** What happens to a request for JSON without a schema: refused, or sent with the schema of any object. */
  jsonObjectMode: 'reject' | 'any_object'
  parallelToolCalls: ParallelCallsPolicy
  /** Output limit for requests that set none. */
  defaultMaxTokens?: number
  /** v1 `profanity_check`; v2 `disable_filter` is its opposite. */
  profanityCheck?: boolean
  flags?: string[]
  attachmentLimits: AttachmentLimits
}

export interface AttachmentLimits {
  audioBytesMax: number
  imageBytesMax: number
  textBytesMax: number
  audioAndImageBytesMax: number
}
