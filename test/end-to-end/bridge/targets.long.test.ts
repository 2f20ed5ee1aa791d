// Three deployments behind one alias, two workers, official SDKs with their default retries: one deployment answers 429 for a while, one is
// killed and returns, one is slow (decisions.md 116).

import { createServer, type Server, type ServerResponse } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { writeChatProfile } from '../../support/profile-gateway.ts'
import { startProfileProcesses } from '../../support/profile-processes.ts'
import { beginStream, chatAnswer, chunkOf } from './executor-support.ts'

const ALIAS = 'many'
const WEIGHTS = { slow: 2, limited: 1, killed: 1 } as const
type Name = keyof typeof WEIGHTS
const NAMES = Object.keys(WEIGHTS) as Name[]
const WEIGHT_SUM = 4
/** Six standard deviations: one chance in a billion. */
const DEVIATIONS = 6
const SLOW_MS = 40
/** Another key is another client, whose conversations may go elsewhere. */
const KEY = 'unused'

/** A deployment that can be killed and started again at its address. */
class Deployment {
  readonly name: Name
  /** The tags of all requests, in order. */
  readonly tags: string[] = []
  /** Sent with each 429; undefined while requests are answered. */
  limit: Record<string, string> | undefined
  /** Streams begin and do not end. */
  holdsStreams = false
  #server: Server | undefined
  #port = 0

  constructor(name: Name) {
    this.name = name
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}/v1`
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', chunk => chunks.push(chunk))
      request.on('end', () => this.#answer(JSON.parse(Buffer.concat(chunks).toString()), response))
    })
    this.#server = server
    // The same one after it was killed.
    if (this.#port === 0) this.#port = await findFreePort()
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve))
  }

  /** Resets all connections; new ones are refused. */
  async kill(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await closed
  }

  #answer(
    { messages, stream }: { messages: Array<{ content: unknown }>; stream?: boolean },
    response: ServerResponse
  ): void {
    this.tags.push(readText(messages.at(-1)?.content))
    if (this.limit !== undefined) {
      response.writeHead(429, { 'content-type': 'application/json', ...this.limit })
      response.end(JSON.stringify({ error: { message: 'Slow down.', type: 'rate_limit' } }))
      return
    }
    const finish = () => {
      if (stream !== true)
        return response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify(chatAnswer(this.name)))
      const first = chunkOf({ role: 'assistant', content: this.name })
      if (this.holdsStreams) return beginStream(response, first)
      beginStream(response, first, chunkOf({}, 'stop'))
      return response.end('data: [DONE]\n\n')
    }
    if (this.name === 'slow') setTimeout(finish, SLOW_MS)
    else finish()
  }
}

function readText(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map(({ text }) => text).join('') : ''
}

interface Stage {
  url: string
  deployments: Record<Name, Deployment>
  /** How many requests a client has sent for each tag, the retries of its SDK included. */
  attempts: Map<string, number>
}

async function start(t: Test): Promise<Stage> {
  const all = NAMES.map(name => new Deployment(name))
  for (const deployment of all) {
    await deployment.start()
    t.teardown(() => deployment.kill())
  }
  const targets = all.map(({ name }) => ({
    profile_id: name,
    upstream_model: `model-of-${name}`,
    weight: WEIGHTS[name]
  }))
  const [first] = all as [Deployment]
  const alias = { alias: ALIAS, more: { upstream_model: undefined, targets } }
  const profiles = all.map(deployment =>
    writeChatProfile({ id: deployment.name, baseUrl: deployment.baseUrl, aliases: deployment === first ? [alias] : [] })
  )
  const { url } = await startProfileProcesses(t, { profiles, env: { GATEWAY_WORKERS: '2' } })
  const deployments = Object.fromEntries(all.map(deployment => [deployment.name, deployment])) as Record<
    Name,
    Deployment
  >
  return { url, deployments, attempts: new Map() }
}

let lastTag = 0
const nextTag = (): string => `tag ${++lastTag}`

/** The turns of a conversation; only the last one differs between its requests. */
function writeTurns(talk: string, tag: string) {
  return [
    { role: 'user' as const, content: talk },
    { role: 'assistant' as const, content: 'So.' },
    { role: 'user' as const, content: tag }
  ]
}

interface Clients {
  openai: OpenAI
  anthropic: Anthropic
}

function createClients({ url, attempts }: Stage): Clients {
  const counting: typeof fetch = (input, init) => {
    const tag = readText(JSON.parse(String(init?.body)).messages.at(-1).content)
    attempts.set(tag, (attempts.get(tag) ?? 0) + 1)
    return fetch(input, init)
  }
  return {
    openai: new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, fetch: counting }),
    anthropic: new Anthropic({ baseURL: url, apiKey: KEY, fetch: counting })
  }
}

/** Asks in one of three ways, with an SDK's own retries; resolves with the name of the deployment that answered. */
async function askBySdk({ openai, anthropic }: Clients, talk: string, way: number): Promise<string> {
  const messages = writeTurns(talk, nextTag())
  if (way % 3 === 0) {
    const { choices } = await openai.chat.completions.create({ model: ALIAS, messages })
    return choices[0]?.message.content ?? ''
  }
  if (way % 3 === 1) {
    let text = ''
    for await (const { choices } of await openai.chat.completions.create({ model: ALIAS, messages, stream: true })) {
      text += choices[0]?.delta.content ?? ''
    }
    return text
  }
  const { content } = await anthropic.messages.create({ model: ALIAS, messages, max_tokens: 100 })
  return content.map(block => (block.type === 'text' ? block.text : '')).join('')
}

interface Reply {
  status: number
  target: string | null
}

/** One request without a retry, on a connection of its own, so that both workers get some. */
async function askOnce({ url, attempts }: Stage, talk: string): Promise<Reply> {
  const tag = nextTag()
  attempts.set(tag, 1)
  const body = JSON.stringify({ model: ALIAS, messages: writeTurns(talk, tag) })
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body,
    headers: { connection: 'close', authorization: `Bearer ${KEY}` }
  })
  await response.arrayBuffer()
  return { status: response.status, target: response.headers.get('x-gateway-target') }
}

function assertNothingRepeated(t: Test, { deployments, attempts }: Stage): void {
  const received = new Map<string, number>()
  for (const { tags } of Object.values(deployments))
    for (const tag of tags) received.set(tag, (received.get(tag) ?? 0) + 1)
  const repeated = [...received].filter(([tag, count]) => count > (attempts.get(tag) ?? 0))
  t.same(repeated, [], 'no request of a client reached a provider twice')
}

/** Runs the work for each talk, a few at a time. */
async function forEachTalk(count: number, work: (talk: string, index: number) => Promise<void>): Promise<void> {
  let next = 0
  const run = async (): Promise<void> => {
    while (next < count) {
      const index = next++
      await work(`talk ${index}`, index)
    }
  }
  await Promise.all(Array.from({ length: 24 }, run))
}

t.test('providers 19: conversations follow the weights, and stay on both workers', async t => {
  const stage = await start(t)
  const first = new Map<string, string | null>()
  await forEachTalk(300, async talk => void first.set(talk, (await askOnce(stage, talk)).target))
  for (let turn = 0; turn < 2; turn++) {
    await forEachTalk(300, async talk => {
      const { target } = await askOnce(stage, talk)
      if (target !== first.get(talk)) t.fail(`${talk} moved`)
    })
  }
  for (const name of NAMES) {
    const share = WEIGHTS[name] / WEIGHT_SUM
    const count = [...first.values()].filter(target => target === name).length
    const deviation = Math.sqrt(300 * share * (1 - share))
    t.ok(Math.abs(count - 300 * share) <= DEVIATIONS * deviation, `${name}: ${count} of 300`)
  }
  assertNothingRepeated(t, stage)
})

t.test('providers 19: after one 429 a resting target gets nothing from any worker', async t => {
  const stage = await start(t)
  const { limited } = stage.deployments
  limited.limit = { 'retry-after': '600' }
  let talk = 0
  while ((await askOnce(stage, `talk ${talk}`)).status !== 429) talk++
  // The other worker is told by a message: its connections are tried until none of ten leads there.
  for (let quiet = 0; quiet < 10; ) quiet = (await askOnce(stage, `talk ${talk}`)).status === 429 ? 0 : quiet + 1
  t.ok(limited.tags.length <= 2, 'at most one request of each worker was sent there')
  const known = limited.tags.length
  await forEachTalk(300, async one => {
    const { status, target } = await askOnce(stage, one)
    if (status !== 200 || target === 'limited') t.fail(`${one}: ${status} from ${target}`)
  })
  t.equal(limited.tags.length, known)
  assertNothingRepeated(t, stage)
})

t.test(
  'providers 19: SDKs see no failure while one target is limited, one is killed and returns, and one is slow',
  async t => {
    const stage = await start(t)
    const clients = createClients(stage)
    const { limited, killed } = stage.deployments
    const places = new Map<string, string>()
    const ask = async (talk: string, index: number) => askBySdk(clients, talk, index)
    await forEachTalk(60, async (talk, index) => void places.set(talk, await ask(talk, index)))
    t.same(new Set(places.values()), new Set(NAMES), 'all have some conversations')

    limited.limit = {}
    await killed.kill()
    const whileFailing = new Set<string>()
    for (let round = 0; round < 3; round++) {
      await forEachTalk(60, async (talk, index) => void whileFailing.add(await ask(talk, index)))
    }
    t.same(whileFailing, new Set(['slow']), 'the third one serves all of them')

    limited.limit = undefined
    await killed.start()
    // Each trial brings a target back; until then its conversations are served elsewhere.
    const isBack = (): boolean => NAMES.every(name => [...served.values()].includes(name))
    const served = new Map<string, string>()
    for (let round = 0; round < 400 && !isBack(); round++) {
      await forEachTalk(60, async (talk, index) => void served.set(talk, await ask(talk, index)))
    }
    await forEachTalk(60, async (talk, index) => void served.set(talk, await ask(talk, index)))
    t.same([...served].sort(), [...places].sort(), 'the conversations are back where they were')
    assertNothingRepeated(t, stage)
  }
)

t.test('a stream that breaks behind its first byte is not repeated', async t => {
  const stage = await start(t)
  const { openai } = createClients(stage)
  const { killed } = stage.deployments
  let talk = 0
  while ((await askOnce(stage, `talk ${talk}`)).target !== 'killed') talk++
  const before = Object.values(stage.deployments).map(({ tags }) => tags.length)
  killed.holdsStreams = true
  const stream = await openai.chat.completions.create({
    model: ALIAS,
    messages: writeTurns(`talk ${talk}`, nextTag()),
    stream: true
  })
  const chunks = stream[Symbol.asyncIterator]()
  t.equal((await chunks.next()).done, false)
  await killed.kill()
  const readRest = async (): Promise<void> => {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next());
  }
  await t.rejects(readRest())
  const after = Object.values(stage.deployments).map(({ tags }) => tags.length)
  t.equal(
    after.reduce((sum, count) => sum + count, 0),
    before.reduce((sum, count) => sum + count, 0) + 1
  )
  assertNothingRepeated(t, stage)
})
