// What the Responses wire stores between requests: each response with the conversation that it ended.
import type { ChatTurn } from '../chat-request.ts'

const RESPONSES_MAX = 1000

export interface StoredResponse {
  body: Record<string, unknown>
  /** The items of the conversation, those of the response included. */
  items: readonly unknown[]
  turns: readonly ChatTurn[]
}

export interface ResponseStore {
  add: (id: string, response: StoredResponse) => void
  find: (id: string) => StoredResponse | undefined
  remove: (id: string) => boolean
}

/** Creates a store of the newest 1000 responses. */
export function createResponseStore(): ResponseStore {
  const responses = new Map<string, StoredResponse>()
  return {
    add(id, response) {
      responses.set(id, response)
      const oldest = responses.size > RESPONSES_MAX ? responses.keys().next().value : undefined
      if (oldest !== undefined) responses.delete(oldest)
    },
    find: id => responses.get(id),
    remove: id => responses.delete(id)
  }
}
