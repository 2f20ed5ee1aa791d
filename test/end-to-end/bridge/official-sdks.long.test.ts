// The official SDKs of the three families on aliases of every kind of provider, with the cases that
// they run on the native upstream.

import t from 'tap'
import { testAnthropic } from '../official-sdks/anthropic.ts'
import { testGoogleGenai } from '../official-sdks/google-genai.ts'
import { testOpenAi } from '../official-sdks/openai.ts'
import { testResponses } from '../official-sdks/openai-responses.ts'
import type { Place } from '../official-sdks/place.ts'
import { content, type Provider, providers, SEATS, type Seat, startBridge } from './providers/index.ts'

const { gateway, emulator } = await startBridge(t)

/** The length of the vectors of a kind; a kind without one has no embeddings. */
const vectorLengths: Partial<Record<Provider['name'], number>> = { chat: 1536, responses: 1536, content: 3072 }

function createPlace(provider: Provider, seat: Seat): Place {
  const { name, aliases, models, baseUrl, chatPath } = provider
  const model = aliases[seat]
  const length = vectorLengths[name]
  return {
    name: `alias of a ${seat} ${name} provider`,
    url: gateway.url,
    // The prefix of a path has no effect on an alias.
    version: seat === 'keyed' ? 'v1' : 'v2',
    model,
    ...(length === undefined ? {} : { embeddings: { model, length } }),
    emulator,
    chatPath:
      new URL(baseUrl(emulator, seat, `${name}-${seat}`)).pathname.replace(/\/v1(beta)?$/, '') +
      chatPath(models[seat], false),
    isNative: false,
    passes: provider.passes,
    ...(provider === content ? { hasWholeCalls: true, signsCalls: seat === 'keyed' } : {}),
    statusOf: status => ([401, 403, 404].includes(status) ? 502 : status)
  }
}

for (const provider of providers) {
  for (const seat of SEATS) {
    const place = createPlace(provider, seat)
    testOpenAi(place)
    testResponses(place)
    testAnthropic(place)
    testGoogleGenai(place)
  }
}
