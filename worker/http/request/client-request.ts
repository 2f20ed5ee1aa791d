// What a client says with the head of its request: ids, trace, path, key, caller. Each is read from the headers when it is asked for.
import type { IncomingMessage } from 'node:http'
import type { Observation } from '../../observation/observation.ts'
import { ObservedRequest } from '../../observation/observed-request.ts'
import type { Caller, KeyFacts, RemoteParent } from '../../observation/observer.ts'
import { classifyCaller } from './caller.ts'
import type { QueryValues } from './families.ts'
import { type Fingerprint, findCallerKey } from './fingerprint.ts'
import type { ReadKeyFacts } from './key-facts.ts'
import { readTarget, toLocalTarget, withoutQuery } from './path-repair.ts'
import { findReplay, type Replay } from './replay-mark.ts'
import { readClientRequestId, readRemoteParent, readSpanId, readTraceId } from './trace-context.ts'

export interface ClientRequestOptions {
  readonly incoming: IncomingMessage
  readonly query: QueryValues
}

export interface ClientRequestEnvironment {
  readonly fingerprint: Fingerprint
  readonly readKeyFacts: ReadKeyFacts
  readonly observation: Observation | undefined
}

export abstract class ClientRequest extends ObservedRequest {
  readonly incoming: IncomingMessage
  readonly query: QueryValues
  readonly #environment: ClientRequestEnvironment
  #traceId: string | undefined

  constructor({ incoming, query }: ClientRequestOptions, environment: ClientRequestEnvironment) {
    super(environment.observation)
    this.incoming = incoming
    this.query = query
    this.#environment = environment
  }

  get traceId(): string {
    this.#traceId ??= readTraceId(this.incoming.headers, this)
    return this.#traceId
  }

  get spanId(): string | undefined {
    return readSpanId(this.incoming.headers)
  }

  get remoteParent(): RemoteParent | undefined {
    return readRemoteParent(this.incoming.headers)
  }

  get clientRequestId(): string | undefined {
    return readClientRequestId(this.incoming.headers)
  }

  get method(): string {
    return this.incoming.method ?? ''
  }

  /** As the client sent it. */
  get path(): string {
    return withoutQuery(toLocalTarget(readTarget(this.incoming)))
  }

  /** The repaired path, by which the route was found. */
  get routedPath(): string {
    return withoutQuery(this.incoming.url ?? '/')
  }

  get apiKeyHash(): string | undefined {
    const key = findCallerKey(this.incoming.headers, this.query)
    return key === undefined ? undefined : this.#environment.fingerprint(key)
  }

  override readKey(): KeyFacts {
    if (this.apiKeyName !== undefined) return { name: this.apiKeyName }
    return this.#environment.readKeyFacts({ headers: this.incoming.headers, query: this.query })
  }

  get clientIpHash(): string | undefined {
    const { remoteAddress } = this.incoming.socket
    return remoteAddress === undefined ? undefined : this.#environment.fingerprint(remoteAddress)
  }

  get caller(): Caller {
    return classifyCaller(this.incoming.headers)
  }

  /** Whether the client wants every field refused that its route would leave out (decisions.md 71). */
  get refusesUnsupported(): boolean {
    return this.incoming.headers['x-gateway-unsupported'] === 'refuse'
  }

  /** Undefined for the request of a client. */
  get replay(): Replay | undefined {
    return findReplay(this.incoming.socket)
  }

  get replayOf(): string | undefined {
    return this.replay?.sourceId
  }
}
