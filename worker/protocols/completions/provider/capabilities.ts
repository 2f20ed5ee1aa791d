// The capabilities of providers on the wire of OpenAI chat completions: what the wire carries; the
// rest is declared per alias (bridge.md 5.7).

import type { ProviderCapabilities } from '../../capabilities.ts'

export const chatCompatibleCapabilities: ProviderCapabilities = {
  lacks: [
    'conversation_state',
    'hosted_3d_generation',
    'hosted_code_interpreter',
    'hosted_image_generation',
    'hosted_url_extraction',
    'hosted_web_search',
    'previous_response_state',
    // A request for a summary is left out, with a notice.
    'reasoning_summary'
  ],
  invariants: []
}
