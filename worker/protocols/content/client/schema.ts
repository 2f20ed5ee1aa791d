// The wire of the content protocol: the treatment of every parameter, and the types of the responses. Names are in camel case;
// their snake-case spellings mean the same.

import type { JsonObject, JsonValue } from '../../../normalized/index.ts'
import { extraHeaders, ignored, supported } from '../../shared/members/common-parameters.ts'
import type { Parameter, ParameterTable } from '../../shared/members/parameters.ts'
import { type contentParameters, model } from '../members.ts'

const sentWherePossible: Parameter = {
  class: 'supported',
  note: 'Sent to a provider that has it; other providers ignore it.'
}

/** countTokens (content.md 5.4); `generateContentRequest` holds the same members. */
export const countTokensParameters = {
  contents: supported,
  systemInstruction: supported,
  tools: { class: 'supported', note: 'Names and descriptions of functions are counted.' },
  generateContentRequest: { class: 'supported', note: 'Wins over the members beside it.' },
  extra_headers: extraHeaders,
  model
} as const satisfies ParameterTable

/** embedContent, and every entry of `requests` (content.md 5.5). */
export const embedContentParameters = {
  content: supported,
  extra_headers: extraHeaders,
  autoTruncate: ignored,
  model,
  outputDimensionality: sentWherePossible,
  taskType: sentWherePossible,
  title: sentWherePossible
} as const satisfies ParameterTable

export const batchEmbedContentsParameters = {
  requests: supported,
  extra_headers: extraHeaders,
  model
} as const satisfies ParameterTable

/** The unchecked body of a generate operation: parsed JSON. */
export type ContentRequest = JsonObject & { [Name in keyof typeof contentParameters]?: JsonValue | undefined }
export type CountTokensRequest = JsonObject & { [Name in keyof typeof countTokensParameters]?: JsonValue | undefined }
export type EmbedContentRequest = JsonObject & { [Name in keyof typeof embedContentParameters]?: JsonValue | undefined }
export type BatchEmbedContentsRequest = JsonObject & {
  [Name in keyof typeof batchEmbedContentsParameters]?: JsonValue | undefined
}

/**
 * The protocol's finish reasons that the gateway can send. `CONTINUATION` is not among them, because the SDK would repeat the
 * request.
 */
export const finishReasons = [
  'STOP',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MALFORMED_FUNCTION_CALL',
  'IMAGE_SAFETY',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'IMAGE_PROHIBITED_CONTENT',
  'NO_IMAGE',
  'IMAGE_RECITATION',
  'IMAGE_OTHER',
  'MALFORMED_RESPONSE'
] as const

export type ContentFinishReason = (typeof finishReasons)[number]

export type ContentTextPart = { text: string; thought?: true; thoughtSignature?: string }
export type ContentCallPart = {
  functionCall: { id: string; name: string; args: JsonObject }
  thoughtSignature?: string
}
export type ContentFilePart =
  | { inlineData: { mimeType: string; data: string }; thoughtSignature?: string }
  | { fileData: { fileUri: string; mimeType?: string }; thoughtSignature?: string }
export type ContentResponsePart = ContentTextPart | ContentCallPart | ContentFilePart

export type ContentGrounding = { groundingChunks: Array<{ web: { uri: string; title: string } }> }

export type ContentCandidate = {
  index: 0
  content: { role: 'model'; parts: ContentResponsePart[] }
  /** Only the last chunk of a stream has one. */
  finishReason?: ContentFinishReason
  /** Only in whole responses, and always empty. */
  safetyRatings?: []
  groundingMetadata?: ContentGrounding
}

/** Counts that the provider did not report are absent. */
export type ContentUsage = {
  promptTokenCount?: number
  /** Without thoughts, which `thoughtsTokenCount` counts. */
  candidatesTokenCount?: number
  totalTokenCount?: number
  cachedContentTokenCount?: number
  thoughtsTokenCount?: number
}

/** A whole response, and every chunk of a stream. */
export type ContentResponse = {
  candidates: [ContentCandidate]
  promptFeedback?: { blockReason: 'BLOCKLIST' }
  modelVersion: string
  responseId: string
  usageMetadata?: ContentUsage
}

export type CountTokensResponse = { totalTokens: number }

export type EmbeddingUsage = { promptTokenCount: number; totalTokenCount: number }
export type EmbedContentResponse = { embedding: { values: number[] }; usageMetadata?: EmbeddingUsage }
export type BatchEmbedContentsResponse = { embeddings: Array<{ values: number[] }>; usageMetadata?: EmbeddingUsage }

export type ContentModel = {
  name: string
  baseModelId: string
  version: ''
  displayName: string
  description: string
  inputTokenLimit?: number
  outputTokenLimit?: number
  supportedGenerationMethods: string[]
}
export type ContentModelList = { models: ContentModel[]; nextPageToken?: string }
