import t, { type Test } from 'tap'
import { sendJson } from '../../worker/providers/support/stub-upstream.ts'
import { beginStream, chatAnswer, chunkOf, type StartedBridge, startBridge } from './executor-support.ts'
import { ALIAS, type Deployment, startDeployments, type TargetedOptions, targetedProfiles } from './targets-support.ts'

interface Started extends StartedBridge {
  deployments: Deployment[]
}

async function start(
  t: Test,
  ids: readonly string[],
  options: TargetedOptions & { env?: Record<string, string> } = {}
): Promise<Started> {
  const deployments = await startDeployments(t, ids)
  const bridge = await startBridge(t, { profiles: targetedProfiles(deployments, options), env: options.env ?? {} })
  return { ...bridge, deployments }
}

interface Reply {
  status: number
  target: string | null
  body: { choices?: Array<{ message: { content: string } }>; error?: { message: string; code: string } }
}

async function ask(url: string, talk: string, more: object = {}): Promise<Reply> {
  const messages = [{ role: 'user', content: talk }]
  const body = JSON.stringify({ model: ALIAS, messages, ...more })
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })
  const text = await response.text()
  return { status: response.status, target: response.headers.get('x-gateway-target'), body: JSON.parse(text) }
}

const countOf = (deployments: readonly Deployment[]) => deployments.map(({ stub }) => stub.requests.length)
const bodyOf = ({ stub }: Deployment, index = 0) => JSON.parse(stub.requests[index]?.body.toString() ?? '{}')

t.test('a request goes to one target, with its path, its model and its name in the response', async t => {
  const { url, deployments } = await start(t, ['eu', 'us'], { path: '/<id>/v1' })
  const seen = new Set<string | null>()
  for (let index = 0; seen.size < 2; index++) {
    const { status, target, body } = await ask(url, `talk ${index}`)
    t.equal(status, 200)
    t.equal(body.choices?.[0]?.message.content, target)
    seen.add(target)
  }
  for (const deployment of deployments) {
    t.equal(deployment.stub.requests[0]?.url, `/${deployment.id}/v1/chat/completions`)
    t.equal(bodyOf(deployment).model, `model-of-${deployment.id}`)
  }
})

t.test('all turns of a conversation go to one target, and so do requests with one cache key', async t => {
  const { url } = await start(t, ['eu', 'us', 'asia'])
  for (let talk = 0; talk < 8; talk++) {
    const first = await ask(url, `talk ${talk}`)
    const more = [
      { role: 'user', content: `talk ${talk}` },
      { role: 'assistant', content: 'So.' },
      { role: 'user', content: 'And?' }
    ]
    t.equal((await ask(url, '', { messages: more })).target, first.target)
    const keyed = await ask(url, 'one', { prompt_cache_key: `session ${talk}` })
    t.equal((await ask(url, 'other', { prompt_cache_key: `session ${talk}` })).target, keyed.target)
  }
})

t.test('a 429 reaches its client, and the next requests go elsewhere', async t => {
  const { url, deployments, lines } = await start(t, ['eu', 'us'])
  const [eu, us] = deployments as [Deployment, Deployment]
  for (const deployment of deployments) {
    deployment.act = (_, response) =>
      sendJson(response, 429, { error: { message: 'Slow down.' } }, { 'retry-after': '60' })
  }
  const refused = await ask(url, 'talk')
  t.equal(refused.status, 429)
  const [failed, other] = refused.target === 'eu' ? [eu, us] : [us, eu]
  other.act = (_, response) => sendJson(response, 200, chatAnswer(other.id))
  for (let index = 0; index < 20; index++) t.equal((await ask(url, `talk ${index}`)).target, other.id)
  t.equal(failed.stub.requests.length, 1)
  t.match(
    lines.find(({ event }) => event === 'target_rested'),
    { profile_id: failed.id, upstream_model: `model-of-${failed.id}`, rest_ms: 60_000 }
  )
})

t.test(
  'a request whose connection cannot be made is served by another target, without a second one for what was sent',
  async t => {
    const { url, deployments } = await start(t, ['eu', 'us'])
    const [eu, us] = deployments as [Deployment, Deployment]
    await eu.stub.close()
    for (let index = 0; index < 20; index++) {
      const { status, target } = await ask(url, `talk ${index}`)
      t.equal(status, 200)
      t.equal(target, 'us')
    }
    us.act = (_, response) => sendJson(response, 500, { error: { message: 'Broken.' } })
    t.match(await ask(url, 'talk'), { status: 500, target: 'us' })
  }
)

t.test('a request that was sent goes to no other target, also when it fails', async t => {
  const { url, deployments } = await start(t, ['eu', 'us'])
  for (const deployment of deployments) deployment.act = ({ socket }) => void socket.destroy()
  t.equal((await ask(url, 'talk')).status, 502)
  t.equal(
    countOf(deployments).reduce((sum, count) => sum + count, 0),
    1
  )
})

t.test('the higher priority serves while it can, then the next one', async t => {
  const { url, deployments } = await start(t, ['main', 'backup'], { shares: { backup: { priority: 1 } } })
  for (let index = 0; index < 5; index++) t.equal((await ask(url, `talk ${index}`)).target, 'main')
  await deployments[0]?.stub.close()
  for (let index = 0; index < 5; index++) t.equal((await ask(url, `talk ${index}`)).target, 'backup')
})

t.test('where all targets fail, the client gets the error of one', async t => {
  const { url, deployments } = await start(t, ['eu', 'us'])
  for (const { stub } of deployments) await stub.close()
  for (let index = 0; index < 3; index++)
    t.match(await ask(url, 'talk'), { status: 502, body: { error: { code: 'provider_failure' } } })
})

t.test('a body that is translated in a thread reaches its target with its conversation', async t => {
  const env = { GATEWAY_POOL_THREADS: '1', GATEWAY_POOL_THRESHOLD_BYTES: '32768' }
  const { url, deployments } = await start(t, ['eu', 'us'], { env })
  const system = 'x'.repeat(100_000)
  for (let talk = 0; talk < 4; talk++) {
    const messages = [
      { role: 'system', content: system },
      { role: 'user', content: `talk ${talk}` }
    ]
    const first = await ask(url, '', { messages })
    t.equal(first.status, 200)
    const small = await ask(url, '', { messages: [{ role: 'system', content: system.slice(0, 16_384) }, messages[1]] })
    t.equal(typeof small.target, 'string')
    t.equal((await ask(url, '', { messages: [...messages, { role: 'assistant', content: 'a' }] })).target, first.target)
  }
  for (const deployment of deployments) {
    for (const { body } of deployment.stub.requests)
      t.equal(JSON.parse(body.toString()).model, `model-of-${deployment.id}`)
  }
})

t.test('embeddings without a conversation are shared', async t => {
  const { url, deployments } = await start(t, ['eu', 'us'])
  for (const { id, stub } of deployments) {
    const deployment = deployments.find(one => one.stub === stub) as Deployment
    deployment.act = ({ body }, response) => {
      const { model, input } = JSON.parse(body.toString())
      t.equal(model, `model-of-${id}`)
      const data = input.map((_: string, index: number) => ({ object: 'embedding', index, embedding: [0.5] }))
      sendJson(response, 200, { object: 'list', data, model, usage: { prompt_tokens: 1, total_tokens: 1 } })
    }
  }
  const seen = new Set<string | null>()
  for (let index = 0; index < 200 && seen.size < 2; index++) {
    const body = JSON.stringify({ model: ALIAS, input: ['a'] })
    const response = await fetch(`${url}/v1/embeddings`, { method: 'POST', body })
    t.equal(response.status, 200)
    seen.add(response.headers.get('x-gateway-target'))
  }
  t.equal(seen.size, 2)
})

t.test('a request that finds no free connection goes to another target', async t => {
  const { url, deployments } = await start(t, ['eu', 'us'], { profile: { connections: 1 } })
  const held: Array<() => void> = []
  for (const deployment of deployments) {
    deployment.act = (_, response) => void held.push(() => sendJson(response, 200, chatAnswer(deployment.id)))
  }
  const replies = [ask(url, 'talk'), ask(url, 'talk')]
  await Promise.all(deployments.map(({ stub }) => stub.arrived(1)))
  for (const answer of held) answer()
  const targets = (await Promise.all(replies)).map(({ status, target }) => {
    t.equal(status, 200)
    return target
  })
  t.same(targets.sort(), ['eu', 'us'])
  t.same(countOf(deployments), [1, 1])
})

t.test(
  'decisions.md 98: behind the head of a stream a request that was not sent still goes to another target',
  async t => {
    const env = { GATEWAY_STREAM_HEAD_AFTER_SECONDS: '0.1' }
    const { url, deployments } = await start(t, ['eu', 'us'], { profile: { connections: 1 }, env })
    const held: Array<() => void> = []
    for (const deployment of deployments) {
      deployment.act = (_, response) =>
        void held.push(() => {
          beginStream(response, chunkOf({ role: 'assistant', content: deployment.id }), chunkOf({}, 'stop'))
          response.end('data: [DONE]\n\n')
        })
    }
    const stream = async () => {
      const body = JSON.stringify({ model: ALIAS, messages: [{ role: 'user', content: 'talk' }], stream: true })
      const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })
      return { status: response.status, target: response.headers.get('x-gateway-target'), text: await response.text() }
    }
    const streams = [stream(), stream()]
    await Promise.all(deployments.map(({ stub }) => stub.arrived(1)))
    for (const answer of held) answer()
    const read = await Promise.all(streams)
    const [first] = read
    for (const { status, target, text } of read) {
      t.equal(status, 200)
      t.match(text, /^: keep-alive\n\n.*\[DONE\]/s)
      t.equal(target, first?.target, 'the head was sent at the call of the first target')
    }
    t.same(read.map(({ text }) => /"content":"(eu|us)"/.exec(text)?.[1]).sort(), ['eu', 'us'])
  }
)

t.test('the retries of a profile repeat on the same target', async t => {
  const { url, deployments } = await start(t, ['eu', 'us'], { profile: { retries: 2 } })
  for (const deployment of deployments) {
    deployment.act = (_, response) => {
      if (deployment.stub.requests.length < 3) sendJson(response, 503, { error: { message: 'Busy.' } })
      else sendJson(response, 200, chatAnswer(deployment.id))
    }
  }
  const { status, target } = await ask(url, 'talk')
  t.equal(status, 200)
  t.same(
    countOf(deployments),
    deployments.map(({ id }) => (id === target ? 3 : 0))
  )
})

t.test('the documents name the targets of an alias with their states, and no model of a provider', async t => {
  const { url, deployments } = await start(t, ['eu', 'us'], { shares: { eu: { weight: 3 }, us: { priority: 1 } } })
  const targets = (state: string) => [
    { profile_id: 'eu', weight: 3, priority: 0, state },
    { profile_id: 'us', weight: 1, priority: 1, state: 'healthy' }
  ]
  async function read(
    path: string
  ): Promise<{ text: string; body: { models?: Array<{ targets: object }>; targets?: object } }> {
    const text = await (await fetch(url + path)).text()
    return { text, body: JSON.parse(text) }
  }
  const query = `?model=${ALIAS}&protocol=openai_chat_completions&api_mode=v1`
  const healthy = await read('/bridge/models')
  t.same(healthy.body.models?.[0]?.targets, targets('healthy'))
  t.notMatch(healthy.text, 'model-of-')
  t.same((await read(`/bridge/capabilities${query}`)).body.targets, targets('healthy'))
  const [eu] = deployments as [Deployment]
  eu.act = (_, response) => sendJson(response, 429, { error: {} }, { 'retry-after': '600' })
  await ask(url, 'talk')
  t.same((await read('/bridge/models')).body.models?.[0]?.targets, targets('resting'))
  t.same((await read(`/bridge/capabilities${query}`)).body.targets, targets('resting'))
})

interface Wire {
  name: string
  profile: TargetedOptions['profile']
  path: string
  /** What a client sends, on the provider's own wire and on another one. */
  calls: ReadonlyArray<{ path: string; body: object; sent: string; model?: (body: Sent) => unknown }>
  answer: object
}

interface Sent {
  model?: string
  requests?: Array<{ model: string }>
  generateContentRequest?: { model: string }
}

const user = [{ role: 'user', content: 'Why?' }]
const messagesAnswer = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'So.' }]
}
const contentAnswer = { candidates: [{ content: { role: 'model', parts: [{ text: 'So.' }] }, finishReason: 'STOP' }] }
const responsesAnswer = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', created_at: 1, output: [] }
const contents = [{ role: 'user', parts: [{ text: 'Why?' }] }]
const topModel = ({ model }: Sent): unknown => model
const chatCall = { path: '/v1/chat/completions', body: { model: ALIAS, messages: user } }
const messagesCall = { path: '/v1/messages', body: { model: ALIAS, messages: user, max_tokens: 10 } }
const countCall = { path: '/v1/messages/count_tokens', body: { model: ALIAS, messages: user } }
const generateCall = { path: `/v1beta/models/${ALIAS}:generateContent`, body: { contents } }
const responsesCall = { path: '/v1/responses', body: { model: ALIAS, input: 'Why?' } }

const wires: readonly Wire[] = [
  {
    name: 'Responses',
    profile: { wire: 'responses' },
    path: '/<id>/v1',
    answer: { ...responsesAnswer, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } },
    calls: [
      { ...chatCall, sent: '/<id>/v1/responses', model: topModel },
      { ...responsesCall, sent: '/<id>/v1/responses', model: topModel }
    ]
  },
  {
    name: 'messages',
    profile: { providerKind: 'messages_compatible' },
    path: '/<id>',
    answer: {
      ...messagesAnswer,
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
      input_tokens: 7
    },
    calls: [
      { ...chatCall, sent: '/<id>/v1/messages', model: topModel },
      { ...messagesCall, sent: '/<id>/v1/messages', model: topModel },
      { ...countCall, sent: '/<id>/v1/messages/count_tokens', model: topModel }
    ]
  },
  {
    name: 'content',
    profile: { providerKind: 'content_compatible' },
    path: '/<id>',
    answer: { ...contentAnswer, totalTokens: 7, embeddings: [{ values: [0.5] }, { values: [0.5] }] },
    calls: [
      { ...chatCall, sent: '/<id>/v1beta/models/model-of-<id>:generateContent' },
      { ...generateCall, sent: '/<id>/v1beta/models/model-of-<id>:generateContent' },
      { ...countCall, sent: '/<id>/v1beta/models/model-of-<id>:countTokens' },
      {
        path: `/v1beta/models/${ALIAS}:countTokens`,
        body: { generateContentRequest: { model: `models/${ALIAS}`, contents } },
        sent: '/<id>/v1beta/models/model-of-<id>:countTokens',
        model: ({ generateContentRequest }) => generateContentRequest?.model
      },
      {
        path: '/v1/embeddings',
        body: { model: ALIAS, input: ['a', 'b'] },
        sent: '/<id>/v1beta/models/model-of-<id>:batchEmbedContents',
        model: ({ requests }) => requests?.[1]?.model
      }
    ]
  }
]

for (const { name, profile, path, calls, answer } of wires) {
  t.test(`each target of the ${name} wire gets its own path and model, on the client's wire and on others`, async t => {
    const { url, deployments } = await start(t, ['eu', 'us'], {
      path,
      ...(profile && { profile }),
      shares: { us: { priority: 1 } }
    })
    const [eu, us] = deployments as [Deployment, Deployment]
    for (const deployment of deployments) deployment.act = (_, response) => sendJson(response, 200, answer)
    for (const deployment of [eu, us]) {
      for (const call of calls) {
        const response = await fetch(url + call.path, { method: 'POST', body: JSON.stringify(call.body) })
        const text = await response.text()
        t.equal(response.status, 200, `${call.path}: ${text}`)
        t.equal(response.headers.get('x-gateway-target'), deployment.id)
        const last = deployment.stub.requests.at(-1)
        t.equal(last?.url, call.sent.replaceAll('<id>', deployment.id))
        const model = call.model?.(JSON.parse(last?.body.toString() ?? '{}'))
        if (call.model !== undefined) t.match(model, new RegExp(`^(models/)?model-of-${deployment.id}$`), call.path)
      }
      await eu.stub.close()
    }
  })
}

t.test('an alias with one model has no such header', async t => {
  const [only] = (await startDeployments(t, ['eu'])) as [Deployment]
  const profiles = targetedProfiles([only]).map(profile => ({
    ...profile,
    models: profile.models.map(({ targets: _targets, ...alias }) => alias)
  }))
  const { url } = await startBridge(t, { profiles })
  t.match(await ask(url, 'talk'), { status: 200, target: null })
})
