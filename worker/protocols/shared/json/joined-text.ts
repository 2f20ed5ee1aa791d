// The texts of parts as one text, for places of a wire that hold nothing else.

import type { ContentPart } from '../../../normalized/index.ts'

export function joinTexts(content: readonly ContentPart[], separator = '\n'): string {
  return content.flatMap(part => (part.type === 'text' || part.type === 'refusal' ? [part.text] : [])).join(separator)
}
