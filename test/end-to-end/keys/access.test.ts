// Who may do what (keys.md 2): every route and every carrier of a key against keys that are wrong, expired, disabled, and without the model
// that the request names.

import { request } from 'node:http'
import t, { type Test } from 'tap'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import type { Operation } from '../../../worker/operations/operation.ts'
import { operations } from '../../../worker/operations/table.ts'
import { startEmulator } from '../../support/in-process-gateway.ts'
import { startKeyedWorker } from '../../support/keyed-worker.ts'
import { aliasOf, edgeProfile, prefixedProfile } from '../../support/profile-sets.ts'
import { openTemporaryStore } from '../../support/response-store.ts'

const NOW_MS = 1_000_000
const SECRETS = {
  operator: 'operator-secret-0001',
  named: 'settings-secret-0001',
  admin: 'admin-secret-000001',
  scoped: 'scoped-secret-00001',
  free: 'free-secret-0000001',
  expired: 'expired-secret-0001',
  disabled: 'disabled-secret-001'
}
const features = FEATURE_NAMES
const emulator = await startEmulator(t, { tickMs: 2 })
const aliases = ['demo/chat', 'demo/extra', 'hidden/chat'].map(name => aliasOf(name, 'emulator-large', { features }))

async function start(t: Test) {
  const memory = await openTemporaryStore(t)
  const started = await startKeyedWorker(t, {
    env: {
      GATEWAY_MODE: 'DEV',
      GATEWAY_API_KEY: SECRETS.operator,
      GATEWAY_API_KEYS: JSON.stringify({ named: SECRETS.named }),
      GATEWAY_ADMIN_API_KEY: SECRETS.admin,
      GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true',
      GATEWAY_RESPONSES_WEBSOCKET: 'true'
    },
    profiles: [
      edgeProfile(aliases, { baseUrl: emulator.chatBaseUrl }),
      prefixedProfile('found-chat', 'found/', { baseUrl: emulator.chatBaseUrl })
    ],
    keys: {
      groups: [{ name: 'team', models: ['demo/*', 'found/emulator-*'] }],
      keys: [
        { name: 'scoped', group: 'team', models: ['demo/chat', 'found/*'], secrets: [SECRETS.scoped] },
        { name: 'free', secrets: [SECRETS.free] },
        { name: 'expired', secrets: [SECRETS.expired], expiresAtMs: NOW_MS },
        { name: 'disabled', secrets: [SECRETS.disabled], isEnabled: false }
      ]
    },
    parts: { memory }
  })
  started.clock.nowMs = NOW_MS
  return started
}

const gateway = await start(t)

interface Answer {
  status: number
  headers: Record<string, unknown>
  text: string
}

interface Sent {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: object | undefined
}

/** One connection for each request would cost more than the requests. */
function send({ method = 'POST', path, headers = {}, body }: Sent): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const outgoing = request(gateway.url + path, { method, headers }, async response => {
    const text = (await response.toArray()).join('')
    resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
  })
  outgoing.once('error', reject)
  outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  return promise
}

type Carrier = (key: string) => { headers?: Record<string, string>; query?: string }

const CARRIERS: Record<string, Carrier> = {
  bearer: key => ({ headers: { authorization: `Bearer ${key}` } }),
  'x-api-key': key => ({ headers: { 'x-api-key': key } }),
  'x-goog-api-key': key => ({ headers: { 'x-goog-api-key': key } }),
  'api-key': key => ({ headers: { 'api-key': key } }),
  'query key': key => ({ query: `key=${key}` }),
  'query x-api-key': key => ({ query: `x-api-key=${key}` })
}

function carry(carrier: string, key: string, path: string): Pick<Sent, 'path' | 'headers'> {
  const { headers = {}, query } = CARRIERS[carrier]?.(key) ?? {}
  return { path: query === undefined ? path : `${path}?${query}`, headers }
}

const asKey = (name: keyof typeof SECRETS, path: string) => carry('x-api-key', SECRETS[name], path)

/** A path of each route of an operation, with this model. */
function listPaths({ prefixes, path }: Operation, model = 'demo/chat'): string[] {
  const isSegment = path.includes('{model}')
  const filled = path
    .replace(/\{model\+?\}/, isSegment ? encodeURIComponent(model) : model)
    .replace(/\{(\w+)\}/g, '$1-1')
  return prefixes.map(prefix => prefix + filled)
}

const REFUSALS = [
  { key: 'wrong-secret-000001', code: 'invalid_api_key', message: 'Invalid API key' },
  { key: `${SECRETS.scoped} `.slice(1), code: 'invalid_api_key', message: 'Invalid API key' },
  { key: SECRETS.expired, code: 'key_expired', message: 'The API key has expired' },
  { key: SECRETS.disabled, code: 'key_disabled', message: 'The API key is disabled' }
] as const

/** The form of the family of a route, as far as it says that a key is refused. */
function assertRefused(
  t: Test,
  { status, headers, text }: Answer,
  { code, message, name, family }: { code: string; message: string; name: string; family: string }
): void {
  const { error } = JSON.parse(text)
  const isContent = family === 'content' || error.status !== undefined
  t.match(
    { status, challenge: headers['www-authenticate'], message: error.message },
    { status: 401, challenge: 'Bearer', message },
    name
  )
  if (isContent) t.equal(error.status, 'UNAUTHENTICATED', name)
  else if (family === 'messages') t.equal(error.type, 'authentication_error', name)
  else t.equal(error.code, code, name)
}

t.test('keys 1, 5: a wrong, an expired and a disabled key are 401 on every route, however they are sent', async t => {
  const names = Object.keys(CARRIERS)
  for (const operation of operations as readonly Operation[]) {
    const { method, family } = operation
    for (const path of listPaths(operation)) {
      const refusals = names.flatMap(carrier => REFUSALS.map(refusal => ({ carrier, ...refusal })))
      const answers = await Promise.all(
        refusals.map(({ carrier, key }) => send({ method, ...carry(carrier, key, path) }))
      )
      for (const [index, answer] of answers.entries()) {
        const { carrier, code, message } = refusals[index]!
        // The last two carriers are those of the content family's clients, where the headers of the client decide.
        const shown = family === 'by-client' ? (carrier === 'x-goog-api-key' ? 'content' : 'completions') : family
        assertRefused(t, answer, { code, message, name: `${method} ${path} by ${carrier}: ${code}`, family: shown })
      }
    }
  }
})

const text = 'Say hello.'
const contents = [{ role: 'user', parts: [{ text }] }]

/** What names its model in the body has it from the test. */
const BODIES: Record<string, (model: string) => object> = {
  createChatCompletion: model => ({ model, messages: [{ role: 'user', content: text }] }),
  createDeploymentChatCompletion: () => ({ messages: [{ role: 'user', content: text }] }),
  createResponse: model => ({ model, input: text }),
  countResponseInputTokens: model => ({ model, input: text }),
  compactResponse: model => ({ model, input: text }),
  createEmbedding: model => ({ model, input: text }),
  createDeploymentEmbedding: () => ({ input: text }),
  generateContent: () => ({ contents }),
  streamGenerateContent: () => ({ contents }),
  countTokens: () => ({ contents }),
  embedContent: () => ({ content: contents[0] }),
  batchEmbedContents: () => ({ requests: [{ content: contents[0] }] }),
  createMessage: model => ({ model, max_tokens: 9, messages: [{ role: 'user', content: text }] }),
  countMessageTokens: model => ({ model, messages: [{ role: 'user', content: text }] })
}

const naming: readonly Operation[] = operations.filter(({ id, path }) => id in BODIES || path.includes('{model'))

/** Everything of an answer but what every request has of its own. */
function withoutIds({ status, headers, text: body }: Answer): Answer {
  const { date: _date, 'x-request-id': id, 'request-id': _id, 'server-timing': _timing, ...rest } = headers
  const { 'openai-processing-ms': _ms, ...same } = rest
  return { status, headers: same, text: body.replaceAll(String(id), 'ID') }
}

function requestOf(operation: Operation, { path, model }: { path: string; model: string }): Sent {
  return { method: operation.method, path, body: BODIES[operation.id]?.(model) }
}

t.test('keys 3: a model out of scope is as one that does not exist, on every route and with every carrier', async t => {
  t.ok(naming.length > 15, 'operations that name a model')
  for (const operation of naming) {
    const unknownPaths = listPaths(operation, 'nowhere/chat')
    for (const [index, path] of listPaths(operation, 'hidden/chat').entries()) {
      const unknown = requestOf(operation, { path: unknownPaths[index] ?? '', model: 'nowhere/chat' })
      const hidden = requestOf(operation, { path, model: 'hidden/chat' })
      for (const carrier of Object.keys(CARRIERS)) {
        const [expected, found] = await Promise.all([
          send({ ...unknown, ...carry(carrier, SECRETS.free, unknown.path) }),
          send({ ...hidden, ...carry(carrier, SECRETS.scoped, hidden.path) })
        ])
        t.equal(expected.status, 404, `${operation.method} ${unknown.path} by ${carrier}`)
        t.same(withoutIds(found), withoutIds(expected), `${operation.method} ${path} by ${carrier}`)
      }
    }
  }
})

t.test('keys 4: a model needs a pattern of the key and one of its group', async t => {
  const statuses = async (key: keyof typeof SECRETS, model: string) => {
    const found = new Set<number>()
    // In turn: together they may need more connections than the provider has for them.
    for (const operation of naming) {
      const sent = requestOf(operation, { path: listPaths(operation, model)[0] ?? '', model })
      found.add((await send({ ...sent, ...asKey(key, sent.path) })).status)
    }
    return found
  }
  t.same(await statuses('scoped', 'demo/chat'), new Set([200]), 'exact, and by the group')
  t.notOk((await statuses('scoped', 'found/emulator-large')).has(404), 'behind the prefix of a profile')
  t.same(await statuses('scoped', 'demo/extra'), new Set([404]), 'only by the group')
  t.same(await statuses('scoped', 'found/other'), new Set([404]), 'only by the key')
  t.same(await statuses('free', 'hidden/chat'), new Set([200]))
})

t.test('keys 3: the scope goes before every other fault of a request, and along with a large body', async t => {
  const faults: Record<string, object> = {
    '/v1/chat/completions': { messages: 'x', temperature: 'hot' },
    '/v1/responses': { input: 7, tools: {} },
    '/v1/messages': { messages: [], max_tokens: -1 },
    '/v1/embeddings': { input: {} }
  }
  for (const [path, fault] of Object.entries(faults)) {
    const { status } = await send({ ...asKey('scoped', path), body: { model: 'hidden/chat', ...fault } })
    t.equal(status, 404, path)
    t.equal((await send({ ...asKey('scoped', path), body: { model: 'demo/chat', ...fault } })).status, 400, path)
  }
  const long = 'word '.repeat(400_000)
  const large = { '/v1/chat/completions': 'messages', '/v1/messages': 'messages', '/v1/responses': 'input' }
  for (const [path, member] of Object.entries(large)) {
    const body = { model: 'hidden/chat', max_tokens: 9, [member]: [{ role: 'user', content: long }] }
    t.equal((await send({ ...asKey('scoped', path), body })).status, 404, `${path}, in a thread`)
  }
})

const LIST_HEADERS = {
  completions: {},
  messages: { 'anthropic-version': '2023-06-01' },
  content: { 'x-goog-api-client': 'a' }
}

t.test('keys 3: lists and documents show a key its own models', async t => {
  const get = async (key: keyof typeof SECRETS | undefined, path: string, headers = {}) => {
    const sent = key === undefined ? { path } : asKey(key, path)
    return send({ method: 'GET', path, headers: { ...sent.headers, ...headers } })
  }
  const lists = (operations as readonly Operation[]).filter(({ id }) =>
    /^(list(Content)?Models|getModelInfo)$/.test(id)
  )
  for (const operation of lists) {
    for (const path of listPaths(operation)) {
      for (const headers of Object.values(LIST_HEADERS)) {
        const all = (await get('free', path, headers)).text
        const shown = (await get('scoped', path, headers)).text
        const name = `${path} ${JSON.stringify(headers)}`
        t.ok(/demo\/chat/.test(all) && /demo\/extra/.test(all) && /hidden\/chat/.test(all), name)
        t.ok(/demo\/chat/.test(shown) && !/demo\/extra/.test(shown) && !/hidden\/chat/.test(shown), name)
      }
    }
  }
  const models = (await get('scoped', '/bridge/models')).text
  t.same(
    new Set(JSON.parse(models).models.map(({ id }: { id: string }) => id.split('/')[0])),
    new Set(['demo', 'found'])
  )
  t.ok(/hidden\/chat/.test((await get('free', '/bridge/models')).text))
  const capabilities = (model: string) => `/bridge/capabilities?model=${model}&protocol=openai_chat_completions`
  t.equal((await get('scoped', capabilities('demo/chat'))).status, 200)
  t.equal((await get('scoped', '/bridge/capabilities')).status, 200)
  const hidden = await get('scoped', capabilities('hidden/chat'))
  t.same(withoutIds(hidden), withoutIds(await get('free', capabilities('nowhere/chat'))))
  const admin = { 'x-admin-api-key': SECRETS.admin }
  const whole = await get(undefined, '/bridge/models', admin)
  t.ok(/demo\/extra/.test(whole.text) && /hidden\/chat/.test(whole.text), 'the operator sees the models of all keys')
  t.equal((await get(undefined, '/bridge/models', { 'x-admin-api-key': SECRETS.free })).status, 401)
  for (const path of ['/bridge/models', '/bridge/capabilities', capabilities('demo/chat')]) {
    t.equal((await get(undefined, path)).status, 401, `${path} without a key`)
    t.equal((await get('expired', path)).status, 401, path)
  }
  // Open documents name no alias at all.
  for (const path of ['/openapi.json', '/redoc', '/ready', '/', '/health']) {
    t.notOk(/demo\/chat|demo\/extra|hidden\/chat/.test((await get(undefined, path)).text), path)
  }
})

t.test('keys 3: an explanation says what a key gets', async t => {
  const explain = async (query: string) => {
    const path = `/_debug/explain/openai${query}`
    const body = { model: 'hidden/chat', messages: [{ role: 'user', content: text }] }
    return send({ path, headers: { 'x-admin-api-key': SECRETS.admin }, body })
  }
  t.match(JSON.parse((await explain('')).text), { accepted: true })
  t.match(JSON.parse((await explain('?key_name=scoped')).text), {
    accepted: false,
    error: { code: 'unknown_model_alias', status: 404 }
  })
  t.equal((await explain('?key_name=unheard')).status, 422)
})

t.test('keys 2: metrics and the log need the default or the admin key', async t => {
  for (const path of ['/logs/10', '/logs/html', '/logs']) {
    const status = async (headers: Record<string, string>) => (await send({ method: 'GET', path, headers })).status
    t.not(await status({ 'x-api-key': SECRETS.operator }), 401, path)
    t.not(await status({ 'x-admin-api-key': SECRETS.admin }), 401, path)
    t.equal(await status({ 'x-api-key': SECRETS.free }), 403, path)
    t.equal(await status({ 'x-api-key': SECRETS.named }), 403, path)
    t.equal(await status({ 'x-api-key': SECRETS.expired }), 401, path)
    t.equal(await status({}), 401, path)
  }
})
