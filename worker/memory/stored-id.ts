// Checks ids of stored things before the store is asked, and writes the errors for those that it does not have: another owner's gets the
// same answer as one that does not exist (memory.md 4).

import { STORED_RESPONSE_ID } from '../../shared/memory/store.ts'
import { GatewayError } from '../normalized/index.ts'

export type StoredKind = 'response' | 'conversation' | 'item'

/** The form of the ids that this store gives to conversations. */
const CONVERSATION_ID = /^conv_[A-Za-z0-9_-]{32}$/

/** Clients may give an item any id. */
const ITEM_ID_CHARACTERS_MAX = 1024
/** A longer id is cut in the error. */
const SHOWN_ID_CHARACTERS_MAX = 128

const NAMES: Readonly<Record<StoredKind, string>> = { response: 'Response', conversation: 'Conversation', item: 'Item' }

/** The id. Raises `object_not_found` for one that no stored thing can have. */
export function readStoredId(kind: StoredKind, id: string | undefined): string {
  if (id !== undefined && hasForm(kind, id)) return id
  throw notFound(kind, id ?? '')
}

/** The error for a thing that its owner has not. */
export function notFound(kind: StoredKind, id: string): GatewayError {
  const message = `${NAMES[kind]} with id '${id.slice(0, SHOWN_ID_CHARACTERS_MAX)}' not found.`
  return new GatewayError('object_not_found', { message })
}

function hasForm(kind: StoredKind, id: string): boolean {
  switch (kind) {
    case 'response':
      return STORED_RESPONSE_ID.test(id)
    case 'conversation':
      return CONVERSATION_ID.test(id)
    case 'item':
      return id.length <= ITEM_ID_CHARACTERS_MAX
  }
}
