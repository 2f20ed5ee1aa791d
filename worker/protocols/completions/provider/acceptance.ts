// What the chat completions wire has of the parts of a request that not every wire has. Which of them an alias may use is decided by the
// features that its profile declares.

import type { ProviderAcceptance } from '../../../normalized/index.ts'

export const chatCompatibleAcceptance: ProviderAcceptance = Object.freeze({
  features: Object.freeze({
    topK: 'refused',
    seed: 'sent',
    presencePenalty: 'sent',
    frequencyPenalty: 'sent',
    user: 'sent',
    metadata: 'sent',
    additionalFields: 'refused',
    uploadedFiles: 'refused',
    storedConversation: 'refused',
    conversation: 'ignored',
    hostedTools: 'refused',
    images: 'sent',
    files: 'sent'
  }),
  unexpressed: 'refused'
})
