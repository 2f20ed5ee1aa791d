// What the chat completions wire has of the parts of a request that not every wire has. Which of them an alias may use is decided by the
// features that its profile declares.

import type { ProviderAcceptance } from '../../../normalized/index.ts'

export const chatCompatibleAcceptance: ProviderAcceptance = Object.freeze({
  features: Object.freeze({
    topK: 'ignored',
    seed: 'sent',
    presencePenalty: 'sent',
    frequencyPenalty: 'sent',
    user: 'sent',
    // Services take metadata for stored chats only; the clients of this wire know that (decisions.md 78).
    metadata: 'ignored',
    reasoningSummary: 'ignored',
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
