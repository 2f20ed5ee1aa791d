// Gives the members about stored conversations the meaning that they have for the provider of the
// request. A provider without stored conversations ignores `conversation` and the operator's
// default for `store` (decisions.md 64 and 67).

import type { NormalizedRequest, ProviderAcceptance } from '../normalized/index.ts'

/** Sets `store` and `storedConversationId` of a request whose provider stores conversations; changes no other request. */
export function settleConversation(request: NormalizedRequest, acceptance: ProviderAcceptance): void {
  const { conversation } = request
  if (conversation === undefined || acceptance.features.storedConversation !== 'sent') return
  const { conversationId, storesByDefault } = conversation
  if (conversationId !== undefined) conversation.storedConversationId ??= conversationId
  if (storesByDefault === true) conversation.store ??= true
}
