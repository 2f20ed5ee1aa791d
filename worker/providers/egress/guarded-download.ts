// Downloads the file of a URL that a client sent. Every redirect is checked like the first URL, and each connection goes to an address
// that was checked, so that a change of the name's addresses between check and connection has no effect.

import { isIP } from 'node:net'
import { Client } from 'undici'
import { isPublicAddress } from '../../../shared/net/addresses.ts'
import { classifyName } from '../../../shared/net/host-names.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { ResponseHead } from '../../protocols/provider-face.ts'
import { readHeader } from '../../protocols/shared/errors/response-header.ts'
import { abortError, throwIfAborted } from '../http/abort.ts'
import { CallFailure } from '../http/call-failure.ts'
import { runExchange } from '../http/exchange.ts'
import { createPinnedLookup } from './checked-lookup.ts'
import { createNameResolver, type NameResolver } from './name-resolver.ts'

export interface Downloaded {
  bytes: Buffer
  /** The response's media type without parameters, in lower case; '' when it named none. */
  mediaType: string
  /** Path of the last URL, for its file extension. */
  urlPath: string
}

export interface DownloadRequest {
  url: string
  /** The field that an error names. */
  param: string
  signal: AbortSignal
  /** Awaited once, after the name of the first host is resolved and before anything is fetched. What it throws ends the download. */
  admit?: () => Promise<void>
  /**
   * Returns the largest number of bytes, once the response's media type is known. An error that it throws ends the download: a type
   * that is not supported is not downloaded.
   */
  limitFor: (response: { mediaType: string; urlPath: string }) => number
  /** The error for more bytes than that. */
  tooLarge: () => GatewayError
}

/** Rejects with `invalid_url`, `attachment_download_failed`, the error of `limitFor`, or the signal's error. */
export type GuardedDownload = (request: DownloadRequest) => Promise<Downloaded>

/** The dependencies of the download; only tests replace the optional ones. */
export interface DownloadDependencies {
  userAgent: string
  /** All addresses of a name. */
  resolve?: NameResolver
  /** Whether an address may be connected to, public unicast only. */
  isAllowedAddress?: (address: string) => boolean
  connectTimeoutMs?: number
  totalTimeoutMs?: number
  /** Further certificate authorities. */
  ca?: string
}

const REDIRECTS_MAX = 5
const CONNECT_TIMEOUT_MS = 10_000
const TOTAL_TIMEOUT_MS = 30_000

/** Creates the download function; it keeps no connection between two downloads. */
export function createGuardedDownload(dependencies: DownloadDependencies): GuardedDownload {
  const resolve = dependencies.resolve ?? createNameResolver()
  const isAllowed = dependencies.isAllowedAddress ?? isPublicAddress
  const connectTimeoutMs = dependencies.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
  const totalTimeoutMs = dependencies.totalTimeoutMs ?? TOTAL_TIMEOUT_MS

  /** The addresses of a URL's host. One that is not allowed refuses all, because the connector chooses which one it dials. */
  async function checkHost(url: URL, signal: AbortSignal): Promise<string[]> {
    const host = url.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0) {
      if (!isAllowed(host)) throw invalidUrl('The URL leads to an address that is not public.')
      return [host]
    }
    if (classifyName(host) !== 'public') throw invalidUrl('The URL leads to an address that is not public.')
    let addresses: string[]
    try {
      addresses = await resolve(host, signal)
    } catch (thrown) {
      // The request was aborted, or too many names are being resolved.
      if (GatewayError.is(thrown)) throw thrown
      throw invalidUrl('The host of the URL cannot be resolved.', thrown)
    }
    if (addresses.length === 0) throw invalidUrl('The host of the URL cannot be resolved.')
    if (!addresses.every(isAllowed)) throw invalidUrl('The URL leads to an address that is not public.')
    return addresses
  }

  async function fetchHop(
    { url, addresses }: { url: URL; addresses: string[] },
    request: DownloadRequest,
    signal: AbortSignal
  ): Promise<Downloaded | URL> {
    throwIfAborted(signal)
    const client = new Client(url.origin, {
      allowH2: false,
      connect: {
        timeout: connectTimeoutMs,
        lookup: createPinnedLookup(addresses),
        ...(dependencies.ca === undefined ? {} : { ca: dependencies.ca })
      }
    })
    const chunks: Buffer[] = []
    let head: ResponseHead | undefined
    let redirect: URL | undefined
    let mediaType = ''
    let bytesMax = 0
    let length = 0
    try {
      await runExchange({
        dispatcher: client,
        origin: url.origin,
        request: {
          method: 'GET',
          path: `${url.pathname}${url.search}`,
          headers: ['user-agent', dependencies.userAgent, 'accept', '*/*', 'accept-encoding', 'identity']
        },
        receiver: {
          onHead(received, control) {
            head = received
            redirect = readRedirect(received, url)
            if (redirect !== undefined) {
              control.cancel()
              return
            }
            if (received.status !== 200) throw downloadFailed(`status ${received.status}`)
            const encoding = readHeader(received.headers, 'content-encoding')
            if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
              throw downloadFailed('content encoding')
            mediaType =
              (readHeader(received.headers, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
            bytesMax = request.limitFor({ mediaType, urlPath: url.pathname })
            if (Number(readHeader(received.headers, 'content-length')) > bytesMax) throw request.tooLarge()
          },
          onData(pieces) {
            for (const piece of pieces) {
              length += piece.length
              if (length > bytesMax) throw request.tooLarge()
              chunks.push(piece)
            }
          }
        },
        timeouts: {
          connectMs: connectTimeoutMs,
          writeMs: totalTimeoutMs,
          headMs: totalTimeoutMs,
          idleMs: totalTimeoutMs
        },
        signal
      })
    } finally {
      await client.destroy()
    }
    if (redirect !== undefined) return redirect
    if (head === undefined) throw downloadFailed('no response')
    return { bytes: Buffer.concat(chunks, length), mediaType, urlPath: url.pathname }
  }

  async function follow(request: DownloadRequest, deadline: Deadline): Promise<Downloaded> {
    const { signal } = deadline
    let url = readUrl(request.url)
    let addresses = await checkHost(url, signal)
    throwIfAborted(signal)
    if (request.admit !== undefined) {
      deadline.stop()
      await request.admit()
      deadline.start()
    }
    for (let redirects = 0; ; redirects += 1) {
      const result = await fetchHop({ url, addresses }, request, signal)
      if (!(result instanceof URL)) return result
      if (redirects >= REDIRECTS_MAX) throw invalidUrl('The URL redirects too often.')
      url = checkUrl(result)
      addresses = await checkHost(url, signal)
    }
  }

  return async request => {
    // One deadline covers all redirects and the resolving of names; the wait for admission has a bound of its own.
    const deadline = startDeadline(request, totalTimeoutMs)
    try {
      return await raceDeadline(follow(request, deadline), deadline.signal)
    } catch (thrown) {
      if (request.signal.aborted) throw abortError(request.signal)
      throw thrown instanceof Refusal ? thrown.toError(request.param) : toFailure(thrown, request.param)
    } finally {
      deadline.stop()
    }
  }
}

interface Deadline {
  /** Aborted at the deadline, and with the request. */
  signal: AbortSignal
  start(): void
  stop(): void
}

function startDeadline({ signal, param }: DownloadRequest, totalTimeoutMs: number): Deadline {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const deadline: Deadline = {
    signal: AbortSignal.any([signal, controller.signal]),
    start() {
      timer = setTimeout(() => controller.abort(toFailure('total time', param)), totalTimeoutMs)
    },
    stop: () => clearTimeout(timer)
  }
  deadline.start()
  return deadline
}

/** Rejects at an abort, during every wait of the download. */
function raceDeadline<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Names both accepted forms, because clients of other services also send plain base64. */
const EXPECTED_URL = 'An attachment is given as an http or https URL, or as a base64 data URL.'

function readUrl(text: string): URL {
  if (!URL.canParse(text)) throw invalidUrl(EXPECTED_URL)
  return checkUrl(new URL(text))
}

function checkUrl(url: URL): URL {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalidUrl(EXPECTED_URL)
  if (url.username !== '' || url.password !== '') throw invalidUrl('The URL must not carry user information.')
  return url
}

const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308])

function readRedirect(head: ResponseHead, base: URL): URL | undefined {
  if (!REDIRECT_STATUSES.has(head.status)) return undefined
  const location = readHeader(head.headers, 'location')
  if (location === undefined || !URL.canParse(location, base.href)) {
    throw invalidUrl('The URL redirects without saying where.')
  }
  return new URL(location, base)
}

/** A download that is not allowed or failed, before the client's field is known. */
class Refusal extends Error {
  readonly code: 'invalid_url' | 'attachment_download_failed'
  readonly text: string | undefined

  constructor(code: Refusal['code'], options: { text?: string; cause?: unknown }) {
    super(options.text ?? code, { cause: options.cause })
    this.code = code
    this.text = options.text
  }

  toError(param: string): GatewayError {
    return new GatewayError(this.code, {
      param,
      cause: this.cause,
      ...(this.text === undefined ? {} : { message: this.text })
    })
  }
}

function invalidUrl(text: string, cause?: unknown): Refusal {
  return new Refusal('invalid_url', { text, cause })
}

function downloadFailed(cause: unknown): Refusal {
  return new Refusal('attachment_download_failed', { cause })
}

/** An error that the caller raised is kept; every other failure becomes `attachment_download_failed`. */
function toFailure(thrown: unknown, param: string): GatewayError {
  if (GatewayError.is(thrown)) return thrown
  const cause = thrown instanceof CallFailure ? thrown.error : thrown
  return new GatewayError('attachment_download_failed', { param, cause })
}
