// Bodies that are nested as deep as the limit allows, in every family and on both contracts,
// translated on the event loop and in a pool thread (operations.md 3.3; decisions.md 42).

import t from 'tap'
import { get, lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { change, listPaths } from './odd-documents.ts'
import { type Family, families, model, readError } from './support.ts'
import { wholeBodies } from './whole-bodies.ts'

const LEVELS_MAX = 1000

const emulator = await startEmulator(t)
const upstream = emulatorVariables(emulator)
const gateways = [
  ['event loop', await startGateway(t, { env: { ...upstream, GATEWAY_POOL_THREADS: '0' } })],
  [
    'pool thread',
    await startGateway(t, { env: { ...upstream, GATEWAY_POOL_THREADS: '1', GATEWAY_POOL_THRESHOLD_BYTES: '1' } })
  ]
] as const

/** A schema with this many levels of objects; `levels` must be odd. */
function schemaOf(levels: number): object {
  let schema: object = { type: 'string' }
  for (let level = 1; level < levels; level += 2) schema = { type: 'object', properties: { a: schema } }
  return schema
}

/** An object with this many levels, objects and arrays in turn. */
function objectOf(levels: number): object {
  const pairs = Math.floor(levels / 2)
  return JSON.parse(`${'{"a":['.repeat(pairs)}${']}'.repeat(pairs)}`)
}

const schemaPlaces: Record<Family, (schema: object) => object> = {
  completions: schema => ({
    model,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ type: 'function', function: { name: 'deep', parameters: schema } }]
  }),
  responses: schema => ({ model, input: 'hi', tools: [{ type: 'function', name: 'deep', parameters: schema }] }),
  messages: schema => ({
    model,
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ name: 'deep', input_schema: schema }]
  }),
  content: schema => ({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'deep', parametersJsonSchema: schema }] }]
  })
}

/** Levels of a body above its schema. */
const levelsAbove: Record<Family, number> = { completions: 4, responses: 3, messages: 3, content: 5 }

function pathOf(family: Family, version: 'v1' | 'v2'): string {
  if (family === 'content') return `/${version}/models/${model}:generateContent`
  return `/${version}/${family === 'completions' ? 'chat/completions' : family}`
}

for (const [place, gateway] of gateways) {
  t.test(`decisions.md 42: tool schemas of 200 levels pass unchanged (${place})`, async t => {
    const schema = schemaOf(201)
    for (const family of families) {
      for (const version of ['v1', 'v2'] as const) {
        const response = await post(gateway.url + pathOf(family, version), schemaPlaces[family](schema))
        t.equal(response.status, 200, `${family} ${version} ${response.text.slice(0, 200)}`)
        const [sent] = listSentFunctions(lastUpstreamChat(emulator).body)
        t.strictSame(sent?.parameters, schema, `${family} ${version}`)
      }
    }
  })

  t.test(`decisions.md 42: bodies of 1000 levels pass, and deeper ones are 400 (${place})`, async t => {
    for (const family of families) {
      const bodies = (levels: number): object[] => [
        schemaPlaces[family](schemaOf(levels - levelsAbove[family])),
        { ...schemaPlaces[family]({ type: 'object' }), unknown: objectOf(levels - 1) }
      ]
      for (const version of ['v1', 'v2'] as const) {
        for (const body of bodies(LEVELS_MAX - 1)) {
          const response = await post(gateway.url + pathOf(family, version), body)
          t.equal(response.status, 200, `${family} ${version} ${response.text.slice(0, 200)}`)
        }
        for (const body of bodies(LEVELS_MAX + 3)) {
          const response = await post(gateway.url + pathOf(family, version), body)
          t.equal(response.status, 400, `${family} ${version}`)
          const { message } = readError(family, response)
          t.equal(message, 'Invalid JSON body: nested deeper than 1000 levels.', `${family} ${version}`)
        }
      }
    }
    t.equal((await get(`${gateway.url}/health`)).status, 200)
  })
}

t.test('decisions.md 42: no deep value at any place of a body is an error of the gateway', async t => {
  const [, gateway] = gateways[0]
  for (const [family, path, body] of wholeBodies) {
    for (const place of listPaths(body)) {
      const nested = objectOf(LEVELS_MAX - place.length - 1)
      for (const [how, value] of [
        ['replace', nested],
        ['add', nested],
        // Texts of JSON have no limit of their own: arguments and results of calls are such texts.
        ['replace', `${'{"a":['.repeat(20_000)}${']}'.repeat(20_000)}`]
      ] as const) {
        const response = await post(gateway.url + path, change(body, place, how, value))
        if (response.status === 200) continue
        const { message } = readError(family, response)
        if (response.status >= 500) t.fail(`${path} ${place.join('.')} ${how}: ${response.status} ${message}`)
      }
    }
  }
  t.equal((await get(`${gateway.url}/health`)).status, 200)
})
