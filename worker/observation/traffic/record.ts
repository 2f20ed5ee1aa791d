// Writes the traffic record of a request that ended, as JSON text (operations contract, section 8.1). The text is put together from its
// members, because most of them need no quoting and what is equal in many records is quoted once.
import { randomUUIDv7 } from 'node:crypto'
import { type TrafficRecord, writeRecordTime } from '../../../shared/traffic/record.ts'
import { rememberTexts } from '../../performance/remember-texts.ts'
import type { Caller, ClosedFacts, RequestView } from '../observer.ts'
import { describeMetadata } from '../request-metadata.ts'

/** What was seen of a request besides its view and its end. */
export interface SeenFacts {
  readonly apiKeyHash: string | undefined
  /** Read while the connection was open. */
  readonly clientIpHash: string | undefined
  /** Of the last exchange with the provider. */
  readonly upstreamStatus: string | undefined
  /** Of all exchanges together. */
  readonly upstreamMs: number | undefined
  /** Of a stream; undefined before its first token. */
  readonly firstTokenMs: number | undefined
  /** Further members of the metadata. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** JSON texts of members, in the order of the record; a member of undefined is left out. */
export type RecordMembers = { readonly [Name in keyof TrafficRecord]?: string | undefined }

export interface RecordWriter {
  /** The record as JSON on one line. `content` is what was captured, redacted. */
  write(request: RequestView, closed: ClosedFacts, seen: SeenFacts, content?: RecordMembers): string
}

/**
 * Names and ids that clients choose are cut here. Columns with them have indexes, and Postgres refuses a row whose index entry exceeds about
 * 2700 bytes: such a request would not be recorded.
 */
const INDEXED_CHARACTERS_MAX = 512

/** Creates the writer. `redactText` is applied to everything that a client has written, also without content capture. */
export function createRecordWriter(redactText: (text: string) => string): RecordWriter {
  const callers = new WeakMap<Caller, string>()

  function writeIndexed(text: string): string {
    return JSON.stringify(redactText(text).slice(0, INDEXED_CHARACTERS_MAX).toWellFormed())
  }

  const remembered = rememberTexts(writeIndexed)

  /** The JSON text of a client's text; undefined for none. */
  function quote(text: string | undefined): string | undefined {
    return text === undefined ? undefined : remembered(text)
  }

  /** Ids are new in each request. */
  function quoteId(id: string | undefined): string | undefined {
    return id === undefined ? undefined : writeIndexed(id)
  }

  function writeCaller(caller: Caller): string {
    const known = callers.get(caller)
    if (known !== undefined) return known
    const { user_agent, agent_id } = caller
    const written = JSON.stringify({
      ...caller,
      ...(user_agent !== undefined && { user_agent: redactText(user_agent).toWellFormed() }),
      ...(agent_id !== undefined && { agent_id: redactText(agent_id).toWellFormed() })
    })
    callers.set(caller, written)
    return written
  }

  function writeMetadata(request: RequestView, closed: ClosedFacts, seen: SeenFacts): string {
    const { path, traceContext } = request
    const { client_request_id: clientId, ...described } = describeMetadata(request, closed)
    const text = JSON.stringify({
      ...described,
      path: path === request.route ? path : redactText(path),
      api_key_name: request.apiKeyName,
      inventory_revision: closed.facts.inventoryRevision,
      ...(typeof clientId === 'string' && { client_request_id: redactText(clientId) }),
      ...(traceContext && { otel_trace_id: traceContext.traceId, otel_span_id: traceContext.spanId }),
      ...(seen.firstTokenMs !== undefined && { first_token_ms: roundMs(seen.firstTokenMs) }),
      ...seen.metadata
    })
    return `${text.slice(0, -1)},"annotations":{"caller":${writeCaller(request.caller)}}}`
  }

  return {
    write(request, closed, seen, content = {}) {
      const { requestId, traceId } = request
      const { facts } = closed
      const { inputTokens, outputTokens } = facts
      const members: RecordMembers = {
        id: `"${randomUUIDv7()}"`,
        created_at: `"${writeRecordTime(performance.timeOrigin + request.startedAtMs)}"`,
        request_id: `"${requestId}"`,
        trace_id: traceId === requestId ? `"${traceId}"` : quoteId(traceId),
        span_id: quoteId(request.spanId),
        protocol: `"${request.protocol}"`,
        route: quote(request.route),
        method: quote(request.method),
        status_code: String(closed.status),
        model_requested: quote(facts.model === undefined ? request.readRefusedModel() : facts.requestedModel),
        model_effective: quote(facts.upstreamModel),
        provider: quote(facts.providerKind),
        upstream_status_code: readStatus(seen.upstreamStatus),
        latency_ms: String(roundMs(closed.durationMs)),
        upstream_latency_ms: seen.upstreamMs === undefined ? undefined : String(roundMs(seen.upstreamMs)),
        input_tokens: inputTokens?.toString(),
        output_tokens: outputTokens?.toString(),
        total_tokens: sumTokens(inputTokens, outputTokens)?.toString(),
        error_type: quote(closed.errorType),
        api_key_hash: quote(seen.apiKeyHash),
        client_ip_hash: quote(seen.clientIpHash),
        metadata: writeMetadata(request, closed, seen)
      }
      return `{${joinMembers(members)}${joinMembers(content, ',')}}`
    }
  }
}

/** `before` stands in front of the first member. */
function joinMembers(members: RecordMembers, before = ''): string {
  let text = ''
  let separator = before
  for (const name in members) {
    const json = members[name as keyof TrafficRecord]
    if (json === undefined) continue
    text += `${separator}"${name}":${json}`
    separator = ','
  }
  return text
}

/** Microseconds are what the clock has. */
function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** The status of a response; undefined for the words of calls that got none. */
function readStatus(status: string | undefined): string | undefined {
  return status !== undefined && /^\d{3}$/.test(status) ? status : undefined
}

function sumTokens(input: number | undefined, output: number | undefined): number | undefined {
  return input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0)
}
