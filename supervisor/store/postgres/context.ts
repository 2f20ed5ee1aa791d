// What the tables of the Postgres store share.
import type { Owner } from '../../../shared/memory/store.ts'
import { hashOwner } from '../owner-key.ts'
import type { Sealing } from '../sealing.ts'
import type { Database } from './database.ts'

export interface PostgresContext {
  readonly database: Database
  readonly sealing: Sealing
  /** Of the hashes of owners. */
  readonly ownerSecret: Buffer
  /** Of the keys of items. */
  readonly itemSecret: Buffer
  readonly nowMs: () => number
  readonly maxBytes: number
  /** 0: no limit. */
  readonly maxBytesPerOwner: number
  readonly retentionMs: number
  /** Content of one answer. */
  readonly answerBytesMax: number
}

/** The time before which the last use of an expired thread was. */
export function readExpiry({ nowMs, retentionMs }: PostgresContext): number {
  return Math.floor(nowMs() - retentionMs)
}

export function ownerOf({ ownerSecret }: PostgresContext, owner: Owner): Buffer {
  return hashOwner(ownerSecret, owner)
}

/**
 * What is added for an owner and what is removed keep each other out, whole transactions long: what was found while adding is still there at
 * the end. Many may add at the same time.
 */
export function lockForAdding(owner: Buffer): string {
  return `SELECT pg_advisory_xact_lock_shared(${owner.readBigInt64BE(0)})`
}

export function lockForRemoving(owner: Buffer): string {
  return `SELECT pg_advisory_xact_lock(${owner.readBigInt64BE(0)})`
}

const ID_LENGTH_MAX = 256

/** Whether a text may be the id of a record: what a client asks for can be any text, and Postgres refuses some. */
export function isId(text: string): boolean {
  return text.length <= ID_LENGTH_MAX && !text.includes('\u0000') && text.isWellFormed()
}

/** A text of a provider or a client as Postgres can store it. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd')
}

/** The condition of a thread, with the alias `t`, that has neither expired nor been deleted. */
export function isAlive(expiry: string): string {
  return `(NOT t.is_deleted AND t.used_ms >= ${expiry})`
}
