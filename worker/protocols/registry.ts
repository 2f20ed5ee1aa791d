// The only list of client protocols and provider kinds, one line each. A further provider kind adds its line here and one in
// `providers/registry.ts`.

import type { ClientProtocol } from '../normalized/index.ts'
import { completionsFace } from './completions/client/face.ts'
import { contentFace } from './content/client/face.ts'
import type { ApiMode, ChatClientFace, ProviderFace } from './face.ts'
import { messagesFace } from './messages/client/face.ts'
import { nativeV1Face } from './native/v1/face.ts'
import { nativeV2Face } from './native/v2/face.ts'
import { responsesFace } from './responses/client/face.ts'

export const clientFaces: Readonly<Record<ClientProtocol, ChatClientFace>> = {
  completions: completionsFace,
  responses: responsesFace,
  messages: messagesFace,
  content: contentFace
}

/** The faces of each provider kind by API mode; a kind with one contract has the same face twice. */
export type ProviderFaces = Readonly<Record<string, Readonly<Record<ApiMode, ProviderFace>>>>

export const providerFaces: ProviderFaces = {
  native: { v1: nativeV1Face, v2: nativeV2Face }
}

/** Finds the face for a plan's kind and API mode. Raises an `Error` for an unregistered kind, which preflight refuses. */
export function findProviderFace(
  faces: ProviderFaces,
  { providerKind, apiMode }: { providerKind: string; apiMode: ApiMode }
): ProviderFace {
  const kind = faces[providerKind]
  if (kind === undefined) throw new Error(`No provider face is registered for the kind ${providerKind}.`)
  return kind[apiMode]
}
