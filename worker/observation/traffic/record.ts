// Describes a request that ended as the traffic record that is sent to the writer
// (operations.md 8.1). What is equal in many records is written as JSON once.
import type { OutgoingRecord } from '../../../shared/traffic/batch.ts'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'
import type { Protocol } from '../../operations/operation.ts'
import { rememberCombinations, rememberTexts } from '../../performance/remember-texts.ts'
import { boundText } from '../../translation/captured-body.ts'
import { describeFailure } from '../failure.ts'
import type { Caller, ClosedFacts, RequestFacts, RequestView } from '../observer.ts'
import { type CommonFacts, describeCommon, describeOwn, readCommonFacts } from '../request-metadata.ts'

/** What was seen of a request besides its view and its end. */
export interface SeenFacts {
  /** Read while the connection was open. */
  readonly clientIpHash: string | undefined
  /** Of all exchanges together. */
  readonly upstreamMs: number | undefined
  /** Of the call with the most of them; 0 where no provider was called. */
  readonly upstreamAttempts?: number | undefined
  /** Of a stream; undefined before its first token. */
  readonly firstTokenMs: number | undefined
  /** Further members of the metadata. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** JSON texts of members; one of undefined is left out. */
export type RecordMembers = { readonly [Name in keyof TrafficRecord]?: string | undefined }

export interface RecordWriter {
  /** The record, each of its JSON texts on one line. `content` is what was captured, redacted. */
  write(request: RequestView, closed: ClosedFacts, seen: SeenFacts, content?: RecordMembers): OutgoingRecord
}

/**
 * Names and ids that clients choose are cut here. Columns with them have indexes, and Postgres refuses a row whose index entry exceeds about
 * 2700 bytes: such a request would not be recorded.
 */
const INDEXED_CHARACTERS_MAX = 512

/** The most fields without effect that a record names. */
const IGNORED_FIELDS_MAX = 100

/** Creates the writer. `redactText` is applied to everything that a client has written, also without content capture; `currency` is that of costs. */
export function createRecordWriter(redactText: (text: string) => string, currency?: string): RecordWriter {
  /** A client's text as records have it. */
  function cutIndexed(text: string): string {
    return redactText(text).slice(0, INDEXED_CHARACTERS_MAX).toWellFormed()
  }

  const ignoredName = rememberTexts(redactText)

  /** The same as JSON text; undefined for none. */
  function quote(text: string | undefined): string | undefined {
    return text === undefined ? undefined : JSON.stringify(cutIndexed(text))
  }

  const writeOperation = rememberCombinations((protocol: Protocol, route: string, method: string, status: number) =>
    writeObject({ protocol: `"${protocol}"`, route: quote(route), method: quote(method), status_code: String(status) })
  )

  const writeDestination = rememberCombinations(
    (
      requested: string | undefined,
      effective: string | undefined,
      provider: string | undefined,
      alias: string | undefined,
      profileId: string | undefined,
      status: number | undefined,
      isPriced: boolean
    ) =>
      writeObject({
        model_requested: quote(requested),
        model_effective: quote(effective),
        provider: quote(provider),
        alias: quote(alias),
        profile_id: quote(profileId),
        upstream_status_code: status === undefined ? undefined : String(status),
        currency: isPriced ? quote(currency) : undefined
      })
  )

  const writeSender = rememberCombinations(
    (
      errorType: string | undefined,
      errorCode: string | undefined,
      keyHash: string | undefined,
      ipHash: string | undefined
    ) =>
      writeObject({
        error_type: quote(errorType),
        error_code: quote(errorCode),
        api_key_hash: quote(keyHash),
        client_ip_hash: quote(ipHash)
      })
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

  function writeSharedMetadata(request: RequestView, closed: ClosedFacts, keyName: string | undefined): string {
    const { lifecycle, path, modelSource, evidence } = readCommonFacts(request, closed)
    const { inventoryRevision } = closed.facts
    const isTemplate = path === request.route
    const caller = writeCaller(request.caller)
    return writeCommonMetadata(lifecycle, path, isTemplate, modelSource, evidence, keyName, inventoryRevision, caller)
  }

  /** What no other request has; undefined where there is nothing. */
  function writeOwnMetadata(request: RequestView, closed: ClosedFacts, seen: SeenFacts): string | undefined {
    const { traceContext, clientRequestId, replayOf } = request
    const own = {
      ...describeOwn({ clientRequestId: clientRequestId && redactText(clientRequestId), replayOf }, closed),
      otel_trace_id: traceContext?.traceId,
      otel_span_id: traceContext?.spanId,
      is_stream: closed.facts.isStream === true || request.isStreaming ? true : undefined,
      first_token_ms: seen.firstTokenMs === undefined ? undefined : roundMs(seen.firstTokenMs),
      // How much of a stream its client got (field-lessons.md D9).
      bytes_sent: closed.lifecycle === 'streaming_aborted' ? closed.bytesSent : undefined,
      ignored_fields: closed.facts.ignoredFields?.slice(0, IGNORED_FIELDS_MAX).map(ignoredName),
      upstream_attempts: (seen.upstreamAttempts ?? 0) > 1 ? seen.upstreamAttempts : undefined,
      // A count that is not the provider's (field-lessons.md D6).
      token_count: closed.facts.isTokenEstimate === true ? 'estimate' : undefined,
      ...seen.metadata
    }
    const written = JSON.stringify(own)
    return written === '{}' ? undefined : written
  }

  return {
    write(request, closed, seen, content) {
      const { requestId, traceId, spanId } = request
      const { facts, status, durationMs } = closed
      const requested = facts.model === undefined ? request.readRefusedModel() : facts.requestedModel
      const failure = describeFailure(closed)
      const key = request.readKey()
      const others = writeObject({
        span_id: quote(spanId),
        total_tokens: writeOwnTotal(facts),
        error_field: quote(failure?.field),
        error_message:
          failure?.message === undefined ? undefined : JSON.stringify(boundText(redactText(failure.message))),
        metadata: writeOwnMetadata(request, closed, seen),
        ...content
      })
      return {
        createdAtMs: performance.timeOrigin + request.startedAtMs,
        requestId,
        traceId: traceId === requestId ? requestId : cutIndexed(traceId),
        latencyMs: durationMs,
        upstreamLatencyMs: seen.upstreamMs,
        inputTokens: facts.inputTokens,
        outputTokens: facts.outputTokens,
        costNanos: facts.costNanos,
        shared: [
          writeOperation(request.protocol, request.route, request.method, status),
          writeDestination(
            requested,
            facts.upstreamModel,
            facts.providerKind,
            facts.evidence?.publicAlias,
            facts.profileId,
            closed.upstreamStatus,
            facts.costNanos !== undefined
          ),
          writeSender(closed.errorType, failure?.code, key.hash, seen.clientIpHash),
          writeSharedMetadata(request, closed, key.name)
        ],
        others: others === '{}' ? undefined : others
      }
    }
  }
}

/** The provider's total; undefined where it is the sum that the other end of a batch computes. */
function writeOwnTotal({ inputTokens, outputTokens, totalTokens }: RequestFacts): string | undefined {
  const hasSum = inputTokens !== undefined || outputTokens !== undefined
  const sum = hasSum ? (inputTokens ?? 0) + (outputTokens ?? 0) : undefined
  return totalTokens === undefined || totalTokens === sum ? undefined : String(totalTokens)
}

/** A member without a value is left out. */
function writeObject(members: RecordMembers): string {
  let text = ''
  for (const name in members) {
    const json = members[name as keyof TrafficRecord]
    if (json !== undefined) text += `${text === '' ? '' : ','}"${name}":${json}`
  }
  return `{${text}}`
}

/** Microseconds are what the clock has. */
function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
