// The official SDKs of the three families on aliases of chat_compatible providers, with the cases that they run on the native upstream.

import t from 'tap'
import { testAnthropic } from '../official-sdks/anthropic.ts'
import { testGoogleGenai } from '../official-sdks/google-genai.ts'
import { testOpenAi } from '../official-sdks/openai.ts'
import { testResponses } from '../official-sdks/openai-responses.ts'
import type { Place } from '../official-sdks/place.ts'
import { aliases, startBridge } from './support.ts'

const { gateway, emulator } = await startBridge(t, { env: { GATEWAY_WORKERS: '2' } })

const places = (['keyed', 'keyless'] as const).map(
  (provider): Place => ({
    name: `alias of a ${provider} provider`,
    url: gateway.url,
    // The prefix of a path has no effect on an alias.
    version: provider === 'keyed' ? 'v1' : 'v2',
    model: aliases[provider],
    embeddings: { model: aliases[provider], length: 1536 },
    emulator,
    chatPath: `/openai/${provider}/v1/chat/completions`,
    isNative: false,
    hasStrictTools: false,
    statusOf: status => ([401, 403, 404].includes(status) ? 502 : status)
  })
)

for (const place of places) {
  testOpenAi(place)
  testResponses(place)
  testAnthropic(place)
  testGoogleGenai(place)
}
