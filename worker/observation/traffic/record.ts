// Writes the traffic record of a request that ended, as JSON texts (operations contract, section 8.1). What is equal in many records is
// written once; the rest is put together from its members, because most of them need no quoting.
import { randomUUIDv7 } from 'node:crypto'
import type { OutgoingRecord } from '../../../shared/traffic/batch.ts'
import { type TrafficRecord, writeRecordTime } from '../../../shared/traffic/record.ts'
import { rememberCombinations } from '../../performance/remember-texts.ts'
import type { Caller, ClosedFacts, Protocol, RequestView } from '../observer.ts'
import { type CommonFacts, describeCommon, describeOwn, readCommonFacts } from '../request-metadata.ts'

/** What was seen of a request besides its view and its end. */
export interface SeenFacts {
  readonly apiKeyHash: string | undefined
  /** Read while the connection was open. */
  readonly clientIpHash: string | undefined
  /** Of the last exchange with the provider; undefined where it began no response. */
  readonly upstreamStatus: number | undefined
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
  /** The record, each of its texts on one line. `content` is what was captured, redacted. */
  write(request: RequestView, closed: ClosedFacts, seen: SeenFacts, content?: RecordMembers): OutgoingRecord
}

/**
 * Names and ids that clients choose are cut here. Columns with them have indexes, and Postgres refuses a row whose index entry exceeds about
 * 2700 bytes: such a request would not be recorded.
 */
const INDEXED_CHARACTERS_MAX = 512

/** Creates the writer. `redactText` is applied to everything that a client has written, also without content capture. */
export function createRecordWriter(redactText: (text: string) => string): RecordWriter {
  function writeIndexed(text: string): string {
    return JSON.stringify(redactText(text).slice(0, INDEXED_CHARACTERS_MAX).toWellFormed())
  }

  /** The JSON text of a client's text; undefined for none. */
  function quote(text: string | undefined): string | undefined {
    return text === undefined ? undefined : writeIndexed(text)
  }

  const writeOperation = rememberCombinations((protocol: Protocol, route: string, method: string, status: number) =>
    writeObject({ protocol: `"${protocol}"`, route: quote(route), method: quote(method), status_code: String(status) })
  )

  const writeDestination = rememberCombinations(
    (
      requested: string | undefined,
      effective: string | undefined,
      provider: string | undefined,
      status: number | undefined
    ) =>
      writeObject({
        model_requested: quote(requested),
        model_effective: quote(effective),
        provider: quote(provider),
        upstream_status_code: status === undefined ? undefined : String(status)
      })
  )

  const writeSender = rememberCombinations(
    (errorType: string | undefined, keyHash: string | undefined, ipHash: string | undefined) =>
      writeObject({ error_type: quote(errorType), api_key_hash: quote(keyHash), client_ip_hash: quote(ipHash) })
  )

  /** Callers are mostly one of a few objects; one with rare headers is new in each request. */
  const callers = new WeakMap<Caller, string>()

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

  const writeCommonMetadata = rememberCombinations(
    (
      lifecycle: CommonFacts['lifecycle'],
      path: string,
      isTemplate: boolean,
      modelSource: CommonFacts['modelSource'],
      evidence: CommonFacts['evidence'],
      keyName: string | undefined,
      inventoryRevision: string | undefined,
      caller: string
    ) => {
      const common = JSON.stringify({
        ...describeCommon({ lifecycle, path: isTemplate ? path : redactText(path), modelSource, evidence }),
        api_key_name: keyName,
        inventory_revision: inventoryRevision
      })
      return `{"metadata":${common.slice(0, -1)},"annotations":{"caller":${caller}}}}`
    }
  )

  function writeSharedMetadata(request: RequestView, closed: ClosedFacts): string {
    const { lifecycle, path, modelSource, evidence } = readCommonFacts(request, closed)
    const { inventoryRevision } = closed.facts
    const isTemplate = path === request.route
    const caller = writeCaller(request.caller)
    return writeCommonMetadata(
      lifecycle,
      path,
      isTemplate,
      modelSource,
      evidence,
      request.apiKeyName,
      inventoryRevision,
      caller
    )
  }

  /** Undefined where a request has nothing of its own. */
  function writeOwnMetadata(request: RequestView, closed: ClosedFacts, seen: SeenFacts): string | undefined {
    const written = JSON.stringify(describeOwnMetadata(request, closed, seen))
    return written === '{}' ? undefined : written
  }

  /** What no other request has. */
  function describeOwnMetadata(request: RequestView, closed: ClosedFacts, seen: SeenFacts): object {
    const { traceContext } = request
    const { client_request_id: clientId, ...own } = describeOwn(request, closed)
    return {
      ...own,
      client_request_id: clientId === undefined ? undefined : redactText(clientId),
      otel_trace_id: traceContext?.traceId,
      otel_span_id: traceContext?.spanId,
      first_token_ms: seen.firstTokenMs === undefined ? undefined : roundMs(seen.firstTokenMs),
      ...seen.metadata
    }
  }

  return {
    write(request, closed, seen, content = {}) {
      const { requestId, traceId, spanId } = request
      const { facts, status } = closed
      const { inputTokens, outputTokens } = facts
      const requested = facts.model === undefined ? request.readRefusedModel() : facts.requestedModel
      return {
        shared: [
          writeOperation(request.protocol, request.route, request.method, status),
          writeDestination(requested, facts.upstreamModel, facts.providerKind, seen.upstreamStatus),
          writeSender(closed.errorType, seen.apiKeyHash, seen.clientIpHash),
          writeSharedMetadata(request, closed)
        ],
        own:
          `{"id":"${randomUUIDv7()}","created_at":"${writeRecordTime(performance.timeOrigin + request.startedAtMs)}"` +
          `,"request_id":"${requestId}"` +
          `,"trace_id":${traceId === requestId ? `"${traceId}"` : writeIndexed(traceId)}` +
          writeMember('span_id', quote(spanId)) +
          `,"latency_ms":${roundMs(closed.durationMs)}` +
          writeMember('upstream_latency_ms', seen.upstreamMs === undefined ? undefined : roundMs(seen.upstreamMs)) +
          writeMember('input_tokens', inputTokens) +
          writeMember('output_tokens', outputTokens) +
          writeMember('total_tokens', sumTokens(inputTokens, outputTokens)) +
          writeMember('metadata', writeOwnMetadata(request, closed, seen)) +
          `${joinMembers(content)}}`
      }
    }
  }
}

/** Each member behind a comma; one without a value is left out. */
function joinMembers(members: RecordMembers): string {
  let text = ''
  for (const name in members) text += writeMember(name as keyof TrafficRecord, members[name as keyof TrafficRecord])
  return text
}

function writeMember(name: keyof TrafficRecord, json: string | number | undefined): string {
  return json === undefined ? '' : `,"${name}":${json}`
}

function writeObject(members: RecordMembers): string {
  return `{${joinMembers(members).slice(1)}}`
}

/** Microseconds are what the clock has. */
function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

function sumTokens(input: number | undefined, output: number | undefined): number | undefined {
  return input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0)
}
