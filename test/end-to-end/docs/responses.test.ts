// Sends requests that the OpenAPI document allows, and broken ones, to every operation: each response must be one that the document
// describes. `DOCS_RUNS` and `DOCS_SEED` make it longer and different.
import fc from 'fast-check'
import t from 'tap'
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
import { brokenIn, valuesOf } from '../../support/schema-arbitrary.ts'

const numRuns = Number(process.env.DOCS_RUNS ?? 8)
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
const text = fc.oneof({ weight: 2, arbitrary: plainText }, { weight: 3, arbitrary: fc.constantFrom(...directives) })

interface Sent extends OperationName {
  url: string
  body: string | undefined
}

async function send(gateway: string, { method, url, body }: Sent): Promise<ReceivedResponse> {
  const response = await fetch(gateway + url, {
    method: method.toUpperCase(),
    headers: { 'content-type': 'application/json' },
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
    const { tool_choice: _choice, function_call: _call, response_format: _format, ...rest } = body as { [name: string]: unknown }
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

/** These never end, or need a file that no test writes here. */
const NOT_SENT = /^\/logs/

async function sendToAll(gateway: DocumentedGateway, models: fc.Arbitrary<string>): Promise<Map<string, Set<number>>> {
  const described = createDescribedResponses(gateway.document)
  const seen = new Map<string, Set<number>>()
  for (const [index, operation] of listOperations(gateway).entries()) {
    if (NOT_SENT.test(operation.path)) continue
    await fc.assert(
      fc.asyncProperty(requestsOf(gateway, models, operation), async request => {
        const response = await send(gateway.url, request)
        const statuses = seen.get(operation.path) ?? new Set()
        seen.set(operation.path, statuses.add(response.status))
        const wrong = described.check(request, response)
        if (wrong.length > 0) throw new Error(`${wrong.join('\n')}\n${response.status} ${response.text.slice(0, 500)}`)
      }),
      // A seed for each, so that they do not all get the same requests.
      { numRuns, seed: seed + index, endOnFailure: true }
    )
  }
  return seen
}

function summarize(seen: Map<string, Set<number>>): number[] {
  return [...new Set([...seen.values()].flatMap(statuses => [...statuses]))].sort((left, right) => left - right)
}

t.test('every response of the native upstream is one that the document describes', async t => {
  const gateway = await startDocumentedGateway(t, { UPSTREAM_MAX_RETRIES: '0' })
  const models = fc.constantFrom('GigaChat-2', 'GigaChat-2-Max', 'GigaChat-2-Max', 'Embeddings', 'NonExistent-model')
  const seen = await sendToAll(gateway, models)
  const statuses = summarize(seen)
  for (const status of [200, 400, 404, 429, 500, 502, 503]) t.ok(statuses.includes(status), `${status} was seen`)
  if (process.env.DOCS_SHOW !== undefined) for (const [path, list] of seen) console.error(path, [...list].join(' '))
  t.equal(seen.size, Object.keys(gateway.document.paths).filter(path => !NOT_SENT.test(path)).length)
})

t.test('every response of a provider that speaks chat completions is one that the document describes', async t => {
  const gateway = await startDocumentedGateway(t, {}, emulator => {
    const alias = makeAlias('test/chat', { upstreamModel: 'emulator-large' })
    return fileOf([makeProfile('test-chat', [alias], { baseUrl: chatBaseUrl(emulator) })])
  })
  const seen = await sendToAll(gateway, fc.constantFrom('test/chat', 'test/chat', 'test/chat', 'missing/alias'))
  const statuses = summarize(seen)
  for (const status of [200, 400, 404, 429, 502]) t.ok(statuses.includes(status), `${status} was seen`)
})
