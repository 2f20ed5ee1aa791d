// The rules that hold for every response of the gateway and for every request that it sends upstream. A broken rule is returned as text.

import { type Family, type HttpResponse, readEnd, readError, readStream } from './readers.ts'
import type { UpstreamRequest } from './upstream.ts'
import type { WireResponse } from './wire-response.ts'

/** What a client asked for, as far as the form of the response depends on it. */
export interface Asked {
  family: Family
  form: 'chat' | 'stream' | 'array-stream' | 'other'
}

/** Codes of errors that are about one field of the body. */
const FIELD_CODES = new Set(['invalid_request', 'unsupported_parameter', 'unsupported_semantic', 'invalid_url'])

export interface RuleContext {
  /** The requests of the case at the upstream. */
  upstream: readonly UpstreamRequest[]
  secrets: readonly string[]
  /** A 400 of the gateway can only be about a field of the body. */
  isFieldFault: boolean
  /** The upstream does not fail with status 200, so that a 500 must be one of the upstream's own. */
  isUpstreamHonest: boolean
}

/** The first rule that a response breaks. */
export function findBrokenRule(response: WireResponse, asked: Asked, context: RuleContext): string | undefined {
  const oddHeader = [...response.headers].find(([, value]) => !/^[\t\x20-\x7e]*$/.test(value))
  if (oddHeader !== undefined) return `the header ${oddHeader.join(': ')} is not ASCII`
  const text = decode(response.bytes)
  if (text === undefined) return 'the response is not UTF-8'
  const raw = response.bytes.toString('latin1')
  const head = [...response.headers].join('\n')
  const leak = context.secrets.find(secret => raw.includes(secret) || head.includes(secret))
  // A response of the upstream may repeat what it likes; an error is the gateway's own text.
  if (leak !== undefined && response.status >= 400) return 'an error has a secret'
  const isStream = asked.form === 'stream' || asked.form === 'array-stream'
  if (response.status === 200 && isStream) return findStreamFault(text, response, asked)
  if (response.end === 'broken') return 'the response breaks off'
  const parsed = parse(text)
  if (parsed === undefined) return `the body of ${response.status} is not JSON`
  if (response.status === 200) return findWholeFault(parsed, asked)
  return findErrorFault({ ...response, text, json: parsed }, asked, context)
}

function findStreamFault(text: string, response: WireResponse, asked: Asked): string | undefined {
  try {
    const end = readEnd(asked, text)
    // A failed stream has no end (decisions.md 108).
    if (response.end === 'broken' && end !== 'error') return 'the stream breaks off behind its end'
    if (response.end === 'complete' && end === 'error') return 'the failed stream does not break off'
    readStream(asked, text)
    return undefined
  } catch (error) {
    return `stream: ${String(error).slice(0, 2000)}`
  }
}

function findWholeFault(parsed: object, { family, form }: Asked): string | undefined {
  if (form !== 'chat') return undefined
  const members = { completions: 'choices', responses: 'output', messages: 'content', content: 'candidates' }
  const list = (parsed as Record<string, unknown>)[members[family]]
  if (!Array.isArray(list)) return `a response without ${members[family]}`
  return family !== 'completions' || list.length === 1 ? undefined : 'not one choice'
}

function findErrorFault(
  response: HttpResponse,
  { family }: Asked,
  { upstream, isFieldFault, isUpstreamHonest }: RuleContext
): string | undefined {
  if (response.status < 400) return `status ${response.status}`
  let error: { kind: string; code: string | null; message: string }
  try {
    error = readError(family, response)
  } catch (thrown) {
    return String(thrown).slice(0, 1000)
  }
  if (error.message === 'Internal server error') return 'an internal error'
  const isUpstreams = upstream.some(({ status }) => status >= 400)
  if (isUpstreamHonest && response.status === 500 && !isUpstreams) return 'a 500 without a cause upstream'
  if (response.status !== 400 || isUpstreams || !isFieldFault) return undefined
  return namesField(family, response.json.error) ? undefined : `a 400 names no field: ${response.text.slice(0, 500)}`
}

// biome-ignore lint/suspicious/noExplicitAny: the envelope has been checked.
function namesField(family: Family, error: any): boolean {
  switch (family) {
    case 'completions':
    case 'responses':
      return !FIELD_CODES.has(error.code) || typeof error.param === 'string'
    case 'messages':
      return /^[\w-]+(\.[^:]*)?: |['"]?[\w-]+(\.|\[)/.test(error.message) || /^Invalid JSON/.test(error.message)
    case 'content':
      return (
        error.details?.some(
          (detail: { '@type': string; reason?: string }) =>
            /BadRequest$/.test(detail['@type']) || detail.reason !== undefined
        ) === true
      )
  }
}

/** The first rule that the requests break which the gateway sent. `hasNull`: the client's own body has a null. */
export function findUpstreamFault(requests: readonly UpstreamRequest[], hasNull: boolean): string | undefined {
  for (const { path, contentType, body } of requests) {
    if (!contentType.startsWith('application/json')) continue
    const text = decode(body)
    if (text === undefined) return `${path}: not UTF-8 upstream`
    const parsed = parse(text)
    if (parsed === undefined) return `${path}: not JSON upstream`
    if (!isWellFormed(parsed)) return `${path}: a lone surrogate upstream`
    if (!hasNull && hasNullIn(parsed)) return `${path}: a null upstream that the client did not send`
  }
  return undefined
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The parsed object; undefined for anything else. */
function parse(text: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}

function isWellFormed(value: unknown): boolean {
  return !hasIn(value, inner => typeof inner === 'string' && !inner.isWellFormed())
}

export function hasNullIn(value: unknown): boolean {
  return hasIn(value, inner => inner === null)
}

/** Whether a name or a value of a document is such; without recursion, because a client nests as deep as it likes. */
function hasIn(document: unknown, isSuch: (inner: unknown) => boolean): boolean {
  const waiting = [document]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (isSuch(value)) return true
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value)) waiting.push(name, inner)
  }
  return false
}
