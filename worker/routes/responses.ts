// The operation that creates a response. With a store the gateway keeps the state of its clients
// itself (memory.md 2 and 3).

import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { findLocalFacts, type LocalFacts } from '../http/connections/local-connection.ts'
import type { OperationHandlers } from '../http/mount-operations.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { ChatTurn } from '../memory/chat-turn.ts'
import type { MemoryDependencies, TurnRequest } from '../memory/turn-request.ts'
import { importOnce } from '../performance/import-once.ts'
import { ATTACHMENT_IDS_HEADER } from '../protocols/responses/client/attachment-ids.ts'
import { writeCompactBody } from '../protocols/responses/client/compact-body.ts'
import { NONCE_BYTES, sealSummary } from '../protocols/responses/client/compaction.ts'
import { responsesFace } from '../protocols/responses/client/face.ts'
import type { BackgroundRun } from './background-runs.ts'
import { createChatHandler } from './chat.ts'
import { createTokenCountHandler } from './token-count.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

export function createResponsesHandlers(
  runtime: WorkerRuntime
): OperationHandlers<'createResponse' | 'countResponseInputTokens' | 'compactResponse'> {
  const compactionKey = runtime.compactionKey.key
  const storesByDefault = runtime.settings.responsesStoreDefault === true
  const openTurn = createTurnOpener(runtime)
  const create = createChatHandler(runtime, {
    protocol: 'responses',
    face: responsesFace,
    needsFinalId: isReadByStreamHelper,
    seal: createSealer(runtime),
    openTurn: openTurn?.({}),
    runInBackground: createBackgroundRunner(runtime)
  })
  const countTokens = createTokenCountHandler(runtime, 'responses', openTurn?.({ isCount: true }))
  return {
    async createResponse(request, reply) {
      const { turn, isPreparation } = findLocalFacts(request.raw) ?? NO_FACTS
      const attachmentIds = readAttachmentIdsHeader(request)
      if (isPreparation !== true || turn === undefined) {
        const continued = turn === undefined ? {} : { turn }
        return create(request, reply, { attachmentIds, storesByDefault, compactionKey, ...continued })
      }
      const { prepareResponse } = await import('./responses-websocket/prepare-response.ts')
      return prepareResponse(runtime, { request, reply }, { attachmentIds, compactionKey, turn })
    },
    countResponseInputTokens: (request, reply) => countTokens(request, reply, { compactionKey }),
    compactResponse(request, reply) {
      request.context.body = writeCompactBody(request.context.body)
      return create(request, reply, { compactionKey, isCompactOperation: true })
    }
  }
}

const NO_FACTS: LocalFacts = {}

/** Seals summaries of conversations. Says once that they cannot be opened after a restart, where that is so. */
function createSealer({ compactionKey, log }: WorkerRuntime): (text: string) => string {
  let hasWarned = compactionKey.isLasting
  return text => {
    if (!hasWarned) {
      hasWarned = true
      log.warn(
        { event: 'compaction_key_not_lasting' },
        'Summaries of conversations cannot be read after a restart or by another host: set GATEWAY_FINGERPRINT_KEY'
      )
    }
    return sealSummary(text, compactionKey.key, randomBytes(NONCE_BYTES))
  }
}

/** Undefined without a store: then nothing of the memory is loaded. */
function createTurnOpener(
  runtime: WorkerRuntime
): ((kind: Pick<TurnRequest, 'isCount'>) => (context: RequestContext) => Promise<ChatTurn | undefined>) | undefined {
  const { memory, routes, faces, settings, log, clock, drainGate, translator } = runtime
  if (memory === undefined) return undefined
  const load = importOnce(async () => ({
    ...(await import('../memory/open-turn.ts')),
    ...(await import('../memory/owner.ts'))
  }))
  const dependencies: MemoryDependencies = {
    store: memory,
    routes,
    faces,
    storesByDefault: settings.responsesStoreDefault !== false,
    bodyBytesMax: settings.maxRequestBodyBytes * BODY_GROWTH_MAX,
    log,
    nowMs: () => clock.nowMs(),
    ownTurn: () => translator.ownTurn(),
    onPending: drainGate.hold
  }
  return kind => async context => {
    const { openTurn, readOwner } = await load()
    const { body, apiMode, signal, logIds, startedAtEpochMs } = context
    const createdAt = Math.floor(startedAtEpochMs / 1000)
    return openTurn(dependencies, {
      body,
      apiMode,
      signal,
      logIds,
      createdAt,
      owner: readOwner(context),
      scope: context.modelScope,
      ...kind
    })
  }
}

/** Loaded with the first response in the background. */
function createBackgroundRunner({ memory, log }: WorkerRuntime): ((run: BackgroundRun) => Promise<void>) | undefined {
  if (memory === undefined) return undefined
  const load = importOnce(async () => {
    const { createBackgroundRuns } = await import('./background-runs.ts')
    return createBackgroundRuns({ store: memory, log })
  })
  return async run => (await load()).start(run)
}

/** How many times the longest body of a client a body with its history may have (memory.md 3). */
const BODY_GROWTH_MAX = 4

/**
 * The SDK's stream helper names itself in a header; it refuses a response whose id changes (ADR
 * 2026-11-21-ids-of-streamed-responses).
 */
function isReadByStreamHelper(request: FastifyRequest): boolean {
  return request.headers['x-stainless-helper-method'] === 'stream'
}

function readAttachmentIdsHeader(request: FastifyRequest): string | undefined {
  const header = request.headers[ATTACHMENT_IDS_HEADER]
  return Array.isArray(header) ? header.join(',') : header
}
