// The only list of client protocols and provider kinds, one line each. A further provider kind adds its line here and one in
// `providers/registry.ts`.

import type { ClientProtocol } from '../normalized/index.ts'
import type { ProviderCapabilities } from './capabilities.ts'
import { completionsEmbeddingsFace } from './completions/client/embeddings.ts'
import { completionsFace } from './completions/client/face.ts'
import { chatCompatibleCapabilities } from './completions/provider/capabilities.ts'
import { chatCompatibleFace } from './completions/provider/face.ts'
import { contentTokenCountFace } from './content/client/count-tokens.ts'
import { batchEmbedContentsFace, embedContentFace } from './content/client/embeddings.ts'
import { contentFace } from './content/client/face.ts'
import { contentCompatibleCapabilities } from './content/provider/capabilities.ts'
import { contentCompatibleFace } from './content/provider/face.ts'
import type { ApiMode, ChatClientFace, EmbeddingsClientFace, ProviderFace, TokenCountClientFace } from './face.ts'
import { messagesTokenCountFace } from './messages/client/count-tokens.ts'
import { messagesFace } from './messages/client/face.ts'
import { messagesCompatibleCapabilities } from './messages/provider/capabilities.ts'
import { messagesCompatibleFace } from './messages/provider/face.ts'
import { nativeCapabilities } from './native/capabilities.ts'
import { nativeV1Face } from './native/v1/face.ts'
import { nativeV2Face } from './native/v2/face.ts'
import { responsesFace } from './responses/client/face.ts'

export const clientFaces: Readonly<Record<ClientProtocol, ChatClientFace>> = {
  completions: completionsFace,
  responses: responsesFace,
  messages: messagesFace,
  content: contentFace
}

/** The client faces of token counts, by protocol. */
export const tokenCountFaces = {
  messages: messagesTokenCountFace,
  content: contentTokenCountFace
} satisfies Partial<Record<ClientProtocol, TokenCountClientFace>>

export type TokenCountProtocol = keyof typeof tokenCountFaces

/** The client faces of embeddings, by operation: the content protocol has two. */
export const embeddingsFaces = {
  embeddings: completionsEmbeddingsFace,
  embedContent: embedContentFace,
  batchEmbedContents: batchEmbedContentsFace
} satisfies Record<string, EmbeddingsClientFace>

export type EmbeddingsOperation = keyof typeof embeddingsFaces

/** The face of each provider kind, or its faces by API mode where it has a contract for each. */
export type ProviderFaces = Readonly<Record<string, ProviderFace | Readonly<Record<ApiMode, ProviderFace>>>>

export const providerFaces: ProviderFaces = {
  native: { v1: nativeV1Face, v2: nativeV2Face },
  chat_compatible: chatCompatibleFace,
  content_compatible: contentCompatibleFace,
  messages_compatible: messagesCompatibleFace
}

/** What each provider kind declares about its capabilities. */
export const providerCapabilities: Readonly<Record<string, ProviderCapabilities>> = {
  chat_compatible: chatCompatibleCapabilities,
  content_compatible: contentCompatibleCapabilities,
  messages_compatible: messagesCompatibleCapabilities,
  native: nativeCapabilities
}

/** Finds the face for a plan's kind and API mode. Raises an `Error` for an unregistered kind, which preflight refuses. */
export function findProviderFace(
  faces: ProviderFaces,
  { providerKind, apiMode }: { providerKind: string; apiMode: ApiMode }
): ProviderFace {
  const face = lookUpProviderFace(faces, providerKind, apiMode)
  if (face === undefined) throw new Error(`No provider face is registered for the kind ${providerKind}.`)
  return face
}

/** Like `findProviderFace`; undefined for an unregistered kind. */
export function lookUpProviderFace(
  faces: ProviderFaces,
  providerKind: string,
  apiMode: ApiMode
): ProviderFace | undefined {
  const kind = faces[providerKind]
  return kind === undefined || 'accepts' in kind ? kind : kind[apiMode]
}
