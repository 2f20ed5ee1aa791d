// Members that the embeddings requests of several client protocols have.

import type { JsonValue } from '../../normalized/index.ts'

/** The length of a vector that a client asks for; any other value is no reason to refuse a request, because not every provider has it. */
export function readDimensions(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
