// What the Anthropic Messages wire has of the parts of a request that not every wire has. Which of them an alias may use is decided by the
// features that its profile declares.

import type { ProviderAcceptance } from '../../../normalized/index.ts'

export const messagesCompatibleAcceptance: ProviderAcceptance = Object.freeze({
  features: Object.freeze({
    topK: 'sent',
    seed: 'ignored',
    presencePenalty: 'ignored',
    frequencyPenalty: 'ignored',
    user: 'sent',
    // The wire's own metadata holds nothing but the user, which is sent; labels of other protocols have no place and change no response.
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
