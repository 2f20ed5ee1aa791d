// What a comparison consists of: requests, the exchanges that they cause, and the cases that send them.

/** A request as it stands on the wire; names and values of the headers in turn. */
export interface WireRequest {
  method: string
  path: string
  headers: string[]
  body: Buffer
}

/** A response as it stands on the wire. */
export interface WireResponse {
  status: number
  headers: string[]
  body: Buffer
  /** `broken`: the connection closed before the end of the body; `silent`: nothing more came before the deadline. */
  end: 'complete' | 'broken' | 'silent'
}

/** What one gateway did during one case. */
export interface Transcript {
  /** Requests to the upstream, in the order of their arrival. */
  upstream: WireRequest[]
  /** Responses to the client, in the order of the requests. */
  client: WireResponse[]
}

/** A request of a case: an object is sent as JSON, a text or bytes as they are. */
export interface CaseRequest {
  /** Default: POST with a body, GET without one. */
  method?: string
  path: string
  headers?: Record<string, string>
  body?: object | string | Buffer
}

/** Orders to the emulator; without effect while a recording is replayed. */
export interface UpstreamOrders {
  respondNext(answer: object): void
  failNext(rule: object): void
  expireTokens(): void
}

export interface Session {
  upstream: UpstreamOrders
  send(request: CaseRequest): Promise<WireResponse>
  /** Sends bytes over a connection of their own and reads until the gateway closes it. */
  sendBytes(bytes: string): Promise<WireResponse>
}

export interface CompareCase {
  name: string
  run(session: Session): Promise<void>
}

/** A pair of gateways with the same settings, and the cases that both of them get. */
export interface Setup {
  name: string
  variables: Record<string, string>
  cases: CompareCase[]
}
