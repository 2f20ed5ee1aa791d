// What the content wire has of the parts of a request that not every wire has. Which of them an alias may use is decided by the features
// that its profile declares.

import type { ProviderAcceptance } from '../../../normalized/index.ts'

export const contentCompatibleAcceptance: ProviderAcceptance = Object.freeze({
  features: Object.freeze({
    topK: 'sent',
    seed: 'sent',
    presencePenalty: 'sent',
    frequencyPenalty: 'sent',
    // Labels of a request change nothing about its response.
    user: 'ignored',
    metadata: 'ignored',
    reasoningSummary: 'sent',
    additionalFields: 'ignored',
    uploadedFiles: 'refused',
    storedConversation: 'refused',
    conversation: 'ignored',
    hostedTools: 'ignored',
    images: 'sent',
    files: 'sent'
  }),
  refusesLoss: true
})
