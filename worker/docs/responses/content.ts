// Responses of the content protocol (content.md 5 to 7).
import { z } from 'zod'
import {
  type BatchEmbedContentsResponse,
  type ContentCandidate,
  type ContentFinishReason,
  type ContentModel,
  type ContentModelList,
  type ContentResponse,
  type ContentResponsePart,
  type ContentUsage,
  type CountTokensResponse,
  type EmbedContentResponse,
  type EmbeddingUsage,
  finishReasons
} from '../../protocols/content/client/schema.ts'
import { count, describe, jsonObject } from '../schema.ts'

const finishReason = describe<ContentFinishReason>()('ContentFinishReason', z.enum(finishReasons))

const thoughtSignature = z.string().exactOptional()

const part = describe<ContentResponsePart>()(
  'ContentPart',
  z.union([
    z.strictObject({ text: z.string(), thought: z.literal(true).exactOptional(), thoughtSignature }),
    z.strictObject({
      functionCall: z.strictObject({ id: z.string(), name: z.string(), args: jsonObject }),
      thoughtSignature
    }),
    z.strictObject({ inlineData: z.strictObject({ mimeType: z.string(), data: z.string() }), thoughtSignature }),
    z.strictObject({
      fileData: z.strictObject({ fileUri: z.string(), mimeType: z.string().exactOptional() }),
      thoughtSignature
    })
  ])
)

const candidate = describe<ContentCandidate>()(
  'ContentCandidate',
  z.strictObject({
    index: z.literal(0),
    content: z.strictObject({ role: z.literal('model'), parts: z.array(part) }),
    finishReason: finishReason.describe('Of a stream only the last chunk has one.').exactOptional(),
    safetyRatings: z.tuple([]).describe('Only in whole responses.').exactOptional(),
    groundingMetadata: z
      .strictObject({
        groundingChunks: z.array(z.strictObject({ web: z.strictObject({ uri: z.string(), title: z.string() }) }))
      })
      .exactOptional()
  })
)

const usage = describe<ContentUsage>()(
  'ContentUsage',
  z.strictObject({
    promptTokenCount: count.exactOptional(),
    candidatesTokenCount: count.describe('Without thoughts, which thoughtsTokenCount counts.').exactOptional(),
    totalTokenCount: count.exactOptional(),
    cachedContentTokenCount: count.exactOptional(),
    thoughtsTokenCount: count.exactOptional()
  }),
  'Counts that the provider did not report are absent.'
)

export const generateContentResponse = describe<ContentResponse>()(
  'GenerateContentResponse',
  z.strictObject({
    candidates: z.tuple([candidate]),
    promptFeedback: z.strictObject({ blockReason: z.literal('BLOCKLIST') }).exactOptional(),
    modelVersion: z.string(),
    responseId: z.string(),
    usageMetadata: usage.exactOptional()
  }),
  'A whole response, and each chunk of a stream.'
)

export const countTokensResponse = describe<CountTokensResponse>()(
  'CountTokensResponse',
  z.strictObject({ totalTokens: count })
)

const embedding = z.strictObject({ values: z.array(z.number()) })
const embeddingUsage = describe<EmbeddingUsage>()(
  'ContentEmbeddingUsage',
  z.strictObject({ promptTokenCount: count, totalTokenCount: count })
)
export const embedContentResponse = describe<EmbedContentResponse>()(
  'EmbedContentResponse',
  z.strictObject({ embedding, usageMetadata: embeddingUsage.exactOptional() })
)
export const batchEmbedContentsResponse = describe<BatchEmbedContentsResponse>()(
  'BatchEmbedContentsResponse',
  z.strictObject({ embeddings: z.array(embedding), usageMetadata: embeddingUsage.exactOptional() })
)

export const contentModel = describe<ContentModel>()(
  'ContentModel',
  z.strictObject({
    name: z.string(),
    baseModelId: z.string(),
    version: z.literal(''),
    displayName: z.string(),
    description: z.string(),
    inputTokenLimit: count.exactOptional(),
    outputTokenLimit: count.exactOptional(),
    supportedGenerationMethods: z.array(z.string())
  })
)
export const contentModelList = describe<ContentModelList>()(
  'ContentModelList',
  z.strictObject({
    models: z.array(contentModel),
    nextPageToken: z.string().describe('Absent on the last page.').exactOptional()
  })
)
export const tunedModelList = describe<{ tunedModels: [] }>()(
  'TunedModelList',
  z.strictObject({ tunedModels: z.tuple([]) }),
  'The gateway has no tuned models.'
)
