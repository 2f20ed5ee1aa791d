// What a budget is charged where a provider reports no usage, or only a part of it: the estimate, which never stands in a record (keys.md 4).
import t, { type Test } from 'tap'
import { post } from '../../support/client.ts'
import { families, openStream, type Question, send } from '../bridge/families.ts'
import {
  ALIAS,
  answerChat,
  auth,
  type ChatAnswer,
  GONE_ALIAS,
  type LimitedGateway,
  startLimited,
  wantsStream
} from './support.ts'

const limits = { concurrentRequests: 50, budget: { amount: 1000, period: 'total' } } as const
const price = { input: 2, output: 10 }
/** In billionths. */
const cost = (input: number, output: number) => input * 2000 + output * 10_000
/** 100 tokens by the estimate. */
const prompt = 'p'.repeat(400)
/** 50 tokens by the estimate. */
const text = 't'.repeat(200)

type Answer = Omit<ChatAnswer, 'isStream'> | { status: number }

let answer: Answer

const start = (t: Test) =>
  startLimited(t, { limits, price }, (request, response) => {
    if (request.url.endsWith('/embeddings')) {
      const data = [{ object: 'embedding', index: 0, embedding: [1, 0] }]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ object: 'list', model: 'exact-model-1', data }))
    } else if ('status' in answer) {
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end('{}')
    } else answerChat(response, { ...answer, isStream: wantsStream(request) })
  })

const question = (changes: Partial<Question> = {}): Question => ({ model: ALIAS, prompt, headers: auth(), ...changes })

/** Runs a request to its end. Returns what the budget was charged, and the cost of the record. */
async function charge(gateway: LimitedGateway, run: () => Promise<unknown>): Promise<[number, number | null]> {
  const sum = (member: 'freedSlots' | 'costNanos') =>
    gateway.settlements.reduce((total, settlement) => total + settlement[member], 0)
  const before = sum('costNanos')
  const settled = gateway.settled(sum('freedSlots') + 1)
  await run()
  await settled
  return [sum('costNanos') - before, gateway.costs.at(-1) ?? null]
}

const forms = families.flatMap(family => [false, true].map(isStream => ({ family, isStream })))

t.test('keys 8: a client that leaves in the middle of a stream spends of its budget', async t => {
  const gateway = await start(t)
  answer = { text, isHeld: true }
  for (const family of families) {
    const leave = async () => {
      const abortion = new AbortController()
      const response = await openStream(gateway.url, family, question({ isStream: true }), abortion.signal)
      await response.body?.getReader().read()
      abortion.abort()
    }
    t.strictSame(await charge(gateway, leave), [cost(100, 50), null], family.name)
  }
  t.equal(gateway.used('budget'), families.length * cost(100, 50))
})

t.test('keys 8: clients that always leave come to the end of their budget', async t => {
  const small = { concurrentRequests: 9, budget: { amount: 0.0015, period: 'total' } } as const
  const gateway = await startLimited(t, { limits: small, price }, (_, response) =>
    answerChat(response, { text, isHeld: true, isStream: true })
  )
  const [family] = families
  if (family === undefined) throw new Error('There is a family.')
  const statuses: number[] = []
  for (let turn = 1; turn <= 4; turn += 1) {
    const abortion = new AbortController()
    const response = await openStream(gateway.url, family, question({ isStream: true }), abortion.signal)
    statuses.push(response.status)
    if (response.status !== 200) continue
    await response.body?.getReader().read()
    abortion.abort()
    await gateway.settled(turn)
  }
  t.strictSame(statuses, [200, 200, 200, 429], 'three times 0.0007 are above 0.0015')
})

t.test('keys 8: a stream that breaks off is charged for what was generated', async t => {
  const gateway = await start(t)
  answer = { text, isBroken: true }
  for (const family of families) {
    const ask = () => send(gateway.url, family, question({ isStream: true }))
    t.strictSame(await charge(gateway, ask), [cost(100, 50), null], family.name)
  }
})

t.test('keys 8: without any usage the estimate is charged, with one the cost of the record', async t => {
  const gateway = await start(t)
  for (const { family, isStream } of forms) {
    const ask = () => send(gateway.url, family, question({ isStream }))
    const name = `${family.name}, ${isStream ? 'streamed' : 'whole'}`
    answer = { text }
    t.strictSame(await charge(gateway, ask), [cost(100, 50), null], name)
    answer = { text, usage: [70, 20] }
    t.strictSame(await charge(gateway, ask), [cost(70, 20), cost(70, 20)], name)
  }
})

t.test('keys 8: embeddings without a usage are charged for the estimate of their input', async t => {
  const gateway = await start(t)
  const ask = () => post(`${gateway.url}/v1/embeddings`, { model: ALIAS, input: prompt }, auth())
  t.strictSame(await charge(gateway, ask), [cost(100, 0), null])
  const content = { content: { parts: [{ text: prompt }] } }
  const embed = () => post(`${gateway.url}/v1beta/models/${ALIAS}:embedContent`, content, auth())
  t.strictSame(await charge(gateway, embed), [cost(100, 0), null])
})

t.test('keys 8: what was not sent, or what the provider refused, is not charged', async t => {
  const gateway = await start(t)
  answer = { status: 500 }
  for (const { family, isStream } of forms) {
    for (const model of [ALIAS, GONE_ALIAS]) {
      const ask = () => send(gateway.url, family, question({ isStream, model }))
      t.strictSame(await charge(gateway, ask), [0, null], `${family.name}, ${model}`)
    }
  }
})

t.test('keys 8: plain bodies, and bodies of the general way, are charged alike', async t => {
  const gateway = await start(t)
  const [family] = families
  if (family === undefined) throw new Error('There is a family.')
  answer = { text }
  // Parts take the general way; plain messages go on as they are.
  const parts = [{ role: 'user', content: [{ type: 'text', text: prompt }] }]
  for (const isStream of [false, true]) {
    for (const more of [{}, { messages: parts }, { stream_options: undefined }]) {
      const ask = () => send(gateway.url, family, question({ isStream, more }))
      t.strictSame(await charge(gateway, ask), [cost(100, 50), null])
    }
  }
})

t.test('keys 8: a stream that goes on as its provider writes it is charged in the same way', async t => {
  const event = (data: { type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
  const usage = { input_tokens: 70, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'exact-model-1', content: [], usage }
  const begun = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }
  ]
  const end = [
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 33 } },
    { type: 'message_stop' }
  ]
  let isBroken = false
  const gateway = await startLimited(t, { limits, price, kind: 'messages_compatible' }, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(begun.map(event).join(''))
    if (isBroken) setImmediate(() => response.destroy())
    else response.end(end.map(event).join(''))
  })
  const family = families.find(({ name }) => name === 'messages')
  if (family === undefined) throw new Error('There is a family.')
  const ask = () => send(gateway.url, family, question({ isStream: true }))
  t.strictSame(await charge(gateway, ask), [cost(70, 33), cost(70, 33)])
  isBroken = true
  t.strictSame(
    await charge(gateway, ask),
    [cost(70, 50), cost(70, 0)],
    'the record has what was counted at the start, the budget what was generated as well'
  )
})
