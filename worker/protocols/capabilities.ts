// What a provider kind declares about its capabilities, for the document of effective capabilities
// (bridge.md 5.6 and 5.7).

import type { CapabilityName, CapabilitySource } from '../../shared/support/capabilities.ts'
import type { ApiMode } from './provider-face.ts'

/** A reviewed statement about one model. */
export interface ModelReview {
  readonly isSupported: boolean
  readonly source: Extract<CapabilitySource, 'exact_model_overlay' | 'family_overlay'>
  /** The tests or recordings that the review rests on. */
  readonly evidenceIds: readonly string[]
}

/** Pure data and functions of a kind; `protocols/registry.ts` lists them. */
export interface ProviderCapabilities {
  /** What the executor of the kind does not do for any model. */
  readonly lacks: readonly CapabilityName[]
  /** What the executor does for every model, so that no statement about the model is needed. */
  readonly invariants: readonly CapabilityName[]
  /** What a contract of the provider does not have; absent for a kind with one contract. */
  readonly lacksByApiMode?: Readonly<Record<ApiMode, readonly CapabilityName[]>>
  /**
   * The review of a model; undefined for an unreviewed one. Absent for a kind whose profiles declare the features of every alias.
   */
  readonly reviewModel?: (
    capability: CapabilityName,
    target: { modelId: string; apiMode: ApiMode }
  ) => ModelReview | undefined
}
