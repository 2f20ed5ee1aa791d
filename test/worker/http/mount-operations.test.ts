import Fastify from 'fastify'
import t from 'tap'
import { mountOperations, type PathParameters } from '../../../worker/http/mount-operations.ts'
import { sendJson } from '../../../worker/http/respond.ts'
import type { Operation } from '../../../worker/operations/operation.ts'
import { startApplication } from './support.ts'

const shared = {
  prefixes: ['', '/v1beta'],
  family: 'content',
  isModelRequest: true,
  tag: 'Gemini / Models',
  summary: ''
} as const

const operations = [
  { ...shared, id: 'count', method: 'POST', path: '/models/{model+}:count' },
  { ...shared, id: 'stream', method: 'POST', path: '/models/{model+}:stream' },
  { ...shared, id: 'get', method: 'GET', path: '/models/{model+}' },
  { ...shared, id: 'items', method: 'GET', path: '/responses/{id}/items/{item}' },
  { ...shared, id: 'delete', method: 'DELETE', path: '/responses/{id}/items/{item}' }
] as const satisfies readonly Operation[]

async function start() {
  const handle = (id: string) => (request: Request, reply: Reply, path: PathParameters) =>
    sendJson(reply, 200, {}, JSON.stringify({ id, path, route: request.context.route }))
  const handlers = Object.fromEntries(operations.map(({ id }) => [id, handle(id)]))
  const { url } = await startApplication(t, { routes: app => mountOperations(app, operations, handlers) })
  return async (method: string, path: string) => {
    const response = await fetch(url + path, { method })
    return { status: response.status, allow: response.headers.get('allow'), body: await response.json() }
  }
}

type Handle = Parameters<typeof mountOperations>[2][string]
type Request = Parameters<Handle>[0]
type Reply = Parameters<Handle>[1]

const ask = await start()

t.test('the last colon separates the rest of a path from the verb', async t => {
  for (const [rest, model, id] of [
    ['gemini-x:count', 'gemini-x', 'count'],
    ['X:2.0:stream', 'X:2.0', 'stream'],
    ['google/gemini-x:count', 'google/gemini-x', 'count'],
    ['a%2Fb%3Astream', 'a/b', 'stream'],
    [':count', '', 'count']
  ] as const) {
    const { body } = await ask('POST', `/v1beta/models/${rest}`)
    t.same(body, { id, path: { model }, route: `/v1beta/models/{model}:${id}` }, rest)
  }
})

t.test('an unknown verb is an unknown path; without a verb other methods serve the path', async t => {
  for (const rest of ['m:predict', 'm:Count', 'm:'])
    t.match(await ask('POST', `/models/${rest}`), { status: 404 }, rest)
  t.match(await ask('POST', '/models/m'), { status: 405, allow: 'GET' })
  t.match(await ask('PUT', '/models/m:count'), { status: 405, allow: 'GET, POST' })
})

t.test('a route without verbs takes the whole rest, and is named by the verb that it has', async t => {
  const { body } = await ask('GET', '/models/a/b:count')
  t.same(body, { id: 'get', path: { model: 'a/b:count' }, route: '/models/{model}:count' })
  t.match((await ask('GET', '/models/a/b')).body, { path: { model: 'a/b' }, route: '/models/{model}' })
})

t.test('each segment is a parameter, in every method', async t => {
  for (const [method, id] of [
    ['GET', 'items'],
    ['DELETE', 'delete']
  ] as const) {
    const { body } = await ask(method, '/responses/resp%201/items/7')
    t.same(body, { id, path: { id: 'resp 1', item: '7' }, route: '/responses/{id}/items/{item}' })
  }
  t.match(await ask('GET', '/responses//items/7'), { status: 404 })
  t.match(await ask('PUT', '/responses/1/items/7'), { status: 405, allow: 'DELETE, GET' })
})

t.test('an operation without a handler ends the start', async t => {
  t.throws(() => mountOperations(Fastify(), operations, {}), { message: 'The operation count has no handler.' })
})
