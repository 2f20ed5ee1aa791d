// A worker with a store of responses, in the process of the test, and responses that are put into its store as a request leaves them.

import OpenAI from 'openai'
import type { Test } from 'tap'
import type { Owner, ResponseRecord, ResponseStore } from '../../../shared/memory/store.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { createItemId, createResponseId } from '../../../worker/memory/new-ids.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { providerKinds } from '../../../worker/providers/registry.ts'
import { emulatorVariables, startEmulator } from '../../support/in-process-gateway.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'

export const keys = { first: 'key-of-the-first', second: 'key-of-the-second' } as const

export interface StoringGateway {
  readonly url: string
  readonly store: ResponseStore
  /** A client with the key of this name, at the prefix. */
  client(name: keyof typeof keys, prefix?: string): OpenAI
}

/** Starts a worker that knows two keys. @param store in place of an empty one. */
export async function startStoringGateway(
  t: Test,
  { store, env = {} }: { store?: ResponseStore; env?: Record<string, string> } = {}
): Promise<StoringGateway> {
  const emulator = await startEmulator(t)
  const settings = parseSettings({
    ...emulatorVariables(emulator),
    GATEWAY_ENABLE_API_KEY_AUTH: 'true',
    GATEWAY_API_KEYS: JSON.stringify(keys),
    ...env
  })
  const memory = store ?? (await openTemporaryStore(t))
  const parts = { faces: providerFaces, kinds: providerKinds, memory }
  const { url } = await startWorker(t, workerOptions(settings), parts)
  return {
    url,
    store: memory,
    client: (name, prefix = '') =>
      new OpenAI({ baseURL: `${url}${prefix}`, apiKey: keys[name], maxRetries: 0, timeout: 20_000 })
  }
}

export const first: Owner = { name: 'first' }

export const item = (json: object) => {
  const { id, type = 'message' } = json as { id?: string; type?: string }
  return { id: id ?? createItemId(type), json: Buffer.from(JSON.stringify(json)) }
}

export const message = (text: string, id = createItemId('message')) => ({
  id,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }]
})

/** A response that has ended, of one message unless it has other parts. */
export function createRecord(parts: Partial<ResponseRecord> = {}): ResponseRecord {
  const id = parts.id ?? createResponseId()
  const status = parts.status ?? 'completed'
  const body = {
    id,
    object: 'response',
    created_at: 1_795_187_162,
    completed_at: status === 'completed' ? 1_795_187_165 : null,
    status,
    error: null,
    incomplete_details: null,
    model: 'GigaChat-2',
    output: [],
    usage: null,
    metadata: {},
    store: true,
    tools: [],
    tool_choice: 'auto'
  }
  return {
    id,
    createdAt: body.created_at,
    status,
    model: body.model,
    isBackground: false,
    input: [item({ role: 'user', content: 'hello' })],
    output: [item(message('Hello to you'))],
    body: Buffer.from(JSON.stringify(body)),
    lastSequenceNumber: 9,
    ...parts
  }
}

/** Stores a response of the first key. */
export async function save(store: ResponseStore, parts: Partial<ResponseRecord> = {}): Promise<ResponseRecord> {
  const record = createRecord(parts)
  await store.saveResponse({ owner: first, record })
  return record
}
