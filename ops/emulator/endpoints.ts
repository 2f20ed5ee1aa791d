// The endpoints other than chat (models, embeddings, token counts, files) as a table of method, path and handler.
import { countAnthropicTokens, findAnthropicModel, listAnthropicModels } from './anthropic/resources.ts'
import { writeEmbeddings, writeTokenCounts } from './embeddings.ts'
import { noSuchModel, UpstreamError } from './errors.ts'
import { type Exchange, sendBody, sendJson } from './exchange.ts'
import { storeUpload } from './files.ts'
import { readMultipart } from './multipart.ts'
import { findOpenAiModel, listOpenAiModels, writeOpenAiEmbeddings } from './openai/resources.ts'
import { removeStoredResponse, sendStoredResponse } from './responses/chat.ts'
import type { EmulatorState } from './state.ts'

type Handler = (exchange: Exchange, body: Buffer, state: EmulatorState) => Promise<void> | void

export interface Endpoint {
  method: string
  /** Matches the path below the base URL. */
  pattern: RegExp
  /** Route name in the `byRoute` counters. */
  name: string
  handler: Handler
}

/** Parses a JSON body and records it. Throws UpstreamError 400 when the body is not JSON. */
export function readJson(exchange: Exchange, body: Buffer, state: EmulatorState): unknown {
  const text = body.toString('utf8')
  try {
    const parsed: unknown = JSON.parse(text)
    state.recorder.setBody(exchange.record, parsed, body.length)
    return parsed
  } catch {
    state.recorder.setBody(exchange.record, text, body.length)
    throw new UpstreamError(400, 'Invalid JSON body')
  }
}

function lastSegment(exchange: Exchange, position: number): string {
  const segment = exchange.path.split('/').at(position) ?? ''
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Endpoints of the native wire other than chat; all of them are below the v1 base URL. */
export const nativeEndpoints: Endpoint[] = [
  {
    method: 'GET',
    pattern: /^\/models$/,
    name: '/models',
    handler: (exchange, _body, state) => sendJson(exchange, 200, { object: 'list', data: state.models.list() })
  },
  {
    method: 'GET',
    pattern: /^\/models\/[^/]+$/,
    name: '/models/{id}',
    handler: (exchange, _body, state) => {
      const id = lastSegment(exchange, -1)
      const model = state.models.find(id)
      if (model === undefined || model.id !== id) throw noSuchModel()
      sendJson(exchange, 200, model)
    }
  },
  {
    method: 'POST',
    pattern: /^\/embeddings$/,
    name: '/embeddings',
    handler: (exchange, body, state) => {
      sendJson(exchange, 200, writeEmbeddings(readJson(exchange, body, state), state.models))
    }
  },
  {
    method: 'POST',
    pattern: /^\/tokens\/count$/,
    name: '/tokens/count',
    handler: (exchange, body, state) => {
      sendJson(exchange, 200, writeTokenCounts(readJson(exchange, body, state), state.models))
    }
  },
  {
    method: 'GET',
    pattern: /^\/files$/,
    name: '/files',
    handler: (exchange, _body, state) => sendJson(exchange, 200, { data: state.files.list(exchange.account) })
  },
  {
    method: 'POST',
    pattern: /^\/files$/,
    name: '/files',
    handler: (exchange, body, state) => {
      const form = readMultipart(body, exchange.request.headers['content-type'])
      const files = form.files.map(({ content, ...file }) => ({ ...file, bytes: content.length }))
      state.recorder.setBody(exchange.record, { ...form.fields, files }, body.length)
      sendJson(exchange, 200, storeUpload(state.files, exchange.account, form))
    }
  },
  {
    method: 'GET',
    pattern: /^\/files\/[^/]+$/,
    name: '/files/{id}',
    handler: (exchange, _body, state) => {
      sendJson(exchange, 200, state.files.info(exchange.account, lastSegment(exchange, -1)))
    }
  },
  {
    method: 'GET',
    pattern: /^\/files\/[^/]+\/content$/,
    name: '/files/{id}/content',
    handler: (exchange, _body, state) => {
      const { contentType, content } = state.files.content(exchange.account, lastSegment(exchange, -2))
      sendBody(exchange, { status: 200, contentType, body: content })
    }
  },
  {
    method: 'POST',
    pattern: /^\/files\/[^/]+\/delete$/,
    name: '/files/{id}/delete',
    handler: (exchange, _body, state) => {
      sendJson(exchange, 200, state.files.remove(exchange.account, lastSegment(exchange, -2)))
    }
  }
]

/** Endpoints of the chat-completions wire other than chat. */
export const openAiEndpoints: Endpoint[] = [
  {
    method: 'GET',
    pattern: /^\/models$/,
    name: '/models',
    handler: exchange => sendJson(exchange, 200, listOpenAiModels(exchange))
  },
  {
    method: 'GET',
    pattern: /^\/models\/[^/]+$/,
    name: '/models/{id}',
    handler: exchange => sendJson(exchange, 200, findOpenAiModel(lastSegment(exchange, -1)))
  },
  {
    method: 'POST',
    pattern: /^\/embeddings$/,
    name: '/embeddings',
    handler: (exchange, body, state) => {
      sendJson(exchange, 200, writeOpenAiEmbeddings(readJson(exchange, body, state)))
    }
  }
]

/** Endpoints of the Anthropic wire other than chat. */
export const anthropicEndpoints: Endpoint[] = [
  {
    method: 'POST',
    pattern: /^\/messages\/count_tokens$/,
    name: '/messages/count_tokens',
    handler: (exchange, body, state) => {
      sendJson(exchange, 200, countAnthropicTokens(readJson(exchange, body, state), exchange))
    }
  },
  {
    method: 'GET',
    pattern: /^\/models$/,
    name: '/models',
    handler: exchange => sendJson(exchange, 200, listAnthropicModels(exchange))
  },
  {
    method: 'GET',
    pattern: /^\/models\/[^/]+$/,
    name: '/models/{id}',
    handler: exchange => sendJson(exchange, 200, findAnthropicModel(lastSegment(exchange, -1)))
  }
]

/** Endpoints of the Responses wire other than the call itself: those of chat completions, and stored responses. */
export const responsesEndpoints: Endpoint[] = [
  ...openAiEndpoints,
  {
    method: 'GET',
    pattern: /^\/responses\/[^/]+$/,
    name: '/responses/{id}',
    handler: (exchange, _body, state) => sendStoredResponse(exchange, lastSegment(exchange, -1), state)
  },
  {
    method: 'DELETE',
    pattern: /^\/responses\/[^/]+$/,
    name: '/responses/{id}',
    handler: (exchange, _body, state) => removeStoredResponse(exchange, lastSegment(exchange, -1), state)
  }
]
