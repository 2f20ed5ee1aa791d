// A provider whose model list a test decides, and a profile that discovers it.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { writeChatProfile } from '../../support/profile-gateway.ts'

export interface ProviderState {
  status: number
  models: unknown
  /** Bodies of chats, oldest first. */
  chats: Array<Record<string, unknown>>
  /** Requests for the list. */
  lists: number
  /** Lists are not answered while this is true. */
  isSilent: boolean
}

/** A chat-completions server whose model list the test decides. */
export async function startProvider(t: Test, models: unknown): Promise<{ state: ProviderState; baseUrl: string }> {
  const state: ProviderState = { status: 200, models, chats: [], lists: 0, isSilent: false }
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    if (request.url?.startsWith('/v1/models')) {
      state.lists += 1
      if (state.isSilent) return
      response.writeHead(state.status, { 'content-type': 'application/json' })
      response.end(typeof state.models === 'string' ? state.models : JSON.stringify(state.models))
      return
    }
    state.chats.push(JSON.parse(Buffer.concat(pieces).toString()))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'served' } }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
      })
    )
  }
  const server = createServer((request, response) => void answer(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { state, baseUrl: `http://127.0.0.1:${port}/v1` }
}

export interface Discovered {
  id: string
  baseUrl: string
  prefix?: string
  kind?: 'messages_compatible'
  features?: readonly string[]
}

/** A profile of an external kind whose models are discovered. */
export function writeDiscovered({ id, baseUrl, kind, prefix = `${id}/`, features = ['chat'] }: Discovered) {
  const more = {
    model_inventory: 'dynamic',
    public_prefix: prefix,
    default_capabilities: { features, limits: { context_window: 32_768 } },
    models: undefined
  }
  return writeChatProfile({ id, baseUrl, aliases: [], more, ...(kind !== undefined && { kind }) })
}

export const listOf = (...ids: string[]) => ({ object: 'list', data: ids.map(id => ({ id })) })
