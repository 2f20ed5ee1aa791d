// The admin routes in the documentation of the API.
import t from 'tap'
import { startDocumentedGateway } from '../../support/docs-gateway.ts'

const OPERATIONS = [
  'get /_admin/keys',
  'get /_admin/keys/{name}',
  'get /_admin/logs',
  'get /_admin/logs/export.csv',
  'get /_admin/logs/export.ndjson',
  'get /_admin/logs/health',
  'get /_admin/logs/providers',
  'get /_admin/logs/running',
  'get /_admin/logs/sums',
  'get /_admin/logs/tail',
  'get /_admin/logs/{id}',
  'get /_admin/logs/{id}/request',
  'get /_admin/logs/{id}/response',
  'post /_admin/logs/retention/purge',
  'post /_admin/logs/{id}/redact',
  'post /_admin/logs/{id}/replay'
]

t.test('the document lists every admin route, which needs the admin key', async t => {
  const { url, document } = await startDocumentedGateway(t, {
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_ADMIN_API_KEY: 'adm'
  })
  const listed = Object.entries(document.paths)
    .filter(([path]) => path.startsWith('/_admin/'))
    .flatMap(([path, methods]) => Object.keys(methods).map(method => `${method} ${path}`))
  t.same(listed.toSorted(), OPERATIONS)
  for (const operation of OPERATIONS) {
    const [method = '', path = ''] = operation.split(' ')
    const tags = [path.startsWith('/_admin/keys') ? 'Admin / Keys' : 'Admin / Traffic Logs']
    t.match(document.paths[path]?.[method], { tags, security: [{ adminKey: [] }] }, operation)
    const response = await fetch(url + path.replace(/\{\w+\}/, 'x'), { method })
    t.equal(response.status, 403, 'it is served')
    await response.body?.cancel()
  }
})
