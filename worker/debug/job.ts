// What a debugging route asks for: plain data, because a large body is worked on in a thread.

import type { ModelScope } from '../../shared/keys/model-scope.ts'
import type { ApiMode } from '../protocols/provider-face.ts'

export const translationEndpoints = [
  'translate',
  'openai-to-normalized',
  'anthropic-to-normalized',
  'normalized-to-upstream',
  'upstream-to-openai'
] as const

export type TranslationEndpoint = (typeof translationEndpoints)[number]

/** The families that can be explained, with the SDK's names. */
export const explainedFamilies = ['openai', 'responses', 'anthropic', 'gemini', 'embeddings'] as const

export type ExplainedFamily = (typeof explainedFamilies)[number]

export type DebugTask =
  | { type: TranslationEndpoint }
  | {
      type: 'explain'
      family: ExplainedFamily
      /** Of the family whose path has them. */
      model?: string
      isStream?: boolean
    }

/** The facts of a debugging request besides its body. */
export interface DebugContext {
  task: DebugTask
  apiMode: ApiMode
  /** The models of the key whose request is explained; absent: all of them (keys.md 2). */
  scope?: ModelScope
  requestId: string
  /** The unparsed header with the ids of uploaded files. */
  attachmentIds?: string | undefined
  /** The operator's default for `store`. */
  storesByDefault: boolean
  /** Seconds since the epoch. */
  nowSeconds: number
}
