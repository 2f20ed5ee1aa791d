// Every task of the translation, one line each. Tasks are pure, so each runs inline or in a thread of the pool with the same result.

import type { PackedFacts } from '../bridge/model-facts.ts'
import { importOnce } from '../performance/import-once.ts'
import { findProviderFace } from '../protocols/registry.ts'
import { type ChatResponse, type ReadChatResponse, readChatResponse } from '../providers/http/large-responses.ts'
import type { CapturedBody } from './captured-body.ts'
import { translateObservedChat, writeChatResponse } from './chat.ts'
import type { DebugJob } from './debug.ts'
import { translateEmbeddings, translateEmbeddingsResponse } from './embeddings.ts'
import { translateTokenCount, translateTokenCountResponse } from './token-count.ts'
import { decodeTokens } from './token-decoding.ts'
import { estimateTokens } from './token-estimate.ts'
import type { TaskEnvironment } from './types.ts'

// Loaded with the first job: most workers have none.
const loadDebug = importOnce(() => import('./debug.ts'))
const loadCapturedBody = importOnce(() => import('./captured-body.ts'))

export const tasks = {
  'translate-chat': translateObservedChat,
  'read-chat-response': (response: ChatResponse, { faces }: TaskEnvironment): ReadChatResponse =>
    readChatResponse(findProviderFace(faces, response.plan), response),
  'write-chat-response': writeChatResponse,
  'translate-token-count': translateTokenCount,
  'translate-token-count-response': translateTokenCountResponse,
  'translate-embeddings': translateEmbeddings,
  'translate-embeddings-response': translateEmbeddingsResponse,
  'decode-tokens': decodeTokens,
  'estimate-tokens': estimateTokens,
  'translate-debug': async (job: DebugJob, environment: TaskEnvironment) =>
    (await loadDebug()).translateDebug(job, environment),
  'write-captured-body': async (body: CapturedBody) => (await loadCapturedBody()).writeCapturedBody(body)
} satisfies Record<string, (job: never, environment: TaskEnvironment) => unknown>

export type TaskName = keyof typeof tasks
export type Job<Name extends TaskName> = Parameters<(typeof tasks)[Name]>[0]
export type Result<Name extends TaskName> = Awaited<ReturnType<(typeof tasks)[Name]>>

/** A task in the message to a thread. */
export type TaskMessage = { [Name in TaskName]: { name: Name; job: Job<Name>; facts?: PackedFacts } }[TaskName]

/** The message to a thread that has nothing to do: it gives back the memory that its tasks have left. */
export const RELEASE_MEMORY = 'release-memory'

/** Runs a task. Raises or rejects with `GatewayError`. */
export function runTask<Name extends TaskName>(
  name: Name,
  job: Job<Name>,
  environment: TaskEnvironment
): Result<Name> | Promise<Result<Name>> {
  if (!Object.hasOwn(tasks, name)) throw new Error('There is no such task.')
  const run = tasks[name] as (job: Job<Name>, environment: TaskEnvironment) => Result<Name> | Promise<Result<Name>>
  return run(job, environment)
}
