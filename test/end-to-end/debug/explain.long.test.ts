// Explanations of a started gateway, compared with what its routes do: the upstream records every request.

import t, { type Test } from 'tap'
import { Edits, readPlace } from '../../../worker/debug/explain/paths.ts'
import { post, upstreamChats } from '../../support/client.ts'
import { startEmulator } from '../../support/in-process-gateway.ts'
import { chatBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { pathUnder, type RecordedRequest, readRecordedRequests } from '../agents/recorded.ts'
import { ADMIN_KEY, createCaller, debugVariables, startDebugGateway } from './support.ts'

const requests = readRecordedRequests().filter(({ method, path }) => method !== 'GET' && !/count_?tokens/i.test(path))
const families = { completions: 'openai', responses: 'responses', messages: 'anthropic', content: 'gemini' } as const

interface Field {
  path: string
  verdict: string
}

interface Route {
  explain(request: RecordedRequest): Promise<{ status: number; json: Explained }>
  send(request: RecordedRequest): Promise<{ status: number; text: string; upstream: unknown }>
}

interface Explained {
  accepted: boolean
  error?: { status: number; message: string; param?: string }
  fields: Field[]
  complete: boolean
  route?: { provider_kind: string; profile_id: string; public_model: string }
}

/** Compares every recorded request on one route. */
async function compare(t: Test, { explain, send }: Route): Promise<{ refused: number; ignored: number }> {
  const counts = { refused: 0, ignored: 0 }
  for (const request of requests) {
    const { status, json } = await explain(request)
    t.equal(status, 200, request.name)
    t.ok(json.complete, request.name)
    const sent = await send(request)
    if (!json.accepted) {
      counts.refused++
      t.equal(sent.status, json.error?.status, request.name)
      // Some families write the field in a form of their own in front of the message.
      const message = json.error?.message.replace(`'${json.error.param}' `, '')
      t.ok(sent.text.includes(JSON.stringify(message).slice(1, -1)), request.name)
      t.equal(sent.upstream, undefined, 'nothing was sent upstream')
      t.ok(json.fields.some(({ verdict }) => verdict === 'refused'))
      continue
    }
    t.ok(sent.upstream, request.name)
    const ignored = json.fields.filter(({ verdict }) => verdict === 'ignored')
    counts.ignored += ignored.length
    if (ignored.length === 0) continue
    const edits = ignored.reduce((all, { path }) => all.with(readPlace(path)), new Edits())
    const without = await send({ ...request, body: edits.apply(request.body) })
    t.strictSame(without.upstream, sent.upstream, `${request.name} without ${ignored.length} ignored fields`)
  }
  return counts
}

for (const contract of ['v1', 'v2'] as const) {
  t.test(`the ${contract} contract does with every recorded request what its explanation says`, async t => {
    const { emulator, gateway, call } = await startDebugGateway(t, {
      GATEWAY_PASS_MODEL: 'false',
      UPSTREAM_MODEL: 'GigaChat-2-Max'
    })
    const counts = await compare(t, {
      async explain({ family, path, body }) {
        const stream = path.includes(':stream') ? '&stream=true' : ''
        const model = family === 'content' ? '&model=any' : ''
        const explained = await call(`/_debug/explain/${families[family]}?api_mode=${contract}${model}${stream}`, body)
        t.match(explained.json.route, { provider_kind: 'native', api_mode: contract, upstream_model: 'GigaChat-2-Max' })
        return explained
      },
      async send(request) {
        const before = upstreamChats(emulator).length
        const { status, text } = await post(gateway.url + pathUnder(request, contract), request.body, request.headers)
        return { status, text, upstream: upstreamChats(emulator)[before]?.body }
      }
    })
    t.ok(counts.ignored > 20)
  })
}

t.test('an alias of another provider does with every recorded request what its explanation says', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startProfileGateway(t, {
    env: debugVariables,
    profiles: [writeChatProfile({ id: 'edge', baseUrl: chatBaseUrl(emulator), aliases: [{ alias: 'edge-large' }] })]
  })
  const call = createCaller(gateway)
  const counts = await compare(t, {
    explain({ family, path, body }) {
      const stream = path.includes(':stream') ? '&stream=true' : ''
      const changed = family === 'content' ? body : { ...body, model: 'edge-large' }
      // The spelling without the underscore leads to the same handler.
      return call(`/debug/explain/${families[family]}?model=edge-large${stream}`, changed)
    },
    async send({ family, path, body, headers }) {
      const isContent = family === 'content'
      const changed = isContent ? body : { ...body, model: 'edge-large' }
      const url = gateway.url + (isContent ? path.replace(/models\/[^:]+/, 'models/edge-large') : path)
      const before = emulator.requests.length
      const { status, text } = await post(url, changed, headers)
      const chat = emulator.requests.slice(before).find(one => one.path.endsWith('/chat/completions'))
      return { status, text, upstream: chat?.body }
    }
  })
  t.ok(counts.refused > 0)
  // Only what the wire cannot carry is refused (decisions.md 69); the rest is left out.
  t.ok(counts.ignored > 20)

  const chat = { model: 'edge-large', messages: [{ role: 'user', content: 'hi' }], temperature: 0.5 }
  const upstream = await call('/_debug/translate', { from: 'openai', to: 'upstream', payload: chat })
  t.strictSame(upstream.json.payload, { ...chat, model: 'emulator-large' }, 'the body as the client wrote it')
  const selected = await call('/_debug/translate', {
    from: 'anthropic',
    to: 'upstream',
    alias: 'edge-large',
    payload: { model: 'claude', max_tokens: 5, messages: chat.messages }
  })
  t.match(selected.json.payload, { model: 'emulator-large', max_tokens: 5, messages: chat.messages })
  const ofProfile = await call('/_debug/translate', {
    from: 'openai',
    to: 'upstream',
    profile: 'edge',
    payload: { ...chat, model: 'another' }
  })
  t.equal(ofProfile.json.payload.model, 'another', 'a model without an alias')
  const unknown = await call('/_debug/translate', { from: 'openai', to: 'upstream', payload: { ...chat, model: 'x' } })
  t.strictSame([unknown.status, unknown.json.error.errors[0].path], [400, 'model'])
  const response = {
    id: 'chatcmpl-7',
    object: 'chat.completion',
    created: 1,
    model: 'emulator-large',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }]
  }
  const read = await call('/_debug/translate', {
    from: 'upstream',
    to: 'openai',
    payload: response,
    alias: 'edge-large'
  })
  t.match(read.json.payload, { choices: [{ message: { content: 'Hello' } }], model: 'emulator-large' })
})

t.test('query parameters of another form are refused', async t => {
  const { call } = await startDebugGateway(t)
  const { status, json } = await call('/_debug/explain/openai?api_mode=v3', {})
  t.strictSame([status, json.error.code, json.error.errors[0].path], [422, 'invalid_parameter', 'query.api_mode'])
  const unread = await call('/_debug/explain/gemini?stream=maybe&api_mode=v1', {})
  t.strictSame([unread.status, unread.json.error.errors[0].path], [422, 'query.stream'])
  const body = { contents: [{ parts: [{ text: 'hi' }] }] }
  const repeated = await call('/_debug/explain/gemini?model=m&api_mode=v1&api_mode=V2&stream=1', body)
  t.match(repeated.json, { accepted: true, route: { api_mode: 'v2' } }, 'the last one counts, in any case')
  t.equal((await call('/_debug/explain/other', {})).status, 404)
  const headers = { authorization: `Bearer ${ADMIN_KEY}` }
  const embeddings = await call('/debug/explain/embeddings', { model: 'Embeddings', input: 'hi', user: 'u' }, headers)
  t.match(embeddings.json, { family: 'embeddings', accepted: true, route: { provider_kind: 'native' } })
})
