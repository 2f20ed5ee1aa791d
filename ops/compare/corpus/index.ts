// The corpus: which settings a pair of gateways gets, and which cases.

import type { Setup } from '../types.ts'
import { createCompletionsCases } from './completions.ts'
import { createContentCases } from './content.ts'
import { createMessagesCases } from './messages.ts'
import { createPromptCases } from './prompts.ts'
import { createRecordedCases } from './recorded.ts'
import { createResourceCases } from './resources.ts'
import { createResponsesCases } from './responses.ts'
import { createSettingSetups } from './settings.ts'
import { createToolCases } from './tools.ts'
import { createTransportCases } from './transport.ts'

/** All setups, in the order in which they are compared. */
export function createSetups(): Setup[] {
  const tools = createToolCases()
  const recorded = createRecordedCases()
  return [
    {
      name: 'defaults',
      variables: {},
      cases: [
        ...createTransportCases(),
        ...createResourceCases(),
        ...createPromptCases(),
        ...createCompletionsCases(),
        ...createResponsesCases(),
        ...createMessagesCases(),
        ...createContentCases(),
        ...tools,
        ...recorded
      ]
    },
    {
      name: 'translated in a thread',
      variables: { GATEWAY_POOL_THRESHOLD_BYTES: '1', GATEWAY_POOL_THREADS: '1' },
      cases: [...tools, ...recorded]
    },
    ...createSettingSetups()
  ]
}
