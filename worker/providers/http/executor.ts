// The executor of one provider profile for one credential, for every kind whose calls are a face plus an authorization header.

import { CATALOG_SERIALIZED_BYTES_MAX } from '../../../shared/catalog.ts'
import { writeJsonBody } from '../../../shared/json.ts'
import type { ProviderWire } from '../../../shared/profile.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { WrittenCall } from '../../protocols/face.ts'
import { findProviderFace } from '../../protocols/registry.ts'
import type { Executor, UpstreamOperation } from '../types.ts'
import { type ChatDependencies, logPayload } from './chat-call.ts'
import { streamChat } from './chat-stream.ts'
import { completeChat } from './chat-whole.ts'
import type { ProviderCall } from './client.ts'
import { keepFirstCall } from './first-call-sink.ts'
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
  connections?: { close(): Promise<void>; destroy(): Promise<void> } | undefined
}

/** A model list may hold members that the catalog drops; a list that is far beyond the catalog's bound is not read to its end. */
const MODEL_LIST_BYTES_MAX = 4 * CATALOG_SERIALIZED_BYTES_MAX

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
      return client.fetchAndRead(call, context, read).catch(rethrow)
    },
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
    executor.listModels = async context => {
      const written = models.write(faceOptions)
      return client
        .fetchJson(toProviderCall('models', written), context, body => models.read(body), MODEL_LIST_BYTES_MAX)
        .catch(rethrow)
    }
  }
  return executor
}

function toProviderCall(
  operation: UpstreamOperation,
  { method, path, headers, body, bytes }: WrittenCall
): ProviderCall {
  const call = { operation, method, path, headers }
  if (bytes !== undefined) return { ...call, body: bytes }
  return body === undefined ? call : { ...call, body: writeJsonBody(body) }
}
