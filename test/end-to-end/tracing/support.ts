// A started gateway that exports its spans to a collector in the test's process.

import type { Test } from 'tap'
import type { Emulator } from '../../../ops/emulator/server.ts'
import {
  emulatorVariables,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'
import type { ReceivedSpan } from '../../support/otlp/decode.ts'
import { type OtlpReceiver, type OtlpTransport, startOtlpReceiver } from '../../support/otlp/receiver.ts'

export interface TracedGateway extends ServingGateway {
  readonly emulator: Emulator
  readonly receiver: OtlpReceiver
  /** Resolves with the spans of the request that this response belongs to, the span of the request first. */
  spansOf(response: { headers: Headers }): Promise<ReceivedSpan[]>
}

/** Variables that switch tracing on. */
export function tracingVariables(collector: string, transport: OtlpTransport): Record<string, string> {
  return {
    GATEWAY_OBSERVABILITY_ENABLED: 'true',
    GATEWAY_TRACE_COLLECTOR_ENDPOINT: collector,
    OTEL_EXPORTER_OTLP_PROTOCOL: transport === 'grpc' ? 'grpc' : 'http/protobuf'
  }
}

/** Starts all three; they end with the test. */
export async function startTracedGateway(
  t: Test,
  options: { transport?: OtlpTransport; env?: Record<string, string | undefined> } = {}
): Promise<TracedGateway> {
  const { transport = 'grpc' } = options
  const emulator = await startEmulator(t)
  const receiver = await startOtlpReceiver(t, transport)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), ...tracingVariables(receiver.url, transport), ...options.env }
  })
  return {
    ...gateway,
    emulator,
    receiver,
    spansOf: response => spansOf(receiver, response.headers.get('x-request-id'))
  }
}

/** Resolves with the spans of a request once they have arrived: they are exported together. */
export async function spansOf(receiver: OtlpReceiver, requestId: string | null | undefined): Promise<ReceivedSpan[]> {
  const find = () => receiver.spans.find(({ attributes }) => attributes.request_id === requestId)
  await receiver.until(() => find() !== undefined)
  const server = find() as ReceivedSpan
  return [server, ...receiver.spans.filter(({ parentSpanId }) => parentSpanId === server.spanId)]
}
