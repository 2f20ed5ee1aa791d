// Converts the client's messages into turns that both contracts of the native upstream can write: the system text first, adjacent
// texts of one role merged, calls with their results, attachments collected (completions.md 4.1 to 4.5, messages.md 3,
// content.md 3).

import { assertNever, type ContentPart, type MessageRole, type NormalizedMessage } from '../../normalized/index.ts'
import { type MediaPart, selectMedia } from './attachments.ts'
import {
  type CallGroup,
  CallIndex,
  groupCalls,
  type HistoryCall,
  joinGroup,
  lacksResult,
  type UnmatchedResult
} from './history.ts'

type TextRole = 'system' | 'user' | 'assistant'

export interface TextTurn {
  type: 'text'
  role: TextRole
  text: string
  media: MediaPart[]
}

export interface CallTurn {
  type: 'calls'
  text: string
  media: MediaPart[]
  groups: CallGroup[]
}

export interface ResultTurn {
  type: 'result'
  result: UnmatchedResult
}

export type Turn = TextTurn | CallTurn | ResultTurn

export interface Conversation {
  turns: readonly Turn[]
  /** Attachments beyond the limit of a message. */
  droppedAttachments: number
  /** Calls that were left out because later turns follow without their results. */
  droppedToolCalls: number
}

/** Raises `invalid_request` with the path of a tool result that has neither a call nor a name. */
export function readTurns(
  messages: readonly NormalizedMessage[],
  options: { isImageInputEnabled: boolean }
): Conversation {
  const collector = new TurnCollector(options)
  const leading = countLeading(messages)
  if (leading > 0) collector.addSystem(messages.slice(0, leading))
  for (let index = leading; index < messages.length; index++) collector.add(messages[index] as NormalizedMessage)
  const { turns, droppedAttachments } = collector.finish()
  const { kept, droppedToolCalls } = dropAbandonedCalls(sortResults(turns))
  return { turns: mergeNeighbours(kept), droppedAttachments, droppedToolCalls }
}

class TurnCollector {
  readonly #options: { isImageInputEnabled: boolean }
  #openedCalls: CallIndex | undefined
  readonly #turns: Turn[] = []
  /** Position of the first call in the last turn with calls. */
  #firstCallOfLastTurn = 0
  #hasSystem = false
  /** Media of tool results: a result on this wire cannot hold them, so they move to the next user turn. */
  #carried: MediaPart[] = []
  #droppedAttachments = 0

  constructor(options: { isImageInputEnabled: boolean }) {
    this.#options = options
  }

  /** Created for the first call: most conversations have none. */
  get #calls(): CallIndex {
    this.#openedCalls ??= new CallIndex()
    return this.#openedCalls
  }

  /** Adds the instruction: the upstream accepts only one, as the first message. */
  addSystem(messages: readonly NormalizedMessage[]): void {
    let instruction = ''
    for (const message of messages) {
      const text = readText(message)
      if (text !== '') instruction = instruction === '' ? text : `${instruction}\n\n${text}`
    }
    this.#turns.unshift({ type: 'text', role: 'system', text: instruction, media: [] })
    this.#hasSystem = true
  }

  add(message: NormalizedMessage): void {
    const role = mapRole(message.role, this.#hasSystem)
    if (message.role !== 'assistant') this.#openedCalls?.endTurn()
    if (role === 'system') {
      this.addSystem([message])
      return
    }
    const only = message.content.length === 1 ? message.content[0] : undefined
    if (only?.type === 'text' && message.uploadedFiles === undefined) {
      // Shortcut for a single text, the content of nearly all messages.
      this.#addText({ type: 'text', role, text: only.text, media: [] }, message)
      return
    }
    const results = message.content.filter(part => part.type === 'tool-result')
    for (const part of results) {
      const unmatched = this.#calls.addResult(part)
      if (unmatched !== undefined) this.#turns.push({ type: 'result', result: unmatched })
    }
    const { media, dropped } = selectMedia(message, this.#options)
    this.#droppedAttachments += dropped
    if (results.length > 0 && results.length === message.content.length) {
      for (const part of media) this.#carried.push(part)
      return
    }
    const text = readText(message)
    const groups = groupCalls(message)
    if (groups.length > 0) this.#addCalls({ type: 'calls', text, media, groups })
    else this.#addText({ type: 'text', role, text, media }, message)
  }

  finish(): { turns: Turn[]; droppedAttachments: number } {
    this.#flushCarried()
    return { turns: this.#turns, droppedAttachments: this.#droppedAttachments }
  }

  #addText(turn: TextTurn, message: NormalizedMessage): void {
    if (isLeftOut(turn, message)) return
    if (turn.role === 'user') this.#openedCalls?.beginTurn()
    else this.#flushCarried()
    if (this.#carried.length > 0) {
      turn.media = [...this.#carried, ...turn.media]
      this.#carried = []
    }
    this.#turns.push(turn)
  }

  #addCalls(turn: CallTurn): void {
    this.#flushCarried()
    const firstCall = this.#calls.size
    this.#calls.add(turn.groups)
    const last = this.#turns.at(-1)
    // Some protocols send each call as an item of its own: calls without a result between them are one turn.
    const isSameTurn =
      last?.type === 'calls' && turn.text === '' && !this.#calls.hasResultFrom(this.#firstCallOfLastTurn)
    if (isSameTurn) {
      for (const group of turn.groups) joinGroup(last.groups, group)
      return
    }
    this.#turns.push(turn)
    this.#firstCallOfLastTurn = firstCall
  }

  #flushCarried(): void {
    if (this.#carried.length > 0) {
      this.#turns.push({ type: 'text', role: 'user', text: '', media: this.#carried })
    }
    this.#carried = []
  }
}

/** True for an assistant turn that this wire cannot send, such as a signature on an empty text. */
function isLeftOut(turn: TextTurn, { form }: NormalizedMessage): boolean {
  return form === 'pieces' && turn.role === 'assistant' && turn.text === '' && turn.media.length === 0
}

function listCalls(turn: CallTurn): HistoryCall[] {
  return turn.groups.flatMap(group => group.calls)
}

function countLeading(messages: readonly NormalizedMessage[]): number {
  const index = messages.findIndex(message => message.role !== 'system' && message.role !== 'developer')
  return index < 0 ? messages.length : index
}

function mapRole(role: MessageRole, hasSystem: boolean): TextRole {
  switch (role) {
    case 'system':
    case 'developer':
      return hasSystem ? 'user' : 'system'
    case 'assistant':
      return 'assistant'
    case 'user':
    case 'tool':
      return 'user'
    default:
      return assertNever(role)
  }
}

/**
 * The text of a message, without reasoning (field-lessons.md C1). A refusal counts only when there
 * is no other text and no call.
 */
function readText({ content, form }: NormalizedMessage): string {
  const [first] = content
  if (content.length === 1 && first?.type === 'text') return first.text
  if (form === 'pieces') return joinPieces(content)
  const texts: string[] = []
  const refusals: string[] = []
  let hasCall = false
  for (const part of content) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'refusal') refusals.push(part.text)
    else if (part.type === 'tool-call') hasCall = true
  }
  if (texts.every(text => text === '') && !hasCall) return refusals.join('\n')
  return texts.join('\n')
}

/**
 * Joins pieces with nothing, also those with a call between them (decisions.md 60); only a picture
 * or file between separates them.
 */
function joinPieces(content: readonly ContentPart[]): string {
  let text = ''
  let isSeparated = false
  for (const part of content) {
    if (part.type === 'image' || part.type === 'file') isSeparated = text !== ''
    else if (part.type === 'text' && part.text !== '') {
      text += isSeparated ? `\n${part.text}` : part.text
      isSeparated = false
    }
  }
  return text
}

/**
 * Sorts results without calls in the request by call: clients send them as their functions finish, and the results of one upstream
 * message differ in nothing but their order where they have the same function.
 */
function sortResults(turns: readonly Turn[]): readonly Turn[] {
  if (!turns.some(isNumberedResult)) return turns
  const sorted: Turn[] = []
  let run: ResultTurn[] = []
  for (const turn of turns) {
    if (!isOfSameState(run.at(-1), turn)) {
      for (const result of run.sort(compareCalls)) sorted.push(result)
      run = []
    }
    if (turn.type === 'result') run.push(turn)
    else sorted.push(turn)
  }
  for (const result of run.sort(compareCalls)) sorted.push(result)
  return sorted
}

function isNumberedResult(turn: Turn): boolean {
  return turn.type === 'result' && turn.result.callNumber !== undefined
}

function isOfSameState(last: Turn | undefined, turn: Turn): boolean {
  if (last?.type !== 'result' || turn.type !== 'result') return false
  const isNumbered = last.result.callNumber !== undefined && turn.result.callNumber !== undefined
  return isNumbered && last.result.stateId === turn.result.stateId
}

function compareCalls(a: ResultTurn, b: ResultTurn): number {
  return (a.result.callNumber ?? 0) - (b.result.callNumber ?? 0)
}

/**
 * Removes calls without results when later turns follow: the upstream refuses such a history, so
 * every later request of the client would fail (field-lessons.md B8). Calls of the last turn stay,
 * because their results may still come.
 */
function dropAbandonedCalls(turns: readonly Turn[]): { kept: readonly Turn[]; droppedToolCalls: number } {
  if (turns.every(turn => turn.type !== 'calls')) return { kept: turns, droppedToolCalls: 0 }
  const kept: Turn[] = []
  let droppedToolCalls = 0
  for (const [index, turn] of turns.entries()) {
    if (turn.type !== 'calls') {
      kept.push(turn)
      continue
    }
    const calls = listCalls(turn)
    const isLast = index === turns.length - 1 && calls.every(lacksResult)
    const abandoned = isLast ? 0 : calls.filter(lacksResult).length
    if (abandoned === 0) {
      kept.push(turn)
      continue
    }
    droppedToolCalls += abandoned
    const groups = turn.groups
      .map(group => ({ ...group, calls: group.calls.filter(call => !lacksResult(call)) }))
      .filter(group => group.calls.length > 0)
    if (groups.length > 0) kept.push({ ...turn, groups })
    else if (turn.text !== '' || turn.media.length > 0) {
      kept.push({ type: 'text', role: 'assistant', text: turn.text, media: turn.media })
    }
  }
  return { kept, droppedToolCalls }
}

/** Merges adjacent texts of one role, because the upstream expects alternating turns (completions.md 4.3). */
function mergeNeighbours(turns: readonly Turn[]): readonly Turn[] {
  if (!turns.some((turn, index) => isSameRole(turns[index - 1], turn))) return turns
  const merged: Turn[] = []
  let run: TextTurn[] = []
  for (const turn of turns) {
    if (run.length > 0 && !isSameRole(run[0], turn)) {
      merged.push(joinRun(run))
      run = []
    }
    if (turn.type === 'text') run.push(turn)
    else merged.push(turn)
  }
  if (run.length > 0) merged.push(joinRun(run))
  return merged
}

/** Merges turns of one role: their texts joined with line feeds and trimmed. */
function joinRun(run: readonly TextTurn[]): TextTurn {
  const [first] = run as readonly [TextTurn, ...TextTurn[]]
  if (run.length === 1) return first
  const text = run.map(turn => turn.text).join('\n')
  return { ...first, text: text.trim(), media: run.flatMap(turn => turn.media) }
}

function isSameRole(last: Turn | undefined, turn: Turn): boolean {
  return last?.type === 'text' && turn.type === 'text' && last.role === turn.role
}
