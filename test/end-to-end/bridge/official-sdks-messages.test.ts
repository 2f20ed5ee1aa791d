// The official SDKs of the three families on aliases of messages_compatible providers, with the cases that they run on the native upstream.

import t from 'tap'
import { testAnthropic } from '../official-sdks/anthropic.ts'
import { testGoogleGenai } from '../official-sdks/google-genai.ts'
import { testOpenAi } from '../official-sdks/openai.ts'
import { testResponses } from '../official-sdks/openai-responses.ts'
import type { Place } from '../official-sdks/place.ts'
import { messagesAliases, startMessagesBridge } from './messages-support.ts'

const { gateway, emulator } = await startMessagesBridge(t, { env: { GATEWAY_WORKERS: '2' } })

const places = (['keyed', 'keyless'] as const).map(
  (provider): Place => ({
    name: `messages_compatible, alias of a ${provider} provider`,
    url: gateway.url,
    // The prefix of a path has no effect on an alias.
    version: provider === 'keyed' ? 'v1' : 'v2',
    model: messagesAliases[provider],
    emulator,
    chatPath: `/anthropic/${provider}/v1/messages`,
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
