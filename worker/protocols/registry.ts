// The only list of client protocols and provider kinds, one line each. A further provider kind adds its line here and one in
// `providers/registry.ts`.

import type { ProviderWire } from '../../shared/profile/profile.ts'
import type { ClientProtocol } from '../normalized/index.ts'
import type { ProviderCapabilities } from './capabilities.ts'
import type { ChatClientFace, EmbeddingsClientFace, TokenCountClientFace } from './client-face.ts'
import { completionsEmbeddingsFace } from './completions/client/embeddings.ts'
import { completionsFace } from './completions/client/face.ts'
import { chatCompatibleCapabilities } from './completions/provider/capabilities.ts'
import { chatCompatibleEmbeddings } from './completions/provider/embeddings.ts'
import { chatCompatibleFace } from './completions/provider/face.ts'
import { chatCompatibleModels } from './completions/provider/models.ts'
import { contentTokenCountFace } from './content/client/count-tokens.ts'
import { batchEmbedContentsFace, embedContentFace } from './content/client/embeddings.ts'
import { contentFace } from './content/client/face.ts'
import { contentCompatibleCapabilities } from './content/provider/capabilities.ts'
import { contentCompatibleFace } from './content/provider/face.ts'
import { messagesTokenCountFace } from './messages/client/count-tokens.ts'
import { messagesFace } from './messages/client/face.ts'
import { messagesCompatibleCapabilities } from './messages/provider/capabilities.ts'
import { messagesCompatibleFace } from './messages/provider/face.ts'
import { nativeCapabilities } from './native/capabilities.ts'
import { nativeV1Face } from './native/v1/face.ts'
import { nativeV2Face } from './native/v2/face.ts'
import type { ApiMode, ProviderFace } from './provider-face.ts'
import { responsesTokenCountFace } from './responses/client/count-tokens.ts'
import { responsesFace } from './responses/client/face.ts'
import { responsesCompatibleCapabilities } from './responses/provider/capabilities.ts'
import { responsesCompatibleFace } from './responses/provider/face.ts'

export const clientFaces: Readonly<Record<ClientProtocol, ChatClientFace>> = {
  completions: completionsFace,
  responses: responsesFace,
  messages: messagesFace,
  content: contentFace
}

/** The client faces of token counts, by protocol. */
export const tokenCountFaces = {
  responses: responsesTokenCountFace,
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

/** What each wire of a kind with several has: its profiles name the wire, and `chat_completions` is that of a profile that names none. */
export interface ByWire<Side> {
  readonly wires: Readonly<Record<ProviderWire, Side>>
}

/** The face of each provider kind, or its faces by API mode or by wire where it has a contract for each. */
export type ProviderFaces = Readonly<
  Record<string, ProviderFace | Readonly<Record<ApiMode, ProviderFace>> | ByWire<ProviderFace>>
>

export const providerFaces: ProviderFaces = {
  native: { v1: nativeV1Face, v2: nativeV2Face },
  // Both wires have the same embeddings and the same list of models.
  chat_compatible: {
    wires: {
      chat_completions: chatCompatibleFace,
      responses: { ...responsesCompatibleFace, embeddings: chatCompatibleEmbeddings, models: chatCompatibleModels }
    }
  },
  content_compatible: contentCompatibleFace,
  messages_compatible: messagesCompatibleFace
}

/** What each provider kind declares about its capabilities. */
export const providerCapabilities: Readonly<Record<string, ProviderCapabilities | ByWire<ProviderCapabilities>>> = {
  chat_compatible: {
    wires: { chat_completions: chatCompatibleCapabilities, responses: responsesCompatibleCapabilities }
  },
  content_compatible: contentCompatibleCapabilities,
  messages_compatible: messagesCompatibleCapabilities,
  native: nativeCapabilities
}

/** What selects the face of a call: its kind, and the API mode or the wire of a kind that has a contract for each. */
export interface FaceSelection {
  providerKind: string
  apiMode: ApiMode
  /** Of the profile; absent where it names none. */
  wire?: ProviderWire | undefined
}

/** Finds the face for a plan. Raises an `Error` for an unregistered kind, which preflight refuses. */
export function findProviderFace(faces: ProviderFaces, selection: FaceSelection): ProviderFace {
  const face = lookUpProviderFace(faces, selection)
  if (face === undefined) throw new Error(`No provider face is registered for the kind ${selection.providerKind}.`)
  return face
}

/** Like `findProviderFace`; undefined for an unregistered kind. */
export function lookUpProviderFace(
  faces: ProviderFaces,
  { providerKind, apiMode, wire }: FaceSelection
): ProviderFace | undefined {
  const kind = faces[providerKind]
  if (kind === undefined || 'accepts' in kind) return kind
  return 'wires' in kind ? selectWire(kind, wire) : kind[apiMode]
}

/** The side of a profile's wire, where its kind has several. */
export function selectWire<Side extends object>(kind: Side | ByWire<Side>, wire: ProviderWire | undefined): Side {
  return 'wires' in kind ? kind.wires[wire ?? 'chat_completions'] : kind
}
