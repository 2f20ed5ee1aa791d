// The models and the token counts of the Anthropic wire.

import { readConversation } from '../chat-request.ts'
import { UpstreamError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { findPageMax } from '../model-pages.ts'
import { countInput } from '../response-plan.ts'
import { hasBetaHeader } from './chat.ts'
import { readAnthropicCount } from './read.ts'

const models = ['emulator-large', 'emulator-small'].map(id => ({
  type: 'model',
  id,
  display_name: id,
  created_at: '2026-01-01T00:00:00Z'
}))

const PAGE_MODELS = 20

/** The response body of `GET /anthropic/v1/models`. */
export function listAnthropicModels({ path, record }: Exchange): unknown {
  const parameters = new URLSearchParams(record.query)
  const after = models.findIndex(({ id }) => id === parameters.get('after_id'))
  const limit = Math.min(Number(parameters.get('limit') ?? PAGE_MODELS), findPageMax(path))
  const data = models.slice(after + 1, after + 1 + limit)
  return {
    data,
    has_more: after + 1 + limit < models.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null
  }
}

/** The response body of `GET /anthropic/v1/models/{id}`. Throws UpstreamError 404. */
export function findAnthropicModel(id: string): unknown {
  const model = models.find(entry => entry.id === id)
  if (model === undefined) throw new UpstreamError(404, `model: ${id}`)
  return model
}

/** The response body of `POST /anthropic/v1/messages/count_tokens`. Throws UpstreamError 400 or 404. */
export function countAnthropicTokens(body: unknown, exchange: Exchange): unknown {
  const request = readAnthropicCount(body, { hasBeta: hasBetaHeader(exchange) })
  return { input_tokens: countInput(request, readConversation(request.turns)) }
}
