// Sends requests that the OpenAPI document allows, and broken ones, to every operation: each response must be one that the document
// describes. With `FULL_RUNS=1`, `DOCS_RUNS` and `DOCS_SEED` make it longer and different.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listReferences } from '../../../worker/docs/document.ts'
import { readUntilCut } from '../../support/client.ts'
import {
  createDescribedResponses,
  type OperationName,
  type ReceivedResponse
} from '../../support/described-response.ts'
import { type DocumentedGateway, startDocumentedGateway } from '../../support/docs-gateway.ts'
import { chatBaseUrl } from '../../support/profile-gateway.ts'
import { fileOf } from '../../support/profile-sets.ts'
import { makeAlias, makeProfile } from '../../support/profiles.ts'
import * as fc from '../../support/properties.ts'
import { brokenIn, valuesOf } from '../../support/schema-arbitrary.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const numRuns = Number(process.env.DOCS_RUNS ?? 4)
// A longer run takes as long as it takes.
if (process.env.DOCS_RUNS !== undefined) t.setTimeout(0)
const seed = Number(process.env.DOCS_SEED ?? 20_261_123)

/** What the emulator is told to do: responses of every form, and failures of every kind. */
const directives = [
  '[[text:a]]',
  '[[chunks:a|b]]',
  '[[reason:because]]',
  '[[tool:find {"a":1}]] [[undeclared]]',
  '[[tool:find {}]] [[tool:other {}]] [[undeclared]] [[parallel]]',
  '[[builtin:web_search]]',
  '[[builtin:image_generate]]',
  '[[builtin:code_interpreter censored]]',
  '[[builtin:model_3d_generate]]',
  '[[usage:1,2,1]]',
  '[[nousage]]',
  '[[finish:length]]',
  '[[finish:blacklist]]',
  '[[finish:error]]',
  '[[refusal:no]]',
  '[[extra]]',
  '[[usageform:after]]',
  '[[reasonform:encrypted]] [[reason:because]]',
  '[[error:400 message=wrong]]',
  '[[error:401]]',
  '[[error:402]]',
  '[[error:403]]',
  '[[error:404]]',
  '[[error:413]]',
  '[[error:418]]',
  '[[error:422]]',
  '[[error:429 retry=3]]',
  '[[error:429 retry="Wed, 21 Oct 2026 07:28:00 GMT"]]',
  '[[error:500]]',
  '[[error:503 retry=2]]',
  '[[error:504]]',
  '[[die:0]]',
  '[[die:2]]',
  '[[badframe]]',
  '[[errframe]]',
  '[[errframe:429 message=slower]]',
  '[[noeof]]',
  '[[badjson]]',
  '[[badjson:html]]',
  '[[okerror:400 message=wrong]]',
  '[[redirect:http://127.0.0.1:9/]]'
]

const plainText = fc.constantFrom('', 'hello', 'a b', 'Привет', '\u0000', '"', 'x'.repeat(300))
const text = fc.oneof({ weight: 1, arbitrary: plainText }, { weight: 6, arbitrary: fc.constantFrom(...directives) })

interface Sent extends OperationName {
  url: string
  body: string | undefined
}

async function send(gateway: string, { method, url, body }: Sent): Promise<ReceivedResponse> {
  const response = await fetch(gateway + url, {
    method: method.toUpperCase(),
    headers: { 'content-type': 'application/json', 'x-admin-api-key': 'adm' },
    ...(body === undefined ? {} : { body })
  })
  return { status: response.status, headers: response.headers, ...(await readUntilCut(response)) }
}

function listOperations({ document }: DocumentedGateway) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method as 'get' | 'post', operation }))
  )
}

/** The operation's body with the parameters of its path and query. */
function requestsOf(
  gateway: DocumentedGateway,
  models: fc.Arbitrary<string>,
  operation: ReturnType<typeof listOperations>[number]
) {
  const { path, method } = operation
  const { requestBody, parameters = [] } = operation.operation as {
    requestBody?: { content: Record<string, { schema: object }> }
    parameters?: Array<{ name: string; in: string; schema: object }>
  }
  const options = { schemas: gateway.document.components.schemas, text, named: { model: models } }
  const schema = requestBody?.content['application/json']?.schema
  const bodies = schema === undefined ? undefined : askPlainly(valuesOf({ ...schema }, options))
  const query = parameters.filter(parameter => parameter.in === 'query')
  const queries = fc.record(
    Object.fromEntries(query.map(parameter => [parameter.name, fc.option(queryValues(parameter.schema), { freq: 2 })]))
  )
  const broken = fc.constantFrom('', '[]', '{', 'null', '"text"', '{"messages":[{]}')
  const texts =
    bodies === undefined
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 6, arbitrary: bodies.map(body => JSON.stringify(body)) },
          { weight: 5, arbitrary: bodies.chain(brokenIn).map(body => JSON.stringify(body)) },
          { weight: 1, arbitrary: broken }
        )
  return fc.record({ body: texts, query: queries, model: models, lines: fc.constantFrom('1', '20') }).map(
    ({ body, query: values, model, lines }): Sent => ({
      path,
      method,
      url: writeUrl(path.replaceAll('{last_n_lines}', lines), model, values),
      body
    })
  )
}

/** Bodies of which most ask for one thing in the plainest form, so that the directive in it is reached. */
function askPlainly(bodies: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.tuple(bodies, text, fc.boolean(), fc.integer({ min: 0, max: 3 })).map(([body, words, isStream, chance]) => {
    if (chance === 0 || typeof body !== 'object' || body === null) return body
    const plain: Record<string, unknown> = {
      messages: [{ role: 'user', content: words }],
      input: words === '' ? 'hello' : words,
      contents: [{ role: 'user', parts: [{ text: words }] }]
    }
    const given = Object.keys(plain).filter(name => name in body)
    const {
      tool_choice: _choice,
      function_call: _call,
      response_format: _format,
      ...rest
    } = body as { [name: string]: unknown }
    return { ...rest, ...Object.fromEntries(given.map(name => [name, plain[name]])), stream: isStream }
  })
}

function queryValues(schema: object): fc.Arbitrary<string> {
  const words = 'enum' in schema ? (schema.enum as string[]) : []
  return fc.constantFrom(...words, '1', '0', 'x', '')
}

function writeUrl(path: string, model: string, query: Record<string, string | null>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== null)
  const search = new URLSearchParams([...given, ['unknown', 'query']])
  return `${path.replaceAll('{model}', model)}?${search}`
}

async function sendToAll(gateway: DocumentedGateway, models: fc.Arbitrary<string>): Promise<void> {
  const described = createDescribedResponses(gateway.document)
  await Promise.all(
    listOperations(gateway).map((operation, index) =>
      fc.assert(
        fc.asyncProperty(requestsOf(gateway, models, operation), async request => {
          const response = await send(gateway.url, request)
          const wrong = described.check(request, response)
          if (wrong.length > 0)
            throw new Error(`${wrong.join('\n')}\n${response.status} ${response.text.slice(0, 500)}`)
        }),
        // A seed for each, so that they do not all get the same requests.
        { numRuns, seed: seed + index, endOnFailure: true }
      )
    )
  )
}

/** Sends the example of every body that has one, whole and as a stream. */
async function sendExamples(t: Test, gateway: DocumentedGateway, models: { chat: string; embeddings: string }) {
  const described = createDescribedResponses(gateway.document)
  for (const { path, method, operation } of listOperations(gateway)) {
    const [schema] = listReferences(operation.requestBody)
    if (schema === undefined) continue
    const name = schema.slice(schema.lastIndexOf('/') + 1)
    const { examples = [], properties = {} } = gateway.document.components.schemas[name] as {
      examples?: Array<Record<string, unknown>>
      properties?: Record<string, unknown>
    }
    const [example] = examples
    if (example === undefined) continue
    const model = /embed/i.test(path) ? models.embeddings : models.chat
    const named = 'model' in example ? { ...example, model } : example
    for (const body of 'stream' in properties ? [named, { ...named, stream: true }] : [named]) {
      const url = path.replaceAll('{model}', model)
      const response = await send(gateway.url, { path, method, url, body: JSON.stringify(body) })
      t.same(described.check({ path, method }, response, 200), [], `${path} ${JSON.stringify(body)}`)
    }
  }
}

const CHAT_PATHS = ['/v1/chat/completions', '/v2/chat/completions', '/v1/responses', '/v2/responses', '/v1/messages']
const CONTENT_PATHS = ['/v1beta/models/{model}:generateContent', '/v2/v1beta/models/{model}:streamGenerateContent']

/** Asks every family for every form of a response and every failure, whole and as a stream. Returns the statuses that were seen. */
async function sendDirectives(t: Test, gateway: DocumentedGateway, model: string): Promise<Set<number>> {
  const described = createDescribedResponses(gateway.document)
  const seen = new Set<number>()
  const requests = directives.flatMap(directive => [false, true].map(stream => ({ directive, stream })))
  for (const path of [...CHAT_PATHS, ...CONTENT_PATHS]) {
    const wrong = await Promise.all(
      requests.map(async ({ directive, stream }) => {
        const asked = ask(path, directive)
        const body = JSON.stringify(path.includes('{model}') ? asked : { model, stream, ...asked })
        const url = path.replaceAll('{model}', model) + (stream ? '?alt=json' : '?alt=sse')
        const response = await send(gateway.url, { path, method: 'post', url, body })
        seen.add(response.status)
        return described.check({ path, method: 'post' }, response).map(text => `${directive}: ${text}`)
      })
    )
    t.same(wrong.flat(), [], path)
  }
  return seen
}

function ask(path: string, words: string): object {
  if (path.endsWith('/responses')) return { input: words }
  if (path.includes('models')) return { contents: [{ role: 'user', parts: [{ text: words }] }] }
  return { messages: [{ role: 'user', content: words }] }
}

function assertSeen(t: Test, seen: Set<number>, statuses: readonly number[]): void {
  for (const status of statuses) t.ok(seen.has(status), `${status} was seen`)
}

t.test('every response of the native upstream is one that the document describes', async t => {
  const gateway = await startDocumentedGateway(t, {
    GATEWAY_DEBUG_TRANSLATE_ENABLED: 'True',
    GATEWAY_ADMIN_API_KEY: 'adm',
    // Without the file a stream of the log ends at once.
    GATEWAY_LOG_FILENAME: join(createTemporaryFolder(t), 'absent.log')
  })
  await sendExamples(t, gateway, { chat: 'GigaChat-2-Max', embeddings: 'Embeddings' })
  const seen = await sendDirectives(t, gateway, 'GigaChat-2-Max')
  assertSeen(t, seen, [200, 400, 401, 402, 403, 404, 413, 418, 422, 429, 500, 502, 503, 504])
  const models = fc.constantFrom('GigaChat-2', 'GigaChat-2-Max', 'GigaChat-2-Max', 'Embeddings', 'NonExistent-model')
  await sendToAll(gateway, models)
})

t.test('every response of a provider that speaks chat completions is one that the document describes', async t => {
  const noLog = { GATEWAY_LOG_FILENAME: join(createTemporaryFolder(t), 'absent.log') }
  const gateway = await startDocumentedGateway(t, noLog, emulator => {
    const aliases = ['test/chat', 'test/embeddings'].map(name => makeAlias(name, { upstreamModel: 'emulator-large' }))
    return fileOf([makeProfile('test-chat', aliases, { baseUrl: chatBaseUrl(emulator) })])
  })
  t.ok(gateway.document.components.schemas.RelayedChatCompletion)
  await sendExamples(t, gateway, { chat: 'test/chat', embeddings: 'test/embeddings' })
  const seen = await sendDirectives(t, gateway, 'test/chat')
  assertSeen(t, seen, [200, 400, 422, 429, 500, 502, 503, 504])
  await sendToAll(gateway, fc.constantFrom('test/chat', 'test/chat', 'test/chat', 'missing/alias'))
})

t.test('refusals before an operation have the form of their family and the described headers', async t => {
  const gateway = await startDocumentedGateway(t, {
    GATEWAY_ENABLE_API_KEY_AUTH: 'True',
    GATEWAY_API_KEY: 'k1',
    GATEWAY_MAX_REQUEST_BODY_BYTES: '1000'
  })
  const described = createDescribedResponses(gateway.document)
  for (const operation of listOperations(gateway)) {
    const { path, method } = operation
    const url = path.replaceAll('{model}', 'm').replaceAll('{last_n_lines}', '1')
    const [form = ''] = listReferences((operation.operation.responses as Record<string, unknown>)['500'])
    const [schema = ''] = listReferences(gateway.document.components.responses[form.replace(/^.*\//, '')]?.content)
    // A wrong method is no operation, so the path alone decides: everything below a version belongs to the completions family.
    const name = /^\/v[12]$/.test(path) ? 'CompletionsError' : schema.replace(/^.*\//, '')
    for (const wrong of ['DELETE', 'OPTIONS']) {
      const response = await fetch(gateway.url + url, { method: wrong })
      const received = { status: response.status, headers: response.headers, text: await response.text() }
      t.equal(received.status, 405, `${wrong} ${url}`)
      t.ok(received.headers.has('allow'))
      t.same(described.checkComponent(name, received), [], `${wrong} ${url}: ${received.text}`)
    }
    const isOpen = (operation.operation.security as unknown[]).length === 0
    if (isOpen || path === '/logs/stream') continue
    const refused = await send(gateway.url, { path, method, url, body: method === 'post' ? '{}' : undefined })
    t.same(described.check(operation, refused, 401), [], path)
    t.equal(refused.headers.get('www-authenticate'), 'Bearer')
    if (method === 'get') continue
    const large = await send(gateway.url, { path, method, url, body: JSON.stringify({ a: 'x'.repeat(1000) }) })
    t.same(described.check(operation, large, 413), [], path)
  }
})

t.test('a response that differs from the document is found', async t => {
  const gateway = await startDocumentedGateway(t)
  const described = createDescribedResponses(gateway.document)
  const operation = { path: '/v1/chat/completions', method: 'post' } as const
  const body = JSON.stringify({ model: 'GigaChat-2', messages: [{ role: 'user', content: 'a' }] })
  const given = await send(gateway.url, { ...operation, url: operation.path, body })
  t.same(described.check(operation, given), [])
  const parsed = JSON.parse(given.text)
  const changed = (text: object) => described.check(operation, { ...given, text: JSON.stringify(text) })
  t.match(changed({ ...parsed, more: 1 }), [/additional properties/])
  t.match(changed({ ...parsed, id: undefined }), [/required property 'id'/])
  t.match(changed({ ...parsed, created: 'now' }), [/must be integer/])
  t.match(described.check(operation, { ...given, status: 302 }), [/302 is not described/])
  t.match(described.check(operation, { ...given, text: '{' }), [/no JSON/])
  const headers = (change: (copy: Headers) => void) => {
    const copy = new Headers(given.headers)
    change(copy)
    return described.check(operation, { ...given, headers: copy })
  }
  t.match(
    headers(copy => copy.delete('x-request-id')),
    [/X-Request-Id is missing/]
  )
  t.match(
    headers(copy => copy.set('x-more', '1')),
    [/x-more is not described/]
  )
  t.match(
    headers(copy => copy.set('content-type', 'text/html')),
    [/text\/html is not described/]
  )
  const whole = { ...operation, url: operation.path, body: body.replace('{', '{"stream":true,') }
  const stream = await send(gateway.url, whole)
  t.same(described.check(operation, stream), [])
  const cut = stream.text.replace('"object":"chat.completion.chunk"', '"object":"other"')
  t.not(described.check(operation, { ...stream, text: cut }).length, 0)
})
