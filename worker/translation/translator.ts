// Decides where a task of the translation runs: inline, or in a thread when its body is so large that it would delay every other request
// of this worker. A thread costs more processor time in total, so small bodies stay inline (ADR 2026-11-21-translation-pool).

import type { ChatConfiguration } from '../bridge/plan-chat.ts'
import { createTurnBudget } from '../performance/turn-budget.ts'
import type { ProviderFaces } from '../protocols/registry.ts'
import type { LargeResponses } from '../providers/http/large-responses.ts'
import type { CapturedBody, WrittenBody } from './captured-body.ts'
import type { DebugJob } from './debug.ts'
import { createPlainChats } from './plain-chats.ts'
import { type Job, type Result, runTask, type TaskName } from './tasks.ts'
import { createThreadPool, type Work } from './thread-pool.ts'
import { decodeTokens } from './token-decoding.ts'
import { estimateTokens } from './token-estimate.ts'
import type {
  ChatJob,
  ChatResponseJob,
  EmbeddingsJob,
  EmbeddingsResponseJob,
  Scoped,
  TaskEnvironment,
  TokenCountJob,
  TokenCountResponseJob,
  TokenDecodingJob,
  TokenEstimateJob,
  TranslatedChat,
  TranslatedEmbeddings,
  TranslatedTokenCount,
  WrittenEmbeddings,
  WrittenResponse
} from './types.ts'
import { weighJson } from './weight.ts'

/** Every method rejects with `GatewayError`: `gateway_overloaded` when no thread becomes free in time, and the errors of its task. */
export interface Translator extends LargeResponses {
  /** Whether writing so many characters would keep the event loop busy for too long. */
  isLarge(characters: number): boolean
  translateChat(job: Scoped<ChatJob>, signal: AbortSignal): Promise<TranslatedChat>
  /** Writes a response of so many characters that this must not happen on the event loop: `isLarge` tells. */
  writeChatResponse(job: ChatResponseJob, characters: number, signal: AbortSignal): Promise<WrittenResponse>
  translateTokenCount(job: Scoped<TokenCountJob>, signal: AbortSignal): Promise<TranslatedTokenCount>
  translateTokenCountResponse(job: TokenCountResponseJob, signal: AbortSignal): Promise<WrittenResponse>
  translateEmbeddings(job: Scoped<EmbeddingsJob>, signal: AbortSignal): Promise<TranslatedEmbeddings>
  translateEmbeddingsResponse(job: EmbeddingsResponseJob, signal: AbortSignal): Promise<WrittenEmbeddings>
  translateDebug(job: DebugJob, signal: AbortSignal): Promise<WrittenResponse>
  /** Writes a captured body for a traffic record, redacted. */
  writeCapturedBody(job: CapturedBody): Promise<WrittenResponse & Pick<WrittenBody, 'isShortened'>>
  /** Tasks that run in a thread or wait for one. */
  readonly poolTasks: number
  /** Ends the threads. */
  close(): Promise<void>
}

export interface TranslatorOptions {
  settings: ChatConfiguration
  /** The faces for inline tasks; threads have those of the registry. */
  faces: ProviderFaces
  /** 0 runs everything inline. */
  threads: number
  /** Tasks that cost as much as a text of so many bytes, or more, run in a thread. */
  thresholdBytes: number
  /** Largest heap of a thread, where the memory is limited. */
  threadHeapBytes?: number | undefined
  /** What the contents of records that wait for a thread may take, where the memory is limited. */
  recordBytes?: number | undefined
  /** Called with how long a task waited for a thread, for the metrics. */
  onPoolWaited?: ((ms: number) => void) | undefined
}

/** An inline task of this weight or more is the only one that begins in its turn of the event loop. */
const TURN_WEIGHT_MIN = 64 * 1024
/** The same for a response, which costs more for each byte: 16 KB may be two hundred tool calls. */
const TURN_RESPONSE_BYTES_MIN = 16 * 1024

export function createTranslator(options: TranslatorOptions): Translator {
  const { settings, faces, threads, thresholdBytes, threadHeapBytes, recordBytes, onPoolWaited } = options
  const pool =
    threads === 0
      ? undefined
      : createThreadPool({
          settings,
          threads,
          heapBytesMax: threadHeapBytes,
          recordBytesMax: recordBytes,
          onWaited: onPoolWaited
        })
  // Debugging has one thread for one task at a time, so that it never takes the place of a client's (decisions.md 103).
  const debugPool =
    threads === 0 ? undefined : createThreadPool({ settings, threads: 1, heapBytesMax: threadHeapBytes })
  const turns = createTurnBudget(TURN_WEIGHT_MIN)
  const environment: TaskEnvironment = {
    settings,
    faces,
    // The tables of the tokenizers are large, so only threads hold them.
    decodeTokens: job =>
      pool === undefined ? decodeTokens(job) : pool.run('decode-tokens', weighTokens(job), NEVER_CANCELLED),
    estimateTokens: job =>
      pool === undefined ? estimateTokens(job) : pool.run('estimate-tokens', weighTexts(job), NEVER_CANCELLED)
  }
  const plainChats = createPlainChats(environment)

  function isLarge(characters: number): boolean {
    return pool !== undefined && characters >= thresholdBytes
  }

  async function run<Name extends TaskName>(
    name: Name,
    work: Work<Job<Name>>,
    signal: AbortSignal
  ): Promise<Result<Name>> {
    if (pool !== undefined && work.weight >= thresholdBytes) return pool.run(name, work, signal)
    if (work.weight >= TURN_WEIGHT_MIN) await turns.wait()
    return runTask(name, work.job, environment)
  }

  async function readPlainOrAll(job: ChatJob, signal: AbortSignal): Promise<TranslatedChat> {
    if (job.bytes.byteLength >= TURN_WEIGHT_MIN) await turns.wait()
    return plainChats.translate(job) ?? (await run('translate-chat', weighRequest(job), signal))
  }

  return {
    isLarge,
    placeReading(bytes) {
      if (isLarge(weighJson(bytes))) return 'thread'
      return bytes.byteLength >= TURN_RESPONSE_BYTES_MIN ? 'own-turn' : 'here'
    },
    ownTurn: () => turns.wait(),
    translateChat: (job, signal) =>
      plainChats.mayTranslate(job) ? readPlainOrAll(job, signal) : run('translate-chat', weighRequest(job), signal),
    // Its weight is known already: `placeReading`.
    readChat: (response, signal) =>
      run('read-chat-response', { ...weighResponse(response), weight: thresholdBytes }, signal),
    writeChatResponse: (job, characters, signal) =>
      run('write-chat-response', { job, weight: characters, bytes: characters, lane: 'responses' }, signal),
    translateTokenCount: (job, signal) => run('translate-token-count', weighRequest(job), signal),
    translateTokenCountResponse: (job, signal) => run('translate-token-count-response', weighResponse(job), signal),
    translateEmbeddings: (job, signal) => run('translate-embeddings', weighRequest(job), signal),
    translateEmbeddingsResponse: (job, signal) => run('translate-embeddings-response', weighResponse(job), signal),
    translateDebug: (job, signal) =>
      debugPool === undefined
        ? run('translate-debug', weighRequest(job), signal)
        : debugPool.run('translate-debug', weighRequest(withOwnBytes(job)), signal),
    writeCapturedBody: job => run('write-captured-body', weighCapture(job, thresholdBytes), NEVER_CANCELLED),
    get poolTasks() {
      return pool?.tasks ?? 0
    },
    close: async () => void (await Promise.all([pool?.close(), debugPool?.close()]))
  }
}

/** What the work of a tokenizer waits for is bounded by the queue alone. */
const NEVER_CANCELLED = new AbortController().signal

const TOKEN_BYTES = 8

/** The bytes of an absent body are one buffer for all requests, and what is moved to a thread is gone here. */
function withOwnBytes(job: DebugJob): DebugJob {
  return job.bytes.byteLength === 0 ? { ...job, bytes: new Uint8Array(0) } : job
}

function weighRequest<Request extends { bytes: Uint8Array }>(job: Request): Work<Request> {
  return { job, weight: weighJson(job.bytes), bytes: job.bytes.byteLength, lane: 'requests' }
}

function weighResponse<Answer extends { bytes: Uint8Array }>(job: Answer): Work<Answer> {
  return { job, weight: weighJson(job.bytes), bytes: job.bytes.byteLength, lane: 'responses' }
}

/** Redacting a text takes several times as long as parsing it (operations.md 8.2). */
const CAPTURE_BYTES_MIN = 64 * 1024

function weighCapture(job: CapturedBody, thresholdBytes: number): Work<CapturedBody> {
  const bytes = job.bytes.byteLength
  return { job, weight: bytes > CAPTURE_BYTES_MIN ? Math.max(bytes, thresholdBytes) : bytes, bytes, lane: 'records' }
}

/** A text is UTF-16 on its way to a thread. */
const CHARACTER_BYTES = 2

function weighTexts(job: TokenEstimateJob): Work<TokenEstimateJob> {
  const bytes = job.texts.reduce((sum, text) => sum + text.length, 0) * CHARACTER_BYTES
  return { job, weight: bytes, bytes, lane: 'requests' }
}

function weighTokens(job: TokenDecodingJob): Work<TokenDecodingJob> {
  const tokens = job.texts.reduce((sum, text) => sum + text.length, 0)
  const bytes = tokens * TOKEN_BYTES
  return { job, weight: bytes, bytes, lane: 'requests' }
}
