import t from 'tap'
import { resolveEndpoints } from '../../../../worker/providers/native/endpoints.ts'

t.test('both API bases come from the configured one', async t => {
  const rows: Array<[base: string, v1: string, v2: string]> = [
    ['https://h/api/v1', '/api/v1', '/api/v2'],
    ['https://h/api/v2', '/api/v1', '/api/v2'],
    ['https://h/v1/', '/v1', '/v2'],
    ['https://h/api/v17//', '/api/v1', '/api/v2'],
    ['https://h/api', '/api', '/api'],
    ['https://h', '', ''],
    ['https://h/v1x', '/v1x', '/v1x'],
    ['https://h/v1/extra', '/v1/extra', '/v1/extra']
  ]
  for (const [base, v1Base, v2Base] of rows) {
    t.match(resolveEndpoints(base, 'https://auth/token'), { apiOrigin: 'https://h', v1Base, v2Base }, base)
  }
})

t.test('the token endpoints keep their path, their query and their port', async t => {
  t.match(resolveEndpoints('http://127.0.0.1:8080/api/v2', 'https://auth:9443/api/v2/oauth?a=b'), {
    apiOrigin: 'http://127.0.0.1:8080',
    oauth: { origin: 'https://auth:9443', path: '/api/v2/oauth?a=b' },
    passwordToken: { origin: 'http://127.0.0.1:8080', path: '/api/v1/token' }
  })
})
