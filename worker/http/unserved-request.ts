// Requests that never reach the router: malformed ones, and those whose connection closed before they were handled. They are reported to
// observers like all other requests.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { http } from '../../shared/net/node-http.ts'
import { type ErrorCode, GatewayError } from '../normalized/index.ts'
import type { Observation } from '../observation/observation.ts'
import { ObservedRequest, type RequestOutcome, refusedOutcome } from '../observation/observed-request.ts'
import type { Caller, KeyFacts, RemoteParent } from '../observation/observer.ts'
import type { Protocol } from '../operations/operation.ts'
import { classifyCaller } from './request/caller.ts'
import type { RouteDescription } from './request/describe-request.ts'
import { type Fingerprint, findCallerKey } from './request/fingerprint.ts'
import type { ReadKeyFacts } from './request/key-facts.ts'
import { toLocalTarget, withoutQuery } from './request/path-repair.ts'
import { readClientRequestId, readRemoteParent, readSpanId, readTraceId } from './request/trace-context.ts'

export interface UnservedRequestsOptions {
  readonly observation: Observation | undefined
  readonly fingerprint: Fingerprint
  readonly readKeyFacts: ReadKeyFacts
  /** Names the route of a request whose head was read. */
  readonly describe: (incoming: IncomingMessage) => Pick<RouteDescription, 'route' | 'protocol'>
}

export interface UnservedRequests {
  /**
   * The listener is about to refuse on the socket itself: input that is no request, or `incoming`. Returns the id for the header
   * `x-request-id`.
   */
  refuse(status: number, socket: Socket, incoming?: IncomingMessage): string
  /** The connection of a request that was read closed before the request was handled. */
  skip(outgoing: ServerResponse): void
}

export function createUnservedRequests({
  observation,
  fingerprint,
  readKeyFacts,
  describe
}: UnservedRequestsOptions): UnservedRequests {
  return {
    refuse(status, socket, incoming) {
      const head = { headers: incoming?.headers ?? {}, address: socket.remoteAddress }
      const hashes = observation === undefined ? {} : computeHashes(head, fingerprint)
      const named = observation === undefined || incoming === undefined ? UNKNOWN : describe(incoming)
      const request = new UnservedRequest(observation, {
        ...named,
        ...hashes,
        incoming,
        readKeyFacts,
        failure: new GatewayError(codeOf(status), { status, message: http.STATUS_CODES[status] ?? 'Bad Request' }),
        outcome: refusedOutcome(status)
      })
      const sentBefore = socket.bytesWritten
      request.firstByte()
      socket.once('close', () => request.end(socket.bytesWritten - sentBefore))
      return request.requestId
    },
    skip(outgoing) {
      if (observation === undefined) return
      const outcome = { status: 499, lifecycle: 'request_aborted', errorType: 'request_cancelled' } as const
      const { req: incoming } = outgoing
      const hashes = computeHashes({ headers: incoming.headers, address: incoming.socket.remoteAddress }, fingerprint)
      const failure = new GatewayError('client_disconnected')
      const named = describe(incoming)
      new UnservedRequest(observation, { ...named, ...hashes, incoming, outcome, failure, readKeyFacts }).end(0)
    }
  }
}

/** The code of a refusal on the socket itself (`client-error.ts`). */
function codeOf(status: number): ErrorCode {
  if (status === 405) return 'method_not_allowed'
  return status === 408 ? 'request_timeout' : 'invalid_request'
}

/** Of a request whose head could not be read. */
const UNKNOWN = { route: 'unmatched', protocol: 'system' } as const

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
  readonly route: string
  readonly path: string
  readonly protocol: Protocol
  readonly isStreaming = false
  readonly apiKeyHash: string | undefined
  readonly clientIpHash: string | undefined
  readonly clientRequestId: string | undefined
  readonly #headers: IncomingHttpHeaders
  readonly #outcome: RequestOutcome
  readonly #failure: GatewayError
  readonly #readKeyFacts: ReadKeyFacts

  constructor(
    observation: Observation | undefined,
    request: Hashes & {
      route: string
      protocol: Protocol
      incoming: IncomingMessage | undefined
      outcome: RequestOutcome
      failure: GatewayError
      readKeyFacts: ReadKeyFacts
    }
  ) {
    super(observation)
    const { incoming, outcome } = request
    this.route = request.route
    this.protocol = request.protocol
    this.apiKeyHash = request.apiKeyHash
    this.clientIpHash = request.clientIpHash
    this.#headers = incoming?.headers ?? {}
    this.clientRequestId = readClientRequestId(this.#headers)
    this.spanId = readSpanId(this.#headers)
    this.remoteParent = readRemoteParent(this.#headers)
    this.method = incoming?.method ?? 'OTHER'
    this.path = withoutQuery(toLocalTarget(incoming?.url ?? ''))
    this.#outcome = outcome
    this.#failure = request.failure
    this.#readKeyFacts = request.readKeyFacts
    this.opened(this.#headers)
  }

  get traceId(): string {
    return readTraceId(this.#headers, this)
  }

  get caller(): Caller {
    return classifyCaller(this.#headers)
  }

  override get failure(): GatewayError {
    return this.#failure
  }

  override readKey(): KeyFacts {
    // The query of a request that was not served is not read.
    return this.#readKeyFacts({ headers: this.#headers, query: {} })
  }

  outcome(): RequestOutcome {
    return this.#outcome
  }

  end(bytesSent: number): void {
    this.closed(bytesSent, true)
  }
}
