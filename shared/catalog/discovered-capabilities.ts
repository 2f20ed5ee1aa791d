// What a model of an external profile's dynamic inventory can do: what the profile declares for all
// of them, and what the provider states about this one (decisions.md 88, providers.md 3).

import type { ModelCapabilities } from '../profile/profile.ts'
import type { ModelFacts } from './model-facts.ts'

/** The capabilities of one model. A stated fact wins over the profile's default; without facts the default holds. */
export function describeDiscovered(
  { features, limits }: ModelCapabilities,
  { contextWindow = limits.contextWindow, outputTokensMax, readsImages, readsFiles }: ModelFacts = {}
): ModelCapabilities {
  // A stated window is what the model takes; the default's bound of the input belongs to the default's window.
  const maxInputTokens = contextWindow === limits.contextWindow ? limits.maxInputTokens : undefined
  const maxOutputTokens = outputTokensMax ?? limits.maxOutputTokens
  return {
    features: replaceFeature(replaceFeature(features, 'image_references', readsImages), 'file_inputs', readsFiles),
    limits: {
      contextWindow,
      ...(maxInputTokens !== undefined && { maxInputTokens }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens: Math.min(maxOutputTokens, contextWindow) })
    }
  }
}

function replaceFeature(features: readonly string[], feature: string, has: boolean | undefined): readonly string[] {
  if (has === undefined || features.includes(feature) === has) return features
  return has ? [...features, feature] : features.filter(name => name !== feature)
}
