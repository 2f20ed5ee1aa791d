// The executor of one provider profile for one credential, for every kind whose calls are a face plus an authorization header.

import type { ProviderWire } from '../../../shared/profile/profile.ts'
import type { SeenCertificates } from '../../../shared/provider-health.ts'
import { GatewayError } from '../../normalized/index.ts'
import { findProviderFace } from '../../protocols/registry.ts'
import type { Executor } from '../types.ts'
import { type ChatDependencies, logPayload } from './chat-call.ts'
import { streamChat } from './chat-stream.ts'
import { completeChat } from './chat-whole.ts'
import { keepFirstCall } from './first-call-sink.ts'
import { fetchModelList } from './model-list.ts'
import type { ErrorRedaction } from './redaction.ts'

export interface HttpExecutorOptions extends ChatDependencies {
  providerKind: string
  /** The wire that the profile names. */
  wire?: ProviderWire | undefined
  /** The options of the profile, for the codecs of its face. */
  faceOptions: unknown
  redaction: ErrorRedaction
  /** Aborted by `close` and `destroy`. */
  lifetime: AbortController
  /** What ends with the executor; absent where other executors use the connections too. */
  connections?: { close(): Promise<void>; destroy(): Promise<void>; certificates?(): SeenCertificates } | undefined
}

/** Creates an executor. It has a method for each codec that its face has. */
export function createHttpExecutor(options: HttpExecutorOptions): Executor {
  const { client, faceOptions, providerKind, wire, lifetime, connections } = options
  const { wrapSink, rethrow } = options.redaction
  // Only chat has a contract for each API mode.
  const { models } = findProviderFace(options.faces, { providerKind, apiMode: 'v1', wire })

  function endLifetime(): void {
    lifetime.abort(new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down' }))
  }

  const executor: Executor = {
    ...(client.sendsRequestHeaders && { forwardsHeaders: true as const }),
    chat(call, context, sink) {
      const run = call.isStream ? streamChat : completeChat
      const shown = call.keepsFirstCallOnly === true ? keepFirstCall(sink) : sink
      return run(options, call, context, wrapSink(shown)).catch(rethrow)
    },
    request(call, context, read) {
      if (call.operation === 'embeddings') logPayload(options, 'upstream_embeddings_request', call.body, context)
      return client.fetchAndRead(call, context, read, options.bounds?.wholeBytesMax).catch(rethrow)
    },
    ...(connections?.certificates !== undefined && { certificates: connections.certificates }),
    stream: (call, context, read) => client.streamAndRead(call, context, read).catch(rethrow),
    async close() {
      endLifetime()
      await connections?.close()
    },
    async destroy() {
      endLifetime()
      await connections?.destroy()
    }
  }
  if (models !== undefined) {
    executor.listModels = async context => fetchModelList(client, models, faceOptions, context).catch(rethrow)
  }
  return executor
}
