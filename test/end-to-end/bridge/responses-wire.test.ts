// What only the Responses wire gives clients of the other families (decisions.md 86).

import t from 'tap'
import { post } from '../../support/client.ts'
import { responses, startBridge } from './providers/index.ts'

const bridge = await startBridge(t)
const model = responses.aliases.keyed

t.test('a search that is nothing else runs at the service, from every family', async t => {
  const prompt = 'Please search the web for news.'
  const { url } = bridge.gateway
  const calls: Array<[path: string, body: object]> = [
    [
      '/v1/messages',
      {
        model,
        max_tokens: 500,
        messages: [{ role: 'user', content: prompt }],
        tools: [{ type: 'web_search_20250305', name: 'web_search' }]
      }
    ],
    [
      `/v1beta/models/${model}:generateContent`,
      { contents: [{ role: 'user', parts: [{ text: prompt }] }], tools: [{ googleSearch: {} }] }
    ]
  ]
  for (const [path, body] of calls) {
    const response = await post(`${url}${path}`, body)
    t.equal(response.status, 200, response.text)
    t.match(response.text, /The first page answers it/)
    const sent = bridge.received(responses, 'keyed').at(-1)?.body as { tools: object[] }
    t.same(sent.tools, [{ type: 'web_search' }])
  }
})
