// What a limit refuses, and what it does not count (keys.md 6, cases 6, 9 and 10): each family's own SDK is in `official-sdks.test.ts`.
import t, { type Test } from 'tap'
import { get, post } from '../../support/client.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { openStream, send } from '../bridge/families.ts'
import { familyOf, forms, PROMPT, question } from './questions.ts'
import {
  ALIAS,
  answerChat,
  auth,
  type ChatAnswer,
  FREE_SECRET,
  type LimitedGateway,
  type LimitedOptions,
  SPREAD_ALIAS,
  startLimited,
  wantsStream
} from './support.ts'

const text = 'Hello'

const start = (t: Test, options: LimitedOptions, answer: Omit<ChatAnswer, 'isStream'> = { text, usage: [70, 20] }) =>
  startLimited(t, options, (request, response) => {
    if (request.url.endsWith('/embeddings')) {
      const { input } = JSON.parse(request.body.toString('utf8')) as { input: string[] }
      const data = input.map((_, index) => ({ object: 'embedding', index, embedding: [1, 0] }))
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ object: 'list', model: 'exact-model-1', data }))
      return
    }
    answerChat(response, { ...answer, isStream: wantsStream(request) })
  })

/** Each form of request finds the limit reached, before anything goes to the provider. */
async function checkRefusals(t: Test, gateway: LimitedGateway, sentence: RegExp): Promise<void> {
  const { length } = gateway.stub.requests
  for (const { family, isStream, name } of forms) {
    const response = await send(gateway.url, family, question({ isStream }))
    t.equal(response.status, 429, name)
    t.match(response.headers.get('retry-after'), /^[1-9]\d*$/, name)
    const { message } = family.readFailure(response)
    t.ok(sentence.test(message), `${name}: ${message}`)
  }
  t.equal(gateway.stub.requests.length, length)
}

t.test('keys 6: requests beyond the limit are refused in every family', async t => {
  const gateway = await start(t, { limits: { requestsPerMinute: 1 } })
  const family = familyOf('completions')
  t.equal((await send(gateway.url, family, question())).status, 200)
  await checkRefusals(
    t,
    gateway,
    /^The API key 'ci' has reached its limit of 1 requests per minute\. Try again in \d+ s\.$/
  )
})

t.test("keys 6: a group's limit is that of its keys", async t => {
  const gateway = await start(t, { limits: { requestsPerMinute: 100 }, group: { tokensPerMinute: 100 } })
  const family = familyOf('completions')
  t.equal((await send(gateway.url, family, question())).status, 200)
  await checkRefusals(
    t,
    gateway,
    /^The group of the API key 'ci' has a limit of 100 tokens per minute, and this request/
  )
})

t.test('keys 9: a further concurrent request is refused until one has ended', async t => {
  const gateway = await start(t, { limits: { concurrentRequests: 1 } }, { text, isHeld: true })
  const family = familyOf('completions')
  const abortion = new AbortController()
  await openStream(gateway.url, family, question({ isStream: true }), abortion.signal)
  await checkRefusals(
    t,
    gateway,
    /^The API key 'ci' has reached its limit of 1 concurrent requests\. Try again in 1 s\.$/
  )
  abortion.abort()
  await gateway.settled(1)
  const next = await openStream(gateway.url, family, question({ isStream: true }))
  t.equal(next.status, 200)
  await next.body?.cancel()
})

t.test('keys 10: a budget stops requests once it is spent, and begins again with its period', async t => {
  let nowMs = Date.UTC(2026, 10, 30, 23, 59, 50)
  const gateway = await start(t, {
    limits: { concurrentRequests: 9, budget: { amount: 0.00018, period: 'day' } },
    price: { input: 1, output: 1 },
    epochMs: () => nowMs
  })
  const family = familyOf('completions')
  const statuses: number[] = []
  for (const count of [1, 2]) {
    statuses.push((await send(gateway.url, family, question())).status)
    await gateway.settled(count)
  }
  t.strictSame(statuses, [200, 200])
  t.equal(gateway.used('budget'), 2 * 90_000)
  const refused = await send(gateway.url, family, question())
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '10')
  t.equal(family.readFailure(refused).code, 'budget_exceeded')
  nowMs += 10_000
  t.equal((await send(gateway.url, family, question())).status, 200)
})

t.test('keys 13: without counters requests of limited keys are refused, and those of other keys are not', async t => {
  const gateway = await start(t, { limits: { requestsPerMinute: 100 }, isUnavailable: true })
  for (const { family, isStream } of forms) {
    const response = await send(gateway.url, family, question({ isStream }))
    t.equal(response.status, 503)
    t.equal(response.headers.get('retry-after'), '1')
    const free = await send(gateway.url, family, question({ isStream, headers: auth(FREE_SECRET) }))
    t.equal(free.status, 200)
  }
})

t.test('keys 6: a response in the background is refused before it begins', async t => {
  const memory = await openTemporaryStore(t)
  const gateway = await start(t, { limits: { requestsPerMinute: 1, concurrentRequests: 9 }, memory })
  const create = () => post(`${gateway.url}/v1/responses`, { model: ALIAS, input: PROMPT, background: true }, auth())
  const first = await create()
  t.equal(first.status, 200)
  t.equal(first.json.status, 'queued')
  await gateway.settled(1)
  const second = await create()
  t.equal(second.status, 429)
  t.equal(second.json.error.code, 'rate_limit_exceeded')
})

t.test('keys 6: a summary of a conversation is a request like any other', async t => {
  const gateway = await start(t, { limits: { requestsPerMinute: 1 } })
  const compact = () => post(`${gateway.url}/v1/responses/compact`, { model: ALIAS, input: PROMPT }, auth())
  t.equal((await compact()).status, 200)
  t.equal((await compact()).status, 429)
})

t.test('keys 8: embeddings count their input', async t => {
  const gateway = await start(t, { limits: { requestsPerMinute: 9, tokensPerMinute: 1000, concurrentRequests: 9 } })
  const response = await post(`${gateway.url}/v1/embeddings`, { model: ALIAS, input: [PROMPT, PROMPT] }, auth())
  t.equal(response.status, 200)
  await gateway.settled(1)
  t.equal(gateway.used('tokens_per_minute'), 200)
  t.equal(gateway.used('requests_per_minute'), 1)
})

t.test('keys 6: lists, counts, documents and health use no limit', async t => {
  const gateway = await start(t, { limits: { requestsPerMinute: 1 } })
  const counted = { model: ALIAS, messages: [{ role: 'user', content: PROMPT }] }
  const responses = [
    await get(`${gateway.url}/v1/models`, auth()),
    await get(`${gateway.url}/v1/models/${ALIAS}`, auth()),
    await get(`${gateway.url}/v1beta/models`, auth()),
    await post(`${gateway.url}/v1/messages/count_tokens`, counted, auth()),
    await post(`${gateway.url}/v1/responses/input_tokens`, { model: ALIAS, input: PROMPT }, auth()),
    await post(
      `${gateway.url}/v1beta/models/${ALIAS}:countTokens`,
      { contents: [{ role: 'user', parts: [{ text: PROMPT }] }] },
      auth()
    ),
    await get(`${gateway.url}/bridge/models`, auth()),
    await get(`${gateway.url}/bridge/capabilities`, auth()),
    await get(`${gateway.url}/openapi.json`, auth()),
    await get(`${gateway.url}/ready`),
    await get(`${gateway.url}/health`)
  ]
  t.strictSame(
    responses.map(({ status }) => status),
    responses.map(() => 200)
  )
  t.strictSame(gateway.asked, [])
})

t.test('keys 6: responses of all routes have the headers of the limits, once the counters have answered', async t => {
  const gateway = await start(t, { limits: { requestsPerMinute: 9, concurrentRequests: 9 } })
  const chat = (body: object) => post(`${gateway.url}/v1/chat/completions`, body, auth())
  const list = (headers = {}) => get(`${gateway.url}/v1/models`, { ...auth(), ...headers })
  const left = 'x-ratelimit-remaining-requests'
  t.equal((await list()).headers.get(left), null, 'this worker knows nothing yet')
  const messages = [{ role: 'user', content: PROMPT }]
  t.equal((await chat({ model: ALIAS, messages })).headers.get(left), '8')
  t.equal((await list()).headers.get(left), '8')
  t.equal((await chat({ model: 'no/such', messages })).headers.get(left), '8', 'unknown model')
  const faulty = await post(`${gateway.url}/v1/messages`, { model: ALIAS, messages, max_tokens: -1 }, auth())
  t.equal(faulty.status, 400)
  for (const { headers } of [faulty, await list({ 'anthropic-version': '2023-06-01' })]) {
    t.strictSame([headers.get('anthropic-ratelimit-requests-remaining'), headers.get(left)], ['8', null])
  }
  t.equal((await list({ authorization: `Bearer ${FREE_SECRET}` })).headers.get(left), null)
})

t.test('keys 6: an alias with several deployments is admitted once', async t => {
  const gateway = await start(t, { limits: { requestsPerMinute: 1, concurrentRequests: 1 } })
  const family = familyOf('completions')
  const response = await send(gateway.url, family, question({ model: SPREAD_ALIAS }))
  t.equal(response.status, 200, 'the first deployment cannot be reached, the second one answers')
  await gateway.settled(1)
  t.equal(gateway.used('requests_per_minute'), 1)
  t.equal(gateway.used('concurrent_requests'), 0)
  t.strictSame(gateway.asked, ['ci'])
})

t.test('keys 6: the limits of the key go before the slot of the model', async t => {
  const env = {
    GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [ALIAS]: 1 }),
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
  }
  const gateway = await start(
    t,
    { limits: { requestsPerMinute: 1, concurrentRequests: 9 }, env },
    { text, isHeld: true }
  )
  const family = familyOf('completions')
  const held = await openStream(gateway.url, family, question({ isStream: true, headers: auth(FREE_SECRET) }))
  const codes: (string | null)[] = []
  for (let turn = 1; turn <= 2; turn += 1) {
    codes.push(family.readFailure(await send(gateway.url, family, question())).code)
  }
  t.strictSame(codes, ['model_concurrency_limit', 'rate_limit_exceeded'], 'the first one keeps its count of requests')
  await gateway.settled(1)
  t.equal(gateway.used('concurrent_requests'), 0)
  await held.body?.cancel()
})

t.test('keys 6: a model that does not exist is 404, also where the limits refuse the request', async t => {
  const gateway = await start(t, { limits: { requestsPerMinute: 1 } })
  for (const { family, isStream } of forms) {
    const { status } = await send(gateway.url, family, question({ isStream, model: 'no/such' }))
    t.equal(status, 404)
  }
  t.strictSame(gateway.asked, [])
})
