// Records of the store of responses, for tests.
import { randomBytes } from 'node:crypto'
import type { ConversationRecord, Owner, ResponseRecord, ResponseStore, StoredItem } from '../../shared/memory/store.ts'

export const ALICE: Owner = { name: 'alice' }
export const BOB: Owner = { name: 'bob' }
/** The same key name as Alice's, with a credential of the client's own. */
export const ALICE_PASSING: Owner = { name: 'alice', credential: 'a'.repeat(64) }

export const makeId = (prefix: string) => `${prefix}_${randomBytes(24).toString('base64url')}`
export const bytesOf = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
export const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()

/** An item as a client writes it; the gateway gives it an id. */
export function makeItem(text: string, id = makeId('msg')): StoredItem {
  return { id, json: bytesOf({ type: 'message', role: 'user', content: text }) }
}

/** An item of an output, which has its id in its JSON. */
export function makeOutput(text: string, id = makeId('msg')): StoredItem {
  return { id, json: bytesOf({ id, type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }) }
}

export function makeRecord(changes: Partial<ResponseRecord> = {}): ResponseRecord {
  const id = changes.id ?? makeId('resp')
  return {
    id,
    createdAt: 1_767_571_200,
    status: 'completed',
    model: 'gpt-x',
    isBackground: false,
    input: [makeItem(`question ${id}`)],
    output: [makeOutput(`answer ${id}`)],
    body: bytesOf({ id, object: 'response', output: [] }),
    lastSequenceNumber: 7,
    ...changes
  }
}

export function makeConversation(changes: Partial<ConversationRecord> = {}): ConversationRecord {
  return { id: makeId('conv'), createdAt: 1_767_571_200, metadata: bytesOf({ topic: 'tests' }), ...changes }
}

/** Saves a chain of responses and returns them, oldest first. */
export async function saveChain(
  store: ResponseStore,
  { owner = ALICE, length, previousResponseId }: { owner?: Owner; length: number; previousResponseId?: string }
): Promise<ResponseRecord[]> {
  const chain: ResponseRecord[] = []
  let previous = previousResponseId
  for (let turn = 0; turn < length; turn++) {
    const record = makeRecord(previous === undefined ? {} : { previousResponseId: previous })
    await store.saveResponse({ owner, record })
    chain.push(record)
    previous = record.id
  }
  return chain
}
