// What a profile file declares about a model, in the form that admission reads (bridge.md 7.4 and 7.5).

import type { ModelCapabilities, OutputLimitField } from '../../shared/profile/profile.ts'

/** Nothing that is not listed is sent. */
export interface DeclaredCapabilities {
  features: readonly string[]
  /** The largest output limit that a request may ask for: that of the model, else a quarter of its context window. */
  outputTokensMax: number
  /** How many tokens of input and output together the model holds. */
  contextWindow: number
  /** Absent where the alias does not say which name its model takes. */
  outputLimitField?: OutputLimitField
  /** A member that the provider's wire cannot carry is refused instead of left out. */
  refusesUnsupported?: true
  /** The provider is on this machine or in a private network. */
  isLocal?: true
}

/** What holds for every model of a profile. */
export type ProfileTraits = Pick<DeclaredCapabilities, 'refusesUnsupported' | 'isLocal'>

/** The part of its window that a model without a declared limit may fill with output (decisions.md 73). */
const OUTPUT_SHARE = 1 / 4

/** @param capabilities with the name of every feature, no preset words. */
export function declareCapabilities(
  { features, limits }: ModelCapabilities,
  traits: Pick<DeclaredCapabilities, 'outputLimitField'> & ProfileTraits
): DeclaredCapabilities {
  const { contextWindow, maxOutputTokens = Math.ceil(contextWindow * OUTPUT_SHARE) } = limits
  return { features, outputTokensMax: maxOutputTokens, contextWindow, ...traits }
}
