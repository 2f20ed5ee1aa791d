import t from 'tap'
import { readChatOptions } from '../../../../worker/providers/compatible/chat.ts'

t.test('a base URL is an API base, or the endpoint itself of either wire', async t => {
  const rows: Array<[baseUrl: string, chatPath: string, embeddingsPath: string]> = [
    ['https://h.example/v1/responses', '/v1/chat/completions', '/v1/embeddings'],
    ['https://h.example/responses/', '/chat/completions', '/embeddings'],
    ['https://h.example/v1', '/v1/chat/completions', '/v1/embeddings'],
    ['https://h.example', '/chat/completions', '/embeddings'],
    ['https://h.example/chat/completions', '/chat/completions', '/embeddings'],
    ['http://127.0.0.1:8001/v1/chat/completions', '/v1/chat/completions', '/v1/embeddings'],
    [
      'https://h.example/a/My-Chat/completions',
      '/a/My-Chat/completions/chat/completions',
      '/a/My-Chat/completions/embeddings'
    ],
    ['https://h.example/openai%20x/v1', '/openai%20x/v1/chat/completions', '/openai%20x/v1/embeddings']
  ]
  for (const [baseUrl, chatPath, embeddingsPath] of rows) {
    const responsesPath = chatPath.replace(/\/chat\/completions$/, '/responses')
    const modelsPath = embeddingsPath.replace('/embeddings', '/models')
    t.same(readChatOptions(baseUrl), { chatPath, responsesPath, embeddingsPath, modelsPath }, baseUrl)
  }
})
