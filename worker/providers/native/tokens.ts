// Token counts by the upstream (upstream contract, section 7).

import { protocolFailure } from '../http/call-failure.ts'
import type { UpstreamClient } from '../http/client.ts'
import { readJson } from '../http/whole-response.ts'
import type { CallContext } from '../types.ts'

/** Resolves with the tokens of each text, in order; without texts nothing is asked. Rejects with `GatewayError`. */
export async function countTextTokens(
  client: UpstreamClient,
  call: { model: string | undefined; input: string[] },
  context: CallContext
): Promise<number[]> {
  if (call.input.length === 0) return []
  const answer = await client.fetch(
    {
      operation: 'tokens',
      method: 'POST',
      path: `${client.transport.endpoints.v1Base}/tokens/count`,
      headers: ['content-type', 'application/json'],
      body: Buffer.from(JSON.stringify({ model: call.model, input: call.input }))
    },
    context
  )
  return client.read('tokens', context, () => readCounts(readJson(answer), call.input.length))
}

function readCounts(body: unknown, count: number): number[] {
  if (!Array.isArray(body) || body.length !== count) throw protocolFailure('invalid_token_counts')
  return body.map((item: unknown) => {
    const tokens = typeof item === 'object' && item !== null && 'tokens' in item ? item.tokens : undefined
    if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 0) {
      throw protocolFailure('invalid_token_counts')
    }
    return tokens
  })
}
