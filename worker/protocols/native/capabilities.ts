// The reviewed capabilities of the native upstream's executor, contracts and models
// (bridge.md 5.6).

import type { CapabilityName } from '../../../shared/support/capabilities.ts'
import type { ModelReview, ProviderCapabilities } from '../capabilities.ts'
import type { ApiMode } from '../provider-face.ts'
import { isLargestV2Model } from './constants.ts'

const HOSTED_TOOLS: readonly CapabilityName[] = [
  'hosted_3d_generation',
  'hosted_code_interpreter',
  'hosted_image_generation',
  'hosted_url_extraction',
  'hosted_web_search'
]
const STORED_STATE: readonly CapabilityName[] = ['conversation_state', 'previous_response_state']

/** Real exchanges, in `test/fixtures/recorded`. */
const EVIDENCE_IDS = ['RECORDED-NATIVE-EXCHANGES']

interface Overlay {
  readonly selects: (modelId: string) => boolean
  readonly source: ModelReview['source']
  readonly apiModes: readonly ApiMode[]
  readonly supported: readonly CapabilityName[]
}

const isLargest = (modelId: string): boolean => modelId === 'GigaChat-2-Max'

/** Exact overlays come first: they win over those of a family. */
const OVERLAYS: readonly Overlay[] = [
  {
    selects: isLargest,
    source: 'exact_model_overlay',
    apiModes: ['v1', 'v2'],
    supported: ['file_input', 'image_input']
  },
  {
    selects: isLargest,
    source: 'exact_model_overlay',
    apiModes: ['v2'],
    supported: [...HOSTED_TOOLS, ...STORED_STATE]
  },
  {
    selects: modelId => /^GigaChat-2-(?:Lite|Pro|Max)$/.test(modelId),
    source: 'family_overlay',
    apiModes: ['v1', 'v2'],
    supported: ['function_tools', 'streaming', 'text_input', 'usage_tokens']
  },
  {
    selects: modelId => /^GigaChat-2-Reasoning(?:-[A-Za-z0-9._-]+)?$/.test(modelId),
    source: 'family_overlay',
    apiModes: ['v1', 'v2'],
    supported: ['streaming', 'text_input', 'usage_tokens']
  }
]

export const nativeCapabilities: ProviderCapabilities = {
  lacks: ['reasoning_summary'],
  invariants: ['cancellation', 'disconnect', 'json_schema_output', 'reasoning_controls'],
  lacksByApiMode: { v1: [...HOSTED_TOOLS, ...STORED_STATE, 'parallel_tool_calls'], v2: [] },
  reviewModel(capability, { modelId, apiMode }) {
    // Every model is reviewed for this one: the option is sent to the largest models only.
    if (capability === 'parallel_tool_calls' && apiMode === 'v2') {
      return { isSupported: isLargestV2Model(modelId), source: 'family_overlay', evidenceIds: EVIDENCE_IDS }
    }
    const overlay = OVERLAYS.find(
      ({ selects, apiModes, supported }) =>
        supported.includes(capability) && apiModes.includes(apiMode) && selects(modelId)
    )
    return overlay === undefined ? undefined : { isSupported: true, source: overlay.source, evidenceIds: EVIDENCE_IDS }
  }
}
