// What the name of a model on the chat wire says of its service: the models of these services are named like the real ones.
import type { ShapeName, StrictName } from '../directive-steps.ts'

interface ModelFamily {
  name: RegExp
  shape?: ShapeName
  strict?: readonly StrictName[]
  /** It thinks unless it is told not to. */
  alwaysReasons?: true
  /** The most texts of one call for embeddings. */
  batchMax?: number
}

const families: readonly ModelFamily[] = [
  { name: /^gpt-[5-9]/, strict: ['metadata', 'limit', 'effort', 'temperature'] },
  { name: /^o[1-9]/, strict: ['metadata', 'limit', 'effort', 'temperature', 'parallel'] },
  { name: /^deepseek-/, shape: 'deepseek', strict: ['reasoning'], alwaysReasons: true },
  { name: /^kimi-/, shape: 'kimi', strict: ['reasoning'], alwaysReasons: true },
  { name: /^(?:mistral|magistral|ministral|codestral)-/, shape: 'mistral' },
  { name: /^glm-/, shape: 'zhipu' },
  { name: /^embedding-3$/, batchMax: 64 },
  { name: /^text-embedding-v[34]$/, batchMax: 10 }
]

/** The limit of the service whose wire this is. */
const BATCH_MAX = 2048

function findFamily(model: unknown): ModelFamily | undefined {
  return typeof model === 'string' ? families.find(({ name }) => name.test(model)) : undefined
}

export function findShapeOf(model: string): ShapeName | undefined {
  return findFamily(model)?.shape
}

export function findStrictnessOf(model: unknown): readonly StrictName[] {
  return findFamily(model)?.strict ?? []
}

export function alwaysReasons(model: string): boolean {
  return findFamily(model)?.alwaysReasons === true
}

/** The most texts of one call for embeddings with this model. */
export function findBatchMax(model: string): number {
  return findFamily(model)?.batchMax ?? BATCH_MAX
}
