// Calls to the search server through the official client: one place for the bounds, the credentials and the errors. Its errors hold no
// body, no header and no credential, so that they can be logged.
import type { IncomingMessage } from 'node:http'
import { Client, errors } from '@opensearch-project/opensearch'
import { decompress, readContentEncoding } from '../../../../shared/net/content-encoding.ts'

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
/** Of one response, also decompressed: far above the documents of a redaction, which have the longest one. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024

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
    // The client's own option sends nothing when only one of the two is set.
    ...(username === '' && password === '' ? {} : { headers: { authorization: writeBasic(username, password) } })
  })
  const running = new Set<PromiseLike<unknown> & { abort(): void }>()

  return {
    async call({ method, path, query, body, lines }) {
      const request = client.transport.request(
        {
          method,
          path,
          ...(query && { querystring: query }),
          ...(body && { body }),
          ...(lines !== undefined && { bulkBody: lines })
        },
        // The client itself would gather a body without a bound, and a text that is too long for it ends the process.
        { asStream: true }
      )
      running.add(request)
      let isLate = false
      // The client's own timeout begins anew with each byte.
      const timer = setTimeout(() => {
        isLate = true
        request.abort()
      }, timeoutMs)
      try {
        const { statusCode, body: response } = await request
        return { status: statusCode ?? 0, body: await readBody(response as unknown as IncomingMessage) }
      } catch (error) {
        if (error instanceof SearchServerError) throw error
        throw new SearchServerError(isLate ? LATE : describeFailure(error))
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

/** The error of a response that was not expected: the call, the status, the server's name of the error and its reason. */
export function refuseResponse(what: string, response: SearchResponse): SearchServerError {
  return new SearchServerError(
    `The search server answered ${what} with ${response.status}${describeError(response)}.`,
    response.status
  )
}

/** The same for a call with records: a reason of status 400 may quote them. */
export function refuseRecords(what: string, { status, body }: SearchResponse): SearchServerError {
  return refuseResponse(what, {
    status,
    body: status === BAD_REQUEST ? { error: { type: readErrorType(body) } } : body
  })
}

const BAD_REQUEST = 400

function describeError({ body }: SearchResponse): string {
  const [type, reason] = [readErrorType(body), readErrorReason(body)]
  return `${type === undefined ? '' : ` (${type})`}${reason === undefined ? '' : `: ${reason}`}`
}

const REASON_CHARACTERS_MAX = 400

/** Why the server refuses a call, such as the right that the user lacks. */
export function readErrorReason(body: unknown): string | undefined {
  const { error } = readObject(body)
  const reason = typeof error === 'string' ? error : readObject(error).reason
  if (typeof reason !== 'string' || reason === '') return undefined
  return reason.slice(0, REASON_CHARACTERS_MAX).replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
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

/** Reads a body to its end: JSON where the head says so, else text. */
async function readBody(response: IncomingMessage): Promise<unknown> {
  const { 'content-type': type = '', 'content-encoding': encodingName } = response.headers
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Leaving the loop closes the connection.
    if (bytes > RESPONSE_BYTES_MAX) throw tooLong()
    chunks.push(chunk)
  }
  const encoding = readContentEncoding(encodingName) ?? 'identity'
  const content = Buffer.concat(chunks, bytes)
  const whole = encoding === 'identity' ? content : await decompress(content, encoding, RESPONSE_BYTES_MAX)
  if (whole === undefined) throw tooLong()
  const text = whole.toString('utf8')
  return JSON_TYPE.test(type) && text !== '' ? JSON.parse(text) : text
}

const JSON_TYPE = /application\/(?:vnd\.opensearch\+)?json/i

function tooLong(): SearchServerError {
  return new SearchServerError(`The search server answered with more than ${RESPONSE_BYTES_MAX} bytes.`)
}

function writeBasic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

const LATE = 'The search server did not answer in time.'

function describeFailure(error: unknown): string {
  // Its message is the system's or that of TLS; those of other errors may quote the response.
  if (error instanceof errors.ConnectionError) return `The search server cannot be reached: ${error.message}`
  if (error instanceof errors.TimeoutError || error instanceof errors.RequestAbortedError) return LATE
  if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET') {
    return 'The search server broke its response off.'
  }
  return `The call to the search server failed: ${error instanceof Error ? error.name : typeof error}`
}
