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
  'get /_admin/logs/latencies',
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

t.test(
  'operations-admin-query: a route takes the query parameters of its documentation, and names any other',
  async t => {
    const { url, document } = await startDocumentedGateway(t, {
      GATEWAY_ADMIN_API_ENABLED: 'true',
      GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true',
      GATEWAY_ADMIN_API_KEY: 'adm'
    })
    const paths = Object.entries(document.paths).filter(([path]) => /^\/(?:_admin|_debug|debug)\//.test(path))
    t.ok(paths.length > 20)
    for (const [path, methods] of paths) {
      for (const [method, { parameters = [] }] of Object.entries(methods)) {
        const ask = async (query: string, key = 'adm') => {
          const init = { method, headers: { 'x-admin-api-key': key }, ...(method === 'post' && { body: '{}' }) }
          const response = await fetch(`${url}${path.replaceAll(/\{\w+\}/g, 'x')}?${query}`, init)
          return { status: response.status, error: (JSON.parse((await response.text()) || '{}') as ErrorBody).error }
        }
        const name = `${method} ${path}`
        t.match(await ask('limitt=1'), { status: 400, error: { code: 'unknown_parameter', message: /'limitt'/ } }, name)
        t.match(await ask('limitt=1', 'wrong'), { status: 403 }, 'the key comes first')
        const known = (parameters as DocumentedParameter[]).filter(parameter => parameter.in === 'query')
        for (const parameter of known) {
          const { error } = await ask(`${parameter.name}=`)
          t.not(error?.code, 'unknown_parameter', `${name} ${parameter.name}`)
        }
      }
    }
  }
)

interface DocumentedParameter {
  readonly name: string
  readonly in: string
}

interface ErrorBody {
  readonly error?: { readonly code: string }
}
