import t from 'tap'
import { readMessagesOptions } from '../../../../worker/providers/compatible/messages.ts'

t.test('a base URL is what the SDK of the wire takes, with or without the version', async t => {
  const rows: Array<[baseUrl: string, base: string]> = [
    ['https://h.example', '/v1'],
    ['https://h.example/', '/v1'],
    ['https://h.example/v1', '/v1'],
    ['http://127.0.0.1:8001/anthropic', '/anthropic/v1'],
    ['https://h.example/api/anthropic/v1', '/api/anthropic/v1'],
    ['https://h.example/my-v1', '/my-v1/v1'],
    ['https://h.example/a%20b', '/a%20b/v1']
  ]
  for (const [baseUrl, base] of rows) {
    const expected = {
      messagesPath: `${base}/messages`,
      countTokensPath: `${base}/messages/count_tokens`,
      modelsPath: `${base}/models`
    }
    t.same(readMessagesOptions(baseUrl), expected, baseUrl)
  }
})
