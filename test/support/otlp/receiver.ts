// A collector in the test's process: it takes OTLP traces over HTTP or gRPC and keeps the spans, or fails in a chosen way.
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js'
import type { Test } from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { decodeSpans, type ReceivedSpan } from './decode.ts'

export type OtlpTransport = 'http' | 'grpc'

/** `hang` never answers; a number is an HTTP status, over gRPC 429 and 503 are `RESOURCE_EXHAUSTED` and `UNAVAILABLE`. */
export type Behaviour = 'accept' | 'hang' | 401 | 429 | 503

export interface OtlpReceiver {
  /** For `GATEWAY_TRACE_COLLECTOR_ENDPOINT`. */
  readonly url: string
  readonly spans: ReceivedSpan[]
  /** One for each export, refused ones included: its headers or metadata, in lower case. */
  readonly exports: Array<Readonly<Record<string, string>>>
  behaviour: Behaviour
  /** Resolves when the condition holds for what has arrived, checked at once and after each export. */
  until(condition: (receiver: OtlpReceiver) => boolean): Promise<void>
  /** Resolves with the spans once there are this many. */
  spansWhen(count: number): Promise<ReceivedSpan[]>
  /** Ends it, with the exports that hang. */
  close(): Promise<void>
}

/** In PEM form. */
export interface ReceiverTls {
  cert: Buffer
  key: Buffer
}

/** Starts a collector on a free port; it closes with the test. */
export async function startOtlpReceiver(t: Test, transport: OtlpTransport, tls?: ReceiverTls): Promise<OtlpReceiver> {
  const receiver = transport === 'http' ? await startHttp(tls) : await startGrpc(tls)
  t.teardown(() => receiver.close())
  return receiver
}

/** The address of a port where nothing listens. */
export async function absentCollector(): Promise<string> {
  return `http://127.0.0.1:${await findFreePort()}`
}

class Collected extends EventEmitter implements Omit<OtlpReceiver, 'url' | 'close'> {
  readonly spans: ReceivedSpan[] = []
  readonly exports: Array<Readonly<Record<string, string>>> = []
  behaviour: Behaviour = 'accept'

  take(headers: Readonly<Record<string, string>>, bytes: Uint8Array): void {
    this.exports.push(headers)
    if (this.behaviour === 'accept') this.spans.push(...decodeSpans(bytes))
    this.emit('export')
  }

  async until(condition: (receiver: OtlpReceiver) => boolean): Promise<void> {
    while (!condition(this as unknown as OtlpReceiver)) await once(this, 'export')
  }

  async spansWhen(count: number): Promise<ReceivedSpan[]> {
    await this.until(({ spans }) => spans.length >= count)
    return this.spans
  }
}

async function startHttp(tls: ReceiverTls | undefined): Promise<OtlpReceiver> {
  const collected = new Collected()
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
    const { behaviour } = collected
    collected.take({ ...(request.headers as Record<string, string>), ':path': request.url ?? '' }, bytes)
    if (behaviour === 'hang') return
    const isKnown = request.method === 'POST' && request.url === '/v1/traces'
    if (!isKnown) response.writeHead(404)
    else if (behaviour !== 'accept') response.writeHead(behaviour)
    else response.writeHead(200, { 'content-type': 'application/x-protobuf' })
    response.end()
  }
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response).catch(() => response.destroy())
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(collected, {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    async close() {
      const closed = server.listening ? once(server, 'close') : undefined
      server.close()
      server.closeAllConnections()
      await closed
    }
  })
}

const EXPORT = {
  path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  requestStream: false,
  responseStream: false,
  requestSerialize: (bytes: Buffer) => bytes,
  requestDeserialize: (bytes: Buffer) => bytes,
  responseSerialize: (bytes: Buffer) => bytes,
  responseDeserialize: (bytes: Buffer) => bytes
} as const

const GRPC_STATUS = { 401: status.UNAUTHENTICATED, 429: status.RESOURCE_EXHAUSTED, 503: status.UNAVAILABLE }

async function startGrpc(tls: ReceiverTls | undefined): Promise<OtlpReceiver> {
  const collected = new Collected()
  const server = new Server()
  server.addService(
    { Export: EXPORT },
    {
      Export(call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) {
        const { behaviour } = collected
        collected.take(call.metadata.getMap() as Record<string, string>, call.request)
        if (behaviour === 'hang') return
        if (behaviour === 'accept') reply(null, Buffer.alloc(0))
        else reply({ code: GRPC_STATUS[behaviour], details: 'refused by the test' })
      }
    }
  )
  const port = await new Promise<number>((resolve, reject) => {
    const credentials =
      tls === undefined
        ? ServerCredentials.createInsecure()
        : ServerCredentials.createSsl(null, [{ cert_chain: tls.cert, private_key: tls.key }])
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })
  return Object.assign(collected, {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    async close() {
      server.forceShutdown()
    }
  })
}
