// What a chat wire has to provide, and the pieces of an answer that every wire is given.
import type { ChatRequest, ChatTurn } from './chat-request.ts'
import type { Step } from './directive-steps.ts'
import type { UpstreamError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { FileStore } from './files.ts'
import type { ModelInventory } from './models.ts'
import type { AnswerPlan } from './scenario.ts'
import type { EmulatorSettings } from './settings.ts'
import type { StateIds, Thread, ThreadStore } from './threads.ts'

/** What a reader may look at while it checks a request. */
export interface ReadScope {
  account: string
  settings: EmulatorSettings
  models: ModelInventory
  threads: ThreadStore
  files: FileStore
  stateIds: StateIds
  /** Notes something that is accepted but worth seeing in the record. */
  note: (text: string) => void
  noteUnknownStateId: (id: string) => void
}

export interface ReadResult {
  request: ChatRequest
  /** Set when the conversation is kept; `turns` are the new ones, to be remembered with the answer. */
  kept: { thread: Thread; turns: ChatTurn[] } | null
  /** The chat-completions wire sends usage in a stream only when asked. */
  includeUsage: boolean
}

export interface ResponseContext {
  request: ChatRequest
  plan: AnswerPlan
  /** Model name with its build. */
  model: string
  createdSeconds: number
  stateId: string | null
  threadId: string | null
  messageId: string | null
  /** File ids of the tool runs, in their order; `null` for a run without a file. */
  fileIds: Array<string | null>
  includeUsage: boolean
  createId: () => string
}

export interface Frame {
  event: string | null
  data: string
  /** `finish` carries the finish reason, `done` is the marker behind it. */
  kind: 'delta' | 'finish' | 'done'
}

export interface ChatWire {
  stateIdForm: 'random' | 'time-ordered'
  /** @throws UpstreamError as the upstream refuses such a request. */
  read: (body: unknown, scope: ReadScope) => ReadResult
  /** The whole body of an answer that is not streamed. */
  write: (context: ResponseContext) => Record<string, unknown>
  /** The frames of a streamed answer. */
  writeFrames: (context: ResponseContext) => Frame[]
  /** An error inside a stream. */
  writeErrorFrame: (error: { status: number; message: string }) => Frame
  sendError: (exchange: Exchange, error: UpstreamError) => void
}

/** Lets the directives `omit` and `extra` work on a body or on the payload of a frame. */
export function adjustPayload(payload: Record<string, unknown>, step: Step): Record<string, unknown> {
  if (step.omit === undefined && step.extra !== true) return payload
  const adjusted: Record<string, unknown> = { ...payload }
  for (const name of step.omit ?? []) delete adjusted[name]
  if (step.extra === true) adjusted.emulator_extra = { list: [1, { deep: true }], note: 'ignore me' }
  return adjusted
}

/** One member that nobody knows, for the places below the top level. */
export function extraMember(step: Step): Record<string, unknown> {
  return step.extra === true ? { emulator_extra: 'ignore me' } : {}
}

/** Refuses an unknown file id when the settings say so. */
export function noteFiles(ids: readonly string[], scope: ReadScope, refuse: (id: string) => UpstreamError): void {
  for (const id of ids) {
    if (scope.files.has(scope.account, id)) continue
    if (scope.settings.strictFiles) throw refuse(id)
    scope.note(`unknown file ${id}`)
  }
}

/** The remembered turns of a thread (the newest `limit` of them) followed by the new ones. */
export function joinTurns(thread: Thread | null, turns: ChatTurn[], limit: unknown): ChatTurn[] {
  if (thread === null) return turns
  const remembered =
    typeof limit === 'number' && limit >= 0 ? thread.turns.slice(-limit || thread.turns.length) : thread.turns
  return [...remembered, ...turns]
}
