// The capabilities of providers on the wire of OpenAI Responses: what the wire carries; the rest is declared per alias (bridge.md 5.7).

import type { ProviderCapabilities } from '../../capabilities.ts'

export const responsesCompatibleCapabilities: ProviderCapabilities = {
  lacks: ['hosted_3d_generation', 'hosted_url_extraction'],
  invariants: []
}
