// Requests that never reach the router: malformed heads, and requests whose connection closed before they were handled. They are reported
// to observers like all other requests.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Observation } from '../observation/observation.ts'
import { ObservedRequest, type RequestOutcome, refusedOutcome } from '../observation/observed-request.ts'
import type { Caller, RemoteParent } from '../observation/observer.ts'
import { classifyCaller } from './caller.ts'
import { type Fingerprint, findCallerKey } from './fingerprint.ts'
import { findContext, withoutQuery } from './request-context.ts'
import { readClientRequestId, readRemoteParent, readSpanId, readTraceId } from './trace-context.ts'

export interface UnservedRequestsOptions {
  readonly observation: Observation | undefined
  readonly fingerprint: Fingerprint
}

export interface UnservedRequests {
  /**
   * The listener is about to refuse on the socket itself. Takes the response that the connection has open, if any: its request is the
   * one that is refused; otherwise `incoming` is, where its head was read. Returns the id for the header `x-request-id`.
   */
  refuse(status: number, socket: Socket, current: ServerResponse | undefined, incoming?: IncomingMessage): string
  /** The connection of a request that was read closed before the request was handled. */
  skip(outgoing: ServerResponse): void
}

export function createUnservedRequests({ observation, fingerprint }: UnservedRequestsOptions): UnservedRequests {
  const refused = new WeakSet<ServerResponse>()
  return {
    refuse(status, socket, current, incoming = current?.req) {
      const context = current === undefined ? undefined : findContext(current)
      if (context !== undefined) {
        context.refusedOnSocket(status)
        return context.requestId
      }
      if (current !== undefined) refused.add(current)
      const head = { headers: incoming?.headers ?? {}, address: socket.remoteAddress }
      const hashes = observation === undefined ? {} : computeHashes(head, fingerprint)
      const request = new UnservedRequest(observation, { incoming, outcome: refusedOutcome(status), ...hashes })
      const sentBefore = socket.bytesWritten
      request.firstByte()
      socket.once('close', () => request.end(socket.bytesWritten - sentBefore))
      return request.requestId
    },
    skip(outgoing) {
      if (observation === undefined || refused.has(outgoing)) return
      const outcome = { status: 499, lifecycle: 'request_aborted', errorType: 'request_cancelled' } as const
      const { headers, socket } = outgoing.req
      const hashes = computeHashes({ headers, address: socket.remoteAddress }, fingerprint)
      new UnservedRequest(observation, { incoming: outgoing.req, outcome, ...hashes }).end(0)
    }
  }
}

interface Hashes {
  apiKeyHash?: string | undefined
  clientIpHash?: string | undefined
}

function computeHashes(
  { headers, address }: { headers: IncomingHttpHeaders; address: string | undefined },
  fingerprint: Fingerprint
): Hashes {
  // The query of a request that was not served is not read.
  const key = findCallerKey(headers, {})
  return {
    apiKeyHash: key === undefined ? undefined : fingerprint(key),
    clientIpHash: address === undefined ? undefined : fingerprint(address)
  }
}

class UnservedRequest extends ObservedRequest {
  readonly spanId: string | undefined
  readonly remoteParent: RemoteParent | undefined
  readonly method: string
  readonly route = 'unmatched'
  readonly path: string
  readonly protocol = 'system'
  readonly isStreaming = false
  readonly apiKeyHash: string | undefined
  readonly clientIpHash: string | undefined
  readonly clientRequestId: string | undefined
  readonly #headers: IncomingHttpHeaders
  readonly #outcome: RequestOutcome

  constructor(
    observation: Observation | undefined,
    request: Hashes & { incoming: IncomingMessage | undefined; outcome: RequestOutcome }
  ) {
    super(observation)
    const { incoming, outcome } = request
    this.apiKeyHash = request.apiKeyHash
    this.clientIpHash = request.clientIpHash
    this.#headers = incoming?.headers ?? {}
    this.clientRequestId = readClientRequestId(this.#headers)
    this.spanId = readSpanId(this.#headers)
    this.remoteParent = readRemoteParent(this.#headers)
    this.method = incoming?.method ?? 'OTHER'
    this.path = withoutQuery(incoming?.url ?? '')
    this.#outcome = outcome
    this.opened(this.#headers)
  }

  get traceId(): string {
    return readTraceId(this.#headers, this)
  }

  get caller(): Caller {
    return classifyCaller(this.#headers)
  }

  outcome(): RequestOutcome {
    return this.#outcome
  }

  end(bytesSent: number): void {
    this.closed(bytesSent, true)
  }
}
