// Gives the operator's default for `store` the meaning that it has for the provider of the request:
// a provider without stored conversations ignores it (decisions.md 67).

import type { NormalizedRequest, ProviderAcceptance } from '../normalized/index.ts'

/** Sets `store` of a request whose provider stores conversations; changes no other request. */
export function settleConversation(request: NormalizedRequest, acceptance: ProviderAcceptance): void {
  const { conversation } = request
  if (conversation === undefined || acceptance.features.storedConversation !== 'sent') return
  if (conversation.storesByDefault === true) conversation.store ??= true
}
