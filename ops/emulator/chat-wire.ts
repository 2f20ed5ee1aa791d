// The interface of a chat wire, and the input from which every wire writes its response.
import type { ChatRequest, ChatTurn } from './chat-request.ts'
import type { Step } from './directive-steps.ts'
import type { UpstreamError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { FileStore } from './files.ts'
import type { Frame } from './frame.ts'
import type { ModelInventory } from './models.ts'
import type { ResponsePlan } from './response-plan.ts'
import type { ResponseStore } from './responses/store.ts'
import type { EmulatorSettings } from './settings.ts'
import type { StateIds, Thread, ThreadStore } from './threads.ts'

/** The state of the emulator that a wire needs when it reads a request. */
export interface ReadScope {
  account: string
  settings: EmulatorSettings
  models: ModelInventory
  threads: ThreadStore
  files: FileStore
  stateIds: StateIds
  responses: ResponseStore
  /** Adds a note to the record of an accepted request. */
  note: (text: string) => void
  noteUnknownStateId: (id: string) => void
}

export interface ReadResult {
  request: ChatRequest
  /** The thread of a stored conversation, and the new turns that are appended to it together with the response. */
  stored: { thread: Thread; turns: ChatTurn[] } | null
  /** The chat-completions wire sends usage in a stream only when the request asks for it. */
  includeUsage: boolean
  /** The Google wire sends reasoning only when the request asks for it; the other wires always do. */
  showsReasoning?: boolean
}

export interface ResponseContext {
  request: ChatRequest
  plan: ResponsePlan
  /** Model name including its build. */
  model: string
  createdSeconds: number
  stateId: string | null
  threadId: string | null
  messageId: string | null
  /** File id of each tool run, in the order of the runs; `null` for a run without a file. */
  fileIds: Array<string | null>
  includeUsage: boolean
  showsReasoning: boolean
  createId: () => string
}

export interface ChatWire {
  /** `null`: the wire has no state ids. */
  stateIdForm: 'random' | 'time-ordered' | null
  /** @throws UpstreamError with the status and text with which the upstream refuses the request. */
  read: (body: unknown, scope: ReadScope) => ReadResult
  /** Refuses what some services of this wire refuse. Throws UpstreamError. */
  checkStrictly?: (body: unknown, step: Step) => void
  /** Writes the body of a response that is not streamed. */
  write: (context: ResponseContext) => Record<string, unknown>
  /** The text of a whole response that `[[malformed:NAME]]` breaks; undefined for a name that this wire does not have. */
  writeMalformed?: (name: string, body: Record<string, unknown>) => string | undefined
  /** Writes the frames of a streamed response. */
  writeFrames: (context: ResponseContext) => Frame[]
  /** Writes an error inside a stream. */
  writeErrorFrame: (error: { status: number; message: string }) => Frame
  sendError: (exchange: Exchange, error: UpstreamError) => void
  /** Streams are one JSON array in place of server-sent events. */
  isArray?: boolean
}

/** Applies the directives `omit` and `extra` to a body or to the payload of a frame. */
export function adjustPayload(payload: Record<string, unknown>, step: Step): Record<string, unknown> {
  if (step.omit === undefined && step.extra !== true) return payload
  const adjusted: Record<string, unknown> = { ...payload }
  for (const name of step.omit ?? []) delete adjusted[name]
  if (step.extra === true) adjusted.emulator_extra = { list: [1, { deep: true }], note: 'ignore me' }
  return adjusted
}

/** The unknown member that the directive `extra` adds below the top level. */
export function extraMember(step: Step): Record<string, unknown> {
  return step.extra === true ? { emulator_extra: 'ignore me' } : {}
}

/** Notes each unknown file id; with the setting `strictFiles` it throws `createError(id)` instead. */
export function checkFiles(ids: readonly string[], scope: ReadScope, createError: (id: string) => UpstreamError): void {
  for (const id of ids) {
    if (scope.files.has(scope.account, id)) continue
    if (scope.settings.strictFiles) throw createError(id)
    scope.note(`unknown file ${id}`)
  }
}

/** Returns the stored turns of a thread (the newest `limit` turns) followed by the new turns. */
export function joinTurns(thread: Thread | null, turns: ChatTurn[], limit: unknown): ChatTurn[] {
  if (thread === null) return turns
  const stored =
    typeof limit === 'number' && limit >= 0 ? thread.turns.slice(-limit || thread.turns.length) : thread.turns
  return [...stored, ...turns]
}
