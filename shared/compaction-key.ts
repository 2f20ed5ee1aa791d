// The key that summaries of conversations are sealed with (memory.md 5). It is derived from a setting, so that every worker, host and restart
// with the same settings opens them.

import { hkdfSync, randomBytes } from 'node:crypto'
import type { Settings } from './settings.ts'

export interface CompactionKey {
  /** 32 bytes. */
  readonly key: Uint8Array
  /** False for a random key: nothing that was sealed with it can be opened after a restart. */
  readonly isLasting: boolean
}

/** In a message between processes: the key in base64. */
export interface WrittenCompactionKey {
  readonly key: string
  readonly isLasting: boolean
}

const KEY_BYTES = 32
/** Other keys that are derived from the same settings are independent of this one. */
const PURPOSE = 'llm-gateway/compaction'

export function deriveCompactionKey({
  fingerprintKey,
  responsesStoreKey
}: Pick<Settings, 'fingerprintKey' | 'responsesStoreKey'>): CompactionKey {
  const secret = fingerprintKey ?? responsesStoreKey
  if (secret === undefined) return { key: randomBytes(KEY_BYTES), isLasting: false }
  return { key: new Uint8Array(hkdfSync('sha256', secret.reveal(), '', PURPOSE, KEY_BYTES)), isLasting: true }
}

export function writeCompactionKey({ key, isLasting }: CompactionKey): WrittenCompactionKey {
  return { key: Buffer.from(key).toString('base64'), isLasting }
}

export function readCompactionKey({ key, isLasting }: WrittenCompactionKey): CompactionKey {
  // A copy: a thread gets the whole memory that a small buffer shares with others.
  return { key: new Uint8Array(Buffer.from(key, 'base64')), isLasting }
}
