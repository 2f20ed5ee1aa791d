// Executors of tests read every answer themselves.

import type { LargeAnswers } from '../../../../worker/providers/http/large-answers.ts'

export const readsInline: LargeAnswers = {
  isLargeAnswer: () => false,
  readChat: () => Promise.reject(new Error('No answer is large.'))
}
