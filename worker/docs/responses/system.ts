// Documents of the system routes (bridge.md 5) and the lists that the completions family shows.
import { z } from 'zod'
import {
  type BridgeModelsDocument,
  bridgeModelsDocument,
  type EffectiveCapabilitiesDocument,
  effectiveCapabilitiesDocument,
  type SupportMatrixDocument,
  supportMatrixDocument
} from '../../../shared/documents/bridge-documents.ts'
import { type ReadinessDocument, readinessDocument } from '../../../shared/documents/documents.ts'
import type { ModelInfo } from '../../protocols/completions/client/models.ts'
import { count, describe } from '../schema.ts'

export const readiness = describe<ReadinessDocument>()('Readiness', readinessDocument)
export const bridgeModels = describe<BridgeModelsDocument>()('BridgeModels', bridgeModelsDocument)
export const supportMatrix = describe<SupportMatrixDocument>()('SupportMatrix', supportMatrixDocument)
export const effectiveCapabilities = describe<EffectiveCapabilitiesDocument>()(
  'EffectiveCapabilities',
  effectiveCapabilitiesDocument
)

export const rootStatus = describe<{ status: 'ok'; mode: 'DEV' | 'PROD' }>()(
  'RootStatus',
  z.strictObject({ status: z.literal('ok'), mode: z.enum(['DEV', 'PROD']) })
)

/** A model may have any members that its provider reports, so its type has an index and is not compared. */
export const completionsModel = describe<CompletionsModelMembers>()(
  'CompletionsModel',
  z
    .object({
      id: z.string(),
      object: z.literal('model'),
      created: count,
      owned_by: z.string(),
      metadata: z.object({ type: z.string() })
    })
    .meta({ additionalProperties: true }),
  'Further members are those that the provider reports.'
)

type CompletionsModelMembers = {
  id: string
  object: 'model'
  created: number
  owned_by: string
  metadata: { type: string }
}

export const completionsModelList = describe<{ object: 'list'; data: CompletionsModelMembers[] }>()(
  'CompletionsModelList',
  z.strictObject({ object: z.literal('list'), data: z.array(completionsModel) })
)

export const modelInfo = describe<ModelInfo>()(
  'ModelInfo',
  z.strictObject({
    model_name: z.string(),
    litellm_params: z.strictObject({ model: z.string() }),
    model_info: z.strictObject({ id: z.string() })
  })
)

export const modelInfoList = describe<{ data: ModelInfo[] }>()(
  'ModelInfoList',
  z.strictObject({ data: z.array(modelInfo) })
)
