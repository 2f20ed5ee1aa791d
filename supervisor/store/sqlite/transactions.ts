// Group commit (memory.md 6): what arrives in one turn of the event loop goes into one transaction, and is acknowledged when that has
// been committed. A database that another process has locked is asked again later, so that the event loop never waits for a lock.
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers'
import Database from 'better-sqlite3'
import { StoreUnavailable } from '../../../shared/memory/store.ts'

/** Time that one transaction takes its questions in; what is left goes into the next. */
const GROUP_MS = 20
const RETRY_MS = 10
const QUESTIONS_MAX = 10_000

export interface Transactions {
  /** Answers from a state that no other question changes meanwhile. */
  read<Answer>(work: () => Answer): Promise<Answer>
  /** Changes all that `work` changes, or nothing where it raises an error. `Undo` is an error with an answer. */
  write<Answer>(work: () => Answer): Promise<Answer>
  /** Waits for the questions that were asked. Later ones are refused. */
  close(): Promise<void>
}

/** Raised to undo what a question has changed, and to answer it. */
export class Undo<Answer> {
  readonly answer: Answer

  constructor(answer: Answer) {
    this.answer = answer
  }
}

interface Question {
  readonly isWrite: boolean
  readonly work: () => unknown
  readonly deadline: number
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface TransactionsOptions {
  readonly database: Database.Database
  /** How long a question waits for a locked database. */
  readonly patienceMs: number
  /** Called with each question's outcome: before the next one where it has changed something, or after it was undone. */
  readonly finish: (isUndone: boolean) => void
}

export function createTransactions({ database, patienceMs, finish }: TransactionsOptions): Transactions {
  const [beginRead, beginWrite, commit, rollback, savepoint, release, undo] = [
    'BEGIN',
    'BEGIN IMMEDIATE',
    'COMMIT',
    'ROLLBACK',
    'SAVEPOINT question',
    'RELEASE question',
    'ROLLBACK TO question'
  ].map(sql => {
    const statement = database.prepare(sql)
    return () => void statement.run()
  }) as [() => void, () => void, () => void, () => void, () => void, () => void, () => void]
  let waiting: Question[] = []
  let isScheduled = false
  let isClosed = false
  let whenIdle: (() => void) | undefined

  function ask<Answer>(isWrite: boolean, work: () => Answer): Promise<Answer> {
    if (isClosed) return Promise.reject(new StoreUnavailable('disconnected'))
    if (waiting.length >= QUESTIONS_MAX) return Promise.reject(new StoreUnavailable('overloaded'))
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const deadline = performance.now() + patienceMs
    waiting.push({ isWrite, work, deadline, resolve: answer => resolve(answer as Answer), reject })
    schedule()
    return promise
  }

  function schedule(delayMs?: number): void {
    if (isScheduled) return
    isScheduled = true
    if (delayMs === undefined) setImmediate(runWaiting)
    else setTimeout(runWaiting, delayMs)
  }

  function runWaiting(): void {
    isScheduled = false
    const questions = waiting
    waiting = []
    runGroup(questions)
    if (waiting.length > 0) schedule()
    else if (!isScheduled) whenIdle?.()
  }

  /** Answers the questions, or puts them back. */
  function runGroup(questions: readonly Question[]): void {
    const hasWrites = questions.some(({ isWrite }) => isWrite)
    const outcomes: Array<() => void> = []
    let taken = 0
    try {
      if (hasWrites) beginWrite()
      else beginRead()
      const end = performance.now() + GROUP_MS
      for (const question of questions) {
        outcomes.push(answer(question))
        taken++
        if (performance.now() > end) break
      }
      commit()
    } catch (error) {
      if (database.inTransaction) rollback()
      finish(true)
      recover(questions, error)
      return
    }
    waiting = [...questions.slice(taken), ...waiting]
    for (const settle of outcomes) settle()
  }

  /** Does the work of one question within the transaction. Raises an error where that has ended the transaction. */
  function answer({ isWrite, work, resolve, reject }: Question): () => void {
    if (isWrite) savepoint()
    try {
      const result = work()
      finish(false)
      if (isWrite) release()
      return () => resolve(result)
    } catch (error) {
      // A full disk, for example, has undone the whole transaction.
      if (!database.inTransaction) throw error
      if (isWrite) {
        undo()
        release()
      }
      finish(true)
      return error instanceof Undo ? () => resolve(error.answer) : () => reject(readError(error))
    }
  }

  /** The whole transaction has failed. What only reads is read alone then; a lock may soon be released. */
  function recover(questions: readonly Question[], error: unknown): void {
    const reads = questions.filter(({ isWrite }) => !isWrite)
    const writes = questions.filter(({ isWrite }) => isWrite)
    if (writes.length > 0 && reads.length > 0) runGroup(reads)
    const failed = writes.length > 0 ? writes : reads
    if (!isBusy(error)) {
      for (const { reject } of failed) reject(readError(error))
      return
    }
    const now = performance.now()
    waiting = [...failed.filter(({ deadline }) => deadline > now), ...waiting]
    for (const { deadline, reject } of failed) {
      if (deadline <= now) reject(new StoreUnavailable('timeout', error))
    }
    if (waiting.length > 0) schedule(RETRY_MS)
  }

  return {
    read: work => ask(false, work),
    write: work => ask(true, work),
    close() {
      isClosed = true
      if (!isScheduled) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      whenIdle = resolve
      return promise
    }
  }
}

/** Whether another connection has the database locked. */
export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code)
}

function readError(error: unknown): StoreUnavailable {
  return new StoreUnavailable('failed', error)
}
