import t from 'tap'
import { readContentOptions } from '../../../../worker/providers/compatible/content.ts'

t.test('a base URL is that of the SDK, or ends in the version of the API', async t => {
  const rows: Array<[baseUrl: string, modelsPath: string]> = [
    ['https://h.example', '/v1beta/models'],
    ['https://h.example/v1beta', '/v1beta/models'],
    ['https://h.example/v1', '/v1/models'],
    ['http://127.0.0.1:8001/google', '/google/v1beta/models'],
    ['https://h.example/a/v1beta2', '/a/v1beta2/v1beta/models'],
    ['https://h.example/my-v1', '/my-v1/v1beta/models'],
    ['https://h.example/google%20x/v1beta', '/google%20x/v1beta/models'],
    [
      'https://h.example/v1/projects/p/locations/global/publishers/google',
      '/v1/projects/p/locations/global/publishers/google/models'
    ]
  ]
  for (const [baseUrl, modelsPath] of rows) t.same(readContentOptions(baseUrl), { modelsPath }, baseUrl)
})
