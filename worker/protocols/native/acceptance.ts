// What the native upstream does with the parts of a request that not every wire has: both contracts lack the parameters of other
// vendors' models, and only v2 stores conversations and runs hosted tools.

import type { ProviderAcceptance } from '../../normalized/index.ts'

const commonFeatures = {
  topK: 'ignored',
  seed: 'ignored',
  presencePenalty: 'ignored',
  frequencyPenalty: 'ignored',
  user: 'ignored',
  metadata: 'ignored',
  // No thread of the upstream is a conversation of the client (decisions.md 90).
  conversation: 'ignored',
  reasoningSummary: 'ignored',
  additionalFields: 'sent',
  uploadedFiles: 'sent',
  images: 'sent',
  files: 'sent'
} as const

export const nativeV1Acceptance: ProviderAcceptance = Object.freeze({
  features: Object.freeze({ ...commonFeatures, storedConversation: 'refused', hostedTools: 'ignored' }),
  refusals: Object.freeze({ storedConversation: 'The v1 contract of the upstream stores no conversations.' })
})

export const nativeV2Acceptance: ProviderAcceptance = Object.freeze({
  features: Object.freeze({ ...commonFeatures, storedConversation: 'sent', hostedTools: 'sent' })
})
