// The official SDKs of the three families on aliases of content_compatible providers, with the cases that they run on the native upstream.

import t from 'tap'
import { testAnthropic } from '../official-sdks/anthropic.ts'
import { testGoogleGenai } from '../official-sdks/google-genai.ts'
import { testOpenAi } from '../official-sdks/openai.ts'
import { testResponses } from '../official-sdks/openai-responses.ts'
import type { Place } from '../official-sdks/place.ts'
import { contentAliases, startContentBridge } from './content-support.ts'

const { gateway, emulator } = await startContentBridge(t, { env: { GATEWAY_WORKERS: '2' } })

const places = (['keyed', 'keyless'] as const).map(
  (provider): Place => ({
    name: `alias of a ${provider} content provider`,
    url: gateway.url,
    version: provider === 'keyed' ? 'v1' : 'v2',
    model: contentAliases[provider],
    embeddings: { model: contentAliases[provider], length: 3072 },
    emulator,
    chatPath: `/google/${provider}/v1beta/models/${provider === 'keyed' ? 'gemini-3-emulator' : 'emulator-small'}:generateContent`,
    isNative: false,
    hasStrictTools: false,
    passes: 'content',
    hasWholeCalls: true,
    signsCalls: provider === 'keyed',
    statusOf: status => ([401, 403, 404].includes(status) ? 502 : status)
  })
)

for (const place of places) {
  testOpenAi(place)
  testResponses(place)
  testAnthropic(place)
  testGoogleGenai(place)
}
