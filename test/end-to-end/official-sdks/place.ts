// Where the cases of the official SDKs run: a gateway, a model of it, and what is different behind it.

import type { Emulator } from '../../../ops/emulator/server.ts'
import type { ClientProtocol } from '../../../worker/normalized/index.ts'

export interface Place {
  /** In the names of the tests. */
  name: string
  /** The gateway's URL without a path. */
  url: string
  /** The contract that the path of a request names. */
  version: 'v1' | 'v2'
  model: string
  /** A model for embeddings, and the length of its vectors; absent where the provider has no embeddings and requests for them are refused. */
  embeddings?: { model: string; length: number }
  /** What receives the requests of the gateway, and on which path. */
  emulator: Emulator
  chatPath: string
  isNative: boolean
  /** The protocol of the provider's wire: its bodies arrive there as the client sent them. */
  passes?: ClientProtocol
  /** The provider sends each call in one piece, so that a stream cannot break within one. */
  hasWholeCalls?: boolean
  /** The provider signs its calls; a family that has no place for that shows an empty thought in front of the call. */
  signsCalls?: boolean
  /** The client's status for a status of the provider. */
  statusOf(status: number): number
}

/** A contract of the native upstream. */
export function nativePlace(gateway: { url: string }, emulator: Emulator, version: 'v1' | 'v2'): Place {
  return {
    name: version,
    url: gateway.url,
    version,
    model: 'GigaChat-2-Max',
    embeddings: { model: 'Embeddings', length: 1024 },
    emulator,
    chatPath: `/api/${version}/chat/completions`,
    isNative: true,
    statusOf: status => status
  }
}
