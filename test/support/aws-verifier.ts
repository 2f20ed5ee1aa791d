// A service that takes only requests with a right Signature Version 4, recomputed from what arrived as AWS documents it ("Create a signed
// AWS API request"): nothing of a signing library is used.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface AwsAccount {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

export interface SignedMessage {
  method: string
  /** The request target as it arrived. */
  target: string
  /** Names and values in turn, as they arrived. */
  rawHeaders: readonly string[]
  body: Uint8Array
}

export interface VerifierOptions {
  account: AwsAccount
  region: string
  service: string
  nowMs: () => number
}

export interface AwsService {
  origin: string
  /** What was wrong with requests. */
  deviations: string[]
  messages: SignedMessage[]
}

/** Starts the service on loopback. It answers with words, whole or streamed as its client asks, or 403. */
export async function startAwsService(t: Test, options: VerifierOptions): Promise<AwsService> {
  const deviations: string[] = []
  const messages: SignedMessage[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url: target = '', rawHeaders } = request
      const message = { method, target, rawHeaders, body: Buffer.concat(chunks) }
      messages.push(message)
      const wrong = findWrongSignature(message, options)
      if (wrong !== undefined) {
        deviations.push(wrong)
        response.writeHead(403).end('{"oops":"SignatureDoesNotMatch"}')
      } else if (request.headers['accept-encoding'] !== undefined) response.end('{"words":["hi"]}')
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: BEGIN\n\ndata: hi\n\n')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, deviations, messages }
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([A-Z0-9]+)\/(\d{8})\/([a-z0-9-]+)\/([a-z0-9-]+)\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/

/** Returns what is wrong with the signature of a message; undefined for a right one. */
export function findWrongSignature(
  message: SignedMessage,
  { account, region, service, nowMs }: VerifierOptions
): string | undefined {
  const headers = readHeaders(message.rawHeaders)
  if (headers === undefined) return 'a header stands twice'
  const parts = AUTHORIZATION.exec(headers.get('authorization') ?? '')
  if (parts === null) return 'the form of the authorization'
  const [, keyId, day = '', scopeRegion, scopeService, list = '', signature = ''] = parts
  if (keyId !== account.accessKeyId || scopeRegion !== region || scopeService !== service) return 'the scope'
  const date = headers.get('x-amz-date') ?? ''
  const time = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date)
  if (time === null || !date.startsWith(day)) return 'the date'
  const [, year, month, dayOfMonth, hours, minutes, seconds] = time.map(Number)
  const signedMs = Date.UTC(year ?? 0, (month ?? 0) - 1, dayOfMonth, hours, minutes, seconds)
  if (Math.abs(signedMs - nowMs()) > 5 * 60_000) return 'the time'
  if (headers.get('x-amz-security-token') !== account.sessionToken) return 'the session'
  const bodyHash = sha256(message.body)
  if (headers.get('x-amz-content-sha256') !== bodyHash) return 'the hash of the body'
  const signed = list.split(';')
  if (signed.join() !== [...new Set(signed)].sort().join()) return 'the order of the signed headers'
  const isRequired = (name: string) => name === 'host' || name === 'content-type' || name.startsWith('x-amz-')
  const unsigned = [...headers.keys()].find(name => isRequired(name) && !signed.includes(name))
  if (unsigned !== undefined) return `${unsigned} is not signed`
  const expected = computeSignature({ message, headers, signed, bodyHash, date, region, service, account })
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature)) ? undefined : 'the signature'
}

/** The signature of a request: canonical request, string to sign, derived key. */
export function computeSignature({
  message: { method, target },
  headers,
  signed,
  bodyHash,
  date,
  region,
  service,
  account
}: {
  message: Pick<SignedMessage, 'method' | 'target'>
  headers: ReadonlyMap<string, string>
  signed: readonly string[]
  bodyHash: string
  date: string
  region: string
  service: string
  account: AwsAccount
}): string {
  const [path = '', query = ''] = target.split('?')
  const canonical = [
    method,
    // Every service but S3 encodes each segment of the path a second time.
    path.split('/').map(encode).join('/'),
    writeCanonicalQuery(query),
    ...signed.map(name => `${name}:${(headers.get(name) ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signed.join(';'),
    bodyHash
  ].join('\n')
  const day = date.slice(0, 8)
  const scope = `${day}/${region}/${service}/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(Buffer.from(canonical))].join('\n')
  const key = [day, region, service, 'aws4_request'].reduce<Buffer>(
    (derived, part) => createHmac('sha256', derived).update(part).digest(),
    Buffer.from(`AWS4${account.secretAccessKey}`)
  )
  return createHmac('sha256', key).update(toSign).digest('hex')
}

function readHeaders(raw: readonly string[]): Map<string, string> | undefined {
  const headers = new Map<string, string>()
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase()
    if (headers.has(name)) return undefined
    headers.set(name, raw[index + 1] ?? '')
  }
  return headers
}

function writeCanonicalQuery(query: string): string {
  if (query === '') return ''
  const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
  return query
    .split('&')
    .map(pair => {
      const at = pair.indexOf('=')
      const [name, value] = at === -1 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
      return [encode(decode(name)), encode(decode(value))] as const
    })
    .sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1))
    .map(pair => pair.join('='))
    .join('&')
}

/** Every byte but the unreserved characters of RFC 3986. */
function encode(text: string): string {
  return [...Buffer.from(text)]
    .map(byte => {
      const character = String.fromCharCode(byte)
      return /[A-Za-z0-9._~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
