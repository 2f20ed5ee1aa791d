// The OpenAPI document: its form, and that it lists what is mounted and nothing else.
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { readVersion } from '../../../shared/version.ts'
import { listReferences, type OpenApiDocument } from '../../../worker/docs/document.ts'
import { writeFamilyLimitHeaders } from '../../../worker/http/response/limit-headers.ts'
import { chatParameters } from '../../../worker/protocols/completions/members.ts'
import { nativeFields } from '../../../worker/protocols/shared/members/common-parameters.ts'
import type { Parameter } from '../../../worker/protocols/shared/members/parameters.ts'
import { get } from '../../support/client.ts'
import { startDocumentedGateway } from '../../support/docs-gateway.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { openApiStructure } from '../../support/openapi-structure.ts'

const authentication = { GATEWAY_ENABLE_API_KEY_AUTH: 'True', GATEWAY_API_KEY: 'k1' }

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
function listOperations({ paths }: OpenApiDocument): Array<[string, any]> {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as [string, object])
  )
}

t.test('operations 6: the document lists what is mounted and nothing else', async t => {
  const emulator = await startEmulator(t)
  const metrics = { GATEWAY_METRICS_ENABLED: 'True', GATEWAY_METRICS_PATH: '/figures' }
  const { url } = await startGateway(t, { env: { ...emulatorVariables(emulator), ...metrics } })
  const answer = await get(`${url}/openapi.json`)
  t.equal(answer.status, 200)
  const document: OpenApiDocument = answer.json
  t.equal(document.openapi, '3.1.0')
  t.match(document.info, { title: 'LLM Gateway', version: readVersion() })
  const paths = Object.keys(document.paths)
  for (const path of paths) t.notMatch(path, /files|batches|figures|metrics|^\/$|^\/docs|^\/redoc|^\/openapi/)
  t.equal((await get(`${url}/figures`)).status, 200, 'the metrics are mounted and not listed')
  const logs = ['/logs', '/logs/{last_n_lines}', '/logs/stream', '/logs/html']
  for (const path of [...logs, '/v1/chat/completions', '/v1beta/models/{model}:generateContent', '/model/info']) {
    t.ok(paths.includes(path), path)
  }
  t.notOk(paths.some(path => path.startsWith('/_admin') || path.startsWith('/_debug')))
  for (const path of ['/v1/files', '/v1/batches', '/_admin/logs']) {
    t.equal((await get(url + path)).status, 404, path)
  }
  const admin = await startDocumentedGateway(t, { GATEWAY_ADMIN_API_ENABLED: 'true', GATEWAY_ADMIN_API_KEY: 'adm' })
  t.match(admin.document.paths['/_admin/logs']?.get, { tags: ['Admin / Traffic Logs'], security: [{ adminKey: [] }] })
  // Every listed operation is served: a wrong method would be 405, an unknown path 404 with these words.
  for (const [name] of listOperations(document)) {
    const [method = '', path = ''] = name.split(' ')
    if (path === '/logs/stream') continue
    const target = url + path.replaceAll('{model}', 'GigaChat').replaceAll('{last_n_lines}', '1')
    const response = await fetch(target, { method: method.toUpperCase() })
    const text = await response.text()
    t.not(response.status, 405, name)
    t.notMatch(text, /Not Found|Unknown request URL/, name)
  }
})

t.test('the document has the form of OpenAPI 3.1.0', async t => {
  const debugging = { GATEWAY_DEBUG_TRANSLATE_ENABLED: 'True', GATEWAY_ADMIN_API_KEY: 'adm' }
  for (const env of [{}, { ...authentication, ...debugging }]) {
    const { document } = await startDocumentedGateway(t, env)
    const { success, error } = openApiStructure.safeParse(document)
    t.ok(success, String(error))
    const ajv = new Ajv2020({ strict: false })
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      t.ok(ajv.validateSchema(schema), `${name} is a JSON Schema`)
    }
    const targets = new Set(listReferences(document))
    for (const target of targets) t.ok(resolve(document, target) !== undefined, target)
    const { schemas, responses, headers } = document.components
    for (const [kind, names] of Object.entries({ schemas, responses })) {
      for (const name of Object.keys(names)) t.ok(targets.has(`#/components/${kind}/${name}`), `${name} is used`)
    }
    t.ok(Object.keys(headers).length > 0)
    const ids = listOperations(document).map(([, { operationId }]) => operationId)
    t.equal(new Set(ids).size, ids.length, 'operation ids are unique')
  }
})

function resolve(document: OpenApiDocument, target: string): unknown {
  return target
    .replace('#/', '')
    .split('/')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], document)
}

t.test('the document of the page lists each operation once, with its other paths in words', async t => {
  const { url, document } = await startDocumentedGateway(t, {
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true',
    GATEWAY_ADMIN_API_KEY: 'adm'
  })
  const shown = (await get(`${url}/docs/operations.json`)).json as OpenApiDocument
  const { success, error } = openApiStructure.safeParse(shown)
  t.ok(success, String(error))
  t.same(shown.tags, document.tags)
  const paths = Object.keys(shown.paths)
  t.same(paths.slice(0, 1), ['/v1/chat/completions'])
  for (const path of ['/v1beta/models/{model}:generateContent', '/v1/messages', '/_debug/explain/openai']) {
    t.ok(paths.includes(path), path)
  }
  // Each path of the whole document is that of an operation here, or one of its others.
  const named = listOperations(shown).flatMap(([name, { description = '' }]) => {
    const [method = '', path = ''] = name.split(' ')
    const others = /^Also at (.*)\.$/m.exec(description)?.[1]?.replaceAll('`', '').split(', ') ?? []
    return [path, ...others].map(one => `${method} ${one}`)
  })
  t.same(
    named.toSorted(),
    listOperations(document)
      .map(([name]) => name)
      .toSorted()
  )
  const targets = new Set(listReferences(shown))
  for (const target of targets) t.ok(resolve(shown, target) !== undefined, target)
  t.equal((await get(`${url}/redoc`)).text.split('/chat/completions</code> <span').length, 3, 'the reference too')
})

t.test('tags are in the order of the contract, and each operation has one of them', async t => {
  const { document } = await startDocumentedGateway(t, {
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true',
    GATEWAY_ADMIN_API_KEY: 'adm'
  })
  const names = document.tags.map(({ name }) => name)
  t.same(names, [
    ...['OpenAI / Chat Completions', 'OpenAI / Responses', 'OpenAI / Embeddings', 'OpenAI / Models'],
    ...['Gemini / Generate Content', 'Gemini / Embeddings', 'Gemini / Models', 'Anthropic / Messages'],
    ...['LiteLLM / Model Info', 'System / Health', 'System / Logs', 'Admin / Traffic Logs', 'Admin / Keys'],
    'Admin / Debug Translation'
  ])
  for (const [name, { tags }] of listOperations(document)) t.ok(names.includes(tags[0]), name)
})

t.test('security schemes are listed when authentication is on', async t => {
  const open = await startDocumentedGateway(t)
  t.equal(open.document.components.securitySchemes, undefined)
  t.ok(listOperations(open.document).every(([, { security }]) => security === undefined))
  const { document } = await startDocumentedGateway(t, authentication)
  const schemes = Object.values(document.components.securitySchemes ?? {})
  t.same(schemes.map(({ scheme, in: place, name }) => scheme ?? `${place} ${name}`).sort(), [
    'bearer',
    'header x-api-key',
    'header x-goog-api-key',
    'query key',
    'query x-api-key'
  ])
  for (const [name, { security, tags }] of listOperations(document)) {
    t.equal(security.length, tags[0] === 'System / Health' ? 0 : schemes.length, name)
  }
})

t.test('keys 6: model operations name the headers of limits, with every success and with 429', async t => {
  const { document } = await startDocumentedGateway(t)
  const meter = { limit: 1, remaining: 1, resetMs: 1 }
  const limits = { key: 'k', reserved: undefined, readMeters: () => ({ requests: meter, tokens: meter }) }
  const listNames = ({ headers }: { headers: object }) => Object.keys(headers).map(name => name.toLowerCase())
  for (const [family, path, component] of [
    ['completions', '/v1/chat/completions', 'Completions429'],
    ['completions', '/v1/responses', 'Completions429'],
    ['messages', '/v1/messages', 'Messages429']
  ] as const) {
    const names = writeFamilyLimitHeaders(family, limits, 0).filter(part => part.includes('ratelimit'))
    const operation = document.paths[path]?.post as { responses: Record<string, { headers: object }> }
    const limited = document.components.responses[component] as { headers: object }
    for (const response of [operation.responses['200'], limited]) {
      const documented = response === undefined ? [] : listNames(response)
      t.equal(names.length, 6)
      for (const name of names) t.ok(documented.includes(name), `${path} ${name}`)
    }
    t.ok(listNames(limited).includes('retry-after') && listNames(limited).includes('x-should-retry'))
  }
})

t.test('each parameter of a body says what the gateway does with it', async t => {
  const { document } = await startDocumentedGateway(t)
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const { properties } = document.components.schemas.ChatCompletionRequest as any
  t.same(Object.keys(properties).sort(), Object.keys(chatParameters).sort())
  for (const [name, { class: treatment }] of Object.entries<Parameter>(chatParameters)) {
    t.equal(properties[name]['x-compatibility'], treatment, name)
  }
  t.match(properties.logit_bias.description, /^Accepted and ignored\./)
  t.match(properties.base_url.description, /never sent/)
})

t.test('what a supported parameter accepts is described, but for the options of one provider', async t => {
  const { document } = await startDocumentedGateway(t)
  const open = new Set<string>(Object.keys(nativeFields))
  for (const [name, { properties }] of Object.entries(document.components.schemas)) {
    if (!name.endsWith('Request')) continue
    for (const [member, schema] of Object.entries((properties ?? {}) as Record<string, Record<string, unknown>>)) {
      if (schema['x-compatibility'] !== 'supported' || open.has(member)) continue
      t.ok(
        ['type', 'anyOf', 'enum', 'const'].some(keyword => keyword in schema),
        `${name}.${member}`
      )
    }
  }
})
