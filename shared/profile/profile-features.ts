// What the words of `capabilities.features` stand for: presets are written out, one feature can be
// taken away from them, and what every request requires needs no word (decisions.md 88).
import { BASE_FEATURES, FEATURE_NAMES, type FeatureName } from './profile.ts'

const CHAT = [
  'text',
  'generation_controls',
  'function_tools',
  'tool_choice',
  'parallel_tool_calls',
  'tool_results',
  'json_schema_output',
  'stream_deltas',
  'stream_terminal_events'
] as const satisfies readonly FeatureName[]

/** The preset words and their features (providers.md 1). */
export const FEATURE_PRESETS = {
  chat: CHAT,
  chat_vision: [...CHAT, 'image_references'],
  reasoning: [...CHAT, 'reasoning_effort'],
  reasoning_vision: [...CHAT, 'image_references', 'reasoning_effort'],
  embeddings: ['text']
} as const satisfies Readonly<Record<string, readonly FeatureName[]>>

type FeaturePreset = keyof typeof FEATURE_PRESETS

export const PRESET_NAMES = Object.keys(FEATURE_PRESETS) as FeaturePreset[]

/** The features that a file may take away from a preset. What every request requires always stays. */
export const REMOVABLE_FEATURES = FEATURE_NAMES.filter(feature => !BASE_FEATURES.includes(feature))

const REMOVAL = '-'

/** The word that takes a feature away from a preset. */
export function writeRemoval(feature: FeatureName): string {
  return `${REMOVAL}${feature}`
}

/** Returns the features that the words of a file stand for, each once, in sorted order. Words that a file cannot hold count for nothing. */
export function expandFeatures(words: readonly string[]): FeatureName[] {
  const features = new Set<FeatureName>(BASE_FEATURES)
  for (const word of words) for (const feature of expandWord(word)) features.add(feature)
  for (const word of words) {
    const removed = readRemoval(word)
    if (removed !== undefined) features.delete(removed)
  }
  return [...features].sort()
}

/**
 * Returns the position of the first word that takes away what no preset of the list has, or what the
 * list names itself; undefined when there is none.
 */
export function findIdleRemoval(words: readonly string[]): number | undefined {
  const ofPresets = new Set(words.filter(isPreset).flatMap(expandWord))
  const position = words.findIndex(word => {
    const removed = readRemoval(word)
    return removed !== undefined && (!ofPresets.has(removed) || words.includes(removed))
  })
  return position === -1 ? undefined : position
}

function expandWord(word: string): readonly FeatureName[] {
  if (isPreset(word)) return FEATURE_PRESETS[word]
  return isFeature(word) ? [word] : []
}

function readRemoval(word: string): FeatureName | undefined {
  const feature = word.slice(REMOVAL.length)
  return word.startsWith(REMOVAL) && isFeature(feature) && REMOVABLE_FEATURES.includes(feature) ? feature : undefined
}

function isPreset(word: string): word is FeaturePreset {
  return Object.hasOwn(FEATURE_PRESETS, word)
}

function isFeature(word: string): word is FeatureName {
  return (FEATURE_NAMES as readonly string[]).includes(word)
}
