// The name of each client protocol in the support matrix and in the machine documents
// (bridge.md 5.6).

import type { PublicProtocol } from '../../shared/support/support-vocabulary.ts'
import type { ClientProtocol } from '../normalized/index.ts'

const PUBLIC_PROTOCOLS: Readonly<Record<ClientProtocol, PublicProtocol>> = {
  completions: 'openai_chat_completions',
  responses: 'openai_responses',
  messages: 'anthropic_messages',
  content: 'gemini_generate_content'
}

/** The public id of a client protocol, as `findCell` takes it. */
export function publicProtocolOf(protocol: ClientProtocol): PublicProtocol {
  return PUBLIC_PROTOCOLS[protocol]
}
