// Calls to the search server through the official client: one place for the deadline, the credentials and the errors. Its errors hold no
// body, no header and no credential, so that they can be logged.
import { Client, errors } from '@opensearch-project/opensearch'

/** The server is not available, or refuses a whole call. */
export class SearchServerError extends Error {
  /** Undefined without a response. */
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.name = 'SearchServerError'
    this.status = status
  }
}

export interface SearchRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** With encoded segments. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  /** Lines of JSON, instead of a body. */
  readonly lines?: string
}

export interface SearchResponse {
  readonly status: number
  /** Parsed JSON; a text for every other content type. */
  readonly body: unknown
}

export interface SearchServer {
  /** Resolves with the response, also with one of an error status. Rejects with `SearchServerError` where none came. */
  call(request: SearchRequest): Promise<SearchResponse>
  /** Aborts the running calls and closes the connections. */
  close(): Promise<void>
}

export interface SearchServerOptions {
  readonly url: string
  readonly username: string | undefined
  readonly password: string | undefined
  /** Bound of one call, from its start to the end of its response. */
  readonly timeoutMs: number
}

/** Connections of one sink: a bulk call and a redaction at the same time. */
const SOCKETS_MAX = 2

/** Creates the client; the first call opens a connection, which is kept. Raises a `TypeError` for something that is not a URL. */
export function connectToSearchServer(options: SearchServerOptions): SearchServer {
  const { timeoutMs } = options
  const address = new URL(options.url)
  const username = options.username ?? decodeURIComponent(address.username)
  const password = options.password ?? decodeURIComponent(address.password)
  address.username = ''
  address.password = ''
  const client = new Client({
    node: address.href,
    // The queue of the sink repeats what fails; the client's own attempts would follow at once, without a pause.
    maxRetries: 0,
    requestTimeout: timeoutMs,
    resurrectStrategy: 'none',
    compression: 'gzip',
    suggestCompression: true,
    agent: { keepAlive: true, maxSockets: SOCKETS_MAX },
    // Captured bodies may have such members, and nothing here merges a parsed object into another one.
    disablePrototypePoisoningProtection: true,
    // The client's own option sends nothing when only one of the two is set.
    ...(username === '' && password === '' ? {} : { headers: { authorization: writeBasic(username, password) } })
  })
  const running = new Set<PromiseLike<unknown> & { abort(): void }>()

  return {
    async call({ method, path, query, body, lines }) {
      const request = client.transport.request({
        method,
        path,
        ...(query && { querystring: query }),
        ...(body && { body }),
        ...(lines !== undefined && { bulkBody: lines })
      })
      running.add(request)
      // The client's own timeout begins anew with each byte.
      const timer = setTimeout(() => request.abort(), timeoutMs)
      try {
        const response = await request
        return { status: response.statusCode ?? 0, body: response.body }
      } catch (error) {
        if (error instanceof errors.ResponseError) return { status: error.meta.statusCode ?? 0, body: error.meta.body }
        throw new SearchServerError(describeFailure(error))
      } finally {
        clearTimeout(timer)
        running.delete(request)
      }
    },
    async close() {
      const aborted = [...running]
      for (const request of aborted) request.abort()
      // The client looks only once a second whether calls have ended.
      await Promise.allSettled(aborted)
      await client.close()
    }
  }
}

/** The error of a response that was not expected: the call, the status and the server's name of the error, without its text. */
export function refuseResponse(what: string, { status, body }: SearchResponse): SearchServerError {
  const type = readErrorType(body)
  return new SearchServerError(
    `The search server answered ${what} with ${status}${type === undefined ? '' : ` (${type})`}.`,
    status
  )
}

/** The name of the error in the body of a response or of a bulk item, such as `mapper_parsing_exception`. */
export function readErrorType(body: unknown): string | undefined {
  const { error } = readObject(body)
  const { type } = readObject(error)
  return typeof type === 'string' && /^[a-z_]{1,80}$/.test(type) ? type : undefined
}

/** The members of an object; none for every other value. */
export function readObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function writeBasic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function describeFailure(error: unknown): string {
  // Its message is the system's or that of TLS; those of other errors may quote the response.
  if (error instanceof errors.ConnectionError) return `The search server cannot be reached: ${error.message}`
  if (error instanceof errors.TimeoutError || error instanceof errors.RequestAbortedError) {
    return 'The search server did not answer in time.'
  }
  return `The call to the search server failed: ${error instanceof Error ? error.name : typeof error}`
}
