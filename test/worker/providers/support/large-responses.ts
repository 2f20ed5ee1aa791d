// Executors of tests read every answer themselves.

import type { LargeResponses } from '../../../../worker/providers/http/large-responses.ts'

export const readsInline: LargeResponses = {
  placeReading: () => 'here',
  ownTurn: () => Promise.resolve(),
  readChat: () => Promise.reject(new Error('No answer is large.'))
}
