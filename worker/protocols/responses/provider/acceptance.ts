// What the Responses wire has of the parts of a request that not every wire has (decisions.md 86). Which of them an alias may use is
// decided by the features that its profile declares.

import type { ProviderAcceptance } from '../../../normalized/index.ts'

export const responsesCompatibleAcceptance: ProviderAcceptance = Object.freeze({
  features: Object.freeze({
    topK: 'ignored',
    seed: 'ignored',
    presencePenalty: 'ignored',
    frequencyPenalty: 'ignored',
    user: 'sent',
    metadata: 'ignored',
    reasoningSummary: 'sent',
    additionalFields: 'ignored',
    uploadedFiles: 'refused',
    storedConversation: 'sent',
    conversation: 'sent',
    hostedTools: 'sent',
    images: 'sent',
    files: 'sent'
  }),
  refusesLoss: true
})
