// What the upstream stores between requests: threads with their messages, and the state ids that it has issued.
import { randomUUID } from 'node:crypto'
import type { ChatTurn } from './chat-request.ts'
import { UpstreamError } from './errors.ts'
import { createTimeOrderedId } from './ids.ts'

const THREADS_MAX = 1000
const TURNS_MAX = 1000
const STATE_IDS_MAX = 10_000

export interface Thread {
  id: string
  account: string
  model: string
  turns: ChatTurn[]
}

export interface ThreadStore {
  start: (input: { account: string; model: string }) => Thread
  /** @throws UpstreamError 404 when the account has no such thread. */
  find: (input: { account: string; id: string }) => Thread
  append: (thread: Thread, turns: readonly ChatTurn[]) => void
}

/** Creates a store of the newest 1000 threads, each with its newest 1000 turns. */
export function createThreadStore(): ThreadStore {
  const threads = new Map<string, Thread>()
  return {
    start({ account, model }) {
      const thread: Thread = { id: randomUUID(), account, model, turns: [] }
      threads.set(thread.id, thread)
      const oldest = threads.size > THREADS_MAX ? threads.keys().next().value : undefined
      if (oldest !== undefined) threads.delete(oldest)
      return thread
    },
    find({ account, id }) {
      const thread = threads.get(id)
      if (thread === undefined || thread.account !== account) throw new UpstreamError(404, 'No such thread')
      return thread
    },
    append(thread, turns) {
      thread.turns = [...thread.turns, ...turns].slice(-TURNS_MAX)
    }
  }
}

export interface StateIds {
  /** Creates a new id in the form of the wire: a version 4 uuid on v1, a time-ordered uuid on v2. */
  issue: (form: 'random' | 'time-ordered') => string
  isIssued: (id: string) => boolean
}

/** Creates a store of the newest 10 000 issued state ids, which detects an id that the emulator has not issued. */
export function createStateIds(now: () => number): StateIds {
  const issued = new Set<string>()
  return {
    issue(form) {
      const id = form === 'random' ? randomUUID() : createTimeOrderedId(now())
      issued.add(id)
      const oldest = issued.size > STATE_IDS_MAX ? issued.values().next().value : undefined
      if (oldest !== undefined) issued.delete(oldest)
      return id
    },
    isIssued: id => issued.has(id)
  }
}
