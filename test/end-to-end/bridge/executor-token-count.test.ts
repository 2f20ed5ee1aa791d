// Token counts for an alias of a provider that cannot count (bridge.md 7.5; decisions.md 17).

import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import t from 'tap'
import { post } from '../../support/client.ts'
import { startStub } from '../../worker/providers/support/stub-upstream.ts'
import { readError } from '../system/support.ts'
import { chatProfile, startBridge } from './executor-support.ts'

const provider = await startStub(() => undefined)
t.teardown(() => provider.close())
const profiles = [
  chatProfile('counted', `${provider.origin}/v1`, { 'bridge/a': 'coder' }),
  chatProfile('uncounted', `${provider.origin}/v1`, { 'bridge/off': 'coder' }, { tokenCounting: 'off' })
]

function countIn(gateway: { url: string }, family: 'messages' | 'content', model: string, text: string) {
  return family === 'messages'
    ? post(`${gateway.url}/v1/messages/count_tokens`, { model, messages: [{ role: 'user', content: text }] })
    : post(`${gateway.url}/v1beta/models/${model}:countTokens`, { contents: [{ role: 'user', parts: [{ text }] }] })
}

for (const threads of ['0', '1']) {
  t.test(`bridge 81: counts are estimated without a call or refused, with ${threads} threads`, async t => {
    const gateway = await startBridge(t, {
      profiles,
      env: { GATEWAY_POOL_THREADS: threads, GATEWAY_POOL_THRESHOLD_BYTES: '65536' }
    })
    // The second is translated in a thread, where there is one.
    for (const text of ['Count the words of this sentence.', 'a few words '.repeat(20_000)]) {
      for (const family of ['messages', 'content'] as const) {
        const counted = await countIn(gateway, family, 'bridge/a', text)
        t.equal(counted.status, 200, family)
        t.equal(counted.headers.get('x-gateway-token-count'), 'estimate', family)
        const { input_tokens: inputTokens, totalTokens } = counted.json
        t.equal(inputTokens ?? totalTokens, encode(text).length, family)
        const refused = await countIn(gateway, family, 'bridge/off', text)
        t.equal(refused.status, 400, family)
        t.equal(readError(family, refused).code, 'unsupported_semantic', family)
      }
    }
    const refused = await countIn(gateway, 'messages', 'bridge/off', '')
    t.equal(refused.status, 400, 'without a text too')
    t.equal(provider.requests.length, 0)
  })
}
