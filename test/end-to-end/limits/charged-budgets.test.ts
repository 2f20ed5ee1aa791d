// What a budget is charged where a provider reports no usage, or only a part of it: the estimate, which never stands in a record (keys.md 4).
import t, { type Test } from 'tap'
import { post } from '../../support/client.ts'
import { families, send } from '../bridge/families.ts'
import {
  type Answer,
  answerWith,
  familyOf,
  forms,
  leaveStream,
  PROMPT,
  question,
  streamMessages,
  TEXT
} from './questions.ts'
import { ALIAS, answerChat, auth, GONE_ALIAS, type LimitedGateway, startLimited } from './support.ts'

const limits = { concurrentRequests: 50, budget: { amount: 1000, period: 'total' } } as const
const price = { input: 2, output: 10 }
/** In billionths. */
const cost = (input: number, output: number) => input * 2000 + output * 10_000
let answer: Answer

const start = (t: Test) =>
  startLimited(t, { limits, price }, (request, response) => {
    if (request.url.endsWith('/embeddings')) {
      const data = [{ object: 'embedding', index: 0, embedding: [1, 0] }]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ object: 'list', model: 'exact-model-1', data }))
    } else answerWith(answer, request, response)
  })

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

t.test('keys 8: a client that leaves in the middle of a stream spends of its budget', async t => {
  const gateway = await start(t)
  answer = { text: TEXT, isHeld: true }
  for (const family of families) {
    t.strictSame(await charge(gateway, () => leaveStream(gateway, family)), [cost(100, 50), null], family.name)
  }
  t.equal(gateway.used('budget'), families.length * cost(100, 50))
})

t.test('keys 8: clients that always leave come to the end of their budget', async t => {
  const small = { concurrentRequests: 9, budget: { amount: 0.0015, period: 'total' } } as const
  const gateway = await startLimited(t, { limits: small, price }, (_, response) =>
    answerChat(response, { text: TEXT, isHeld: true, isStream: true })
  )
  const family = familyOf('completions')
  const statuses: number[] = []
  for (let turn = 1; turn <= 4; turn += 1) {
    const status = await leaveStream(gateway, family)
    statuses.push(status)
    if (status !== 200) continue
    await gateway.settled(turn)
  }
  t.strictSame(statuses, [200, 200, 200, 429], 'three times 0.0007 are above 0.0015')
})

t.test('keys 8: a stream that breaks off is charged for what was generated', async t => {
  const gateway = await start(t)
  answer = { text: TEXT, isBroken: true }
  for (const family of families) {
    const ask = () => send(gateway.url, family, question({ isStream: true }))
    t.strictSame(await charge(gateway, ask), [cost(100, 50), null], family.name)
  }
})

t.test('keys 8: without any usage the estimate is charged, with one the cost of the record', async t => {
  const gateway = await start(t)
  for (const { family, isStream, name } of forms) {
    const ask = () => send(gateway.url, family, question({ isStream }))
    answer = { text: TEXT }
    t.strictSame(await charge(gateway, ask), [cost(100, 50), null], name)
    answer = { text: TEXT, usage: [70, 20] }
    t.strictSame(await charge(gateway, ask), [cost(70, 20), cost(70, 20)], name)
  }
})

t.test('keys 8: embeddings without a usage are charged for the estimate of their input', async t => {
  const gateway = await start(t)
  const ask = () => post(`${gateway.url}/v1/embeddings`, { model: ALIAS, input: PROMPT }, auth())
  t.strictSame(await charge(gateway, ask), [cost(100, 0), null])
  const content = { content: { parts: [{ text: PROMPT }] } }
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
  const family = familyOf('completions')
  answer = { text: TEXT }
  // Parts take the general way; plain messages go on as they are.
  const parts = [{ role: 'user', content: [{ type: 'text', text: PROMPT }] }]
  for (const isStream of [false, true]) {
    for (const more of [{}, { messages: parts }, { stream_options: undefined }]) {
      const ask = () => send(gateway.url, family, question({ isStream, more }))
      t.strictSame(await charge(gateway, ask), [cost(100, 50), null])
    }
  }
})

t.test('keys 8: a stream that goes on as its provider writes it is charged in the same way', async t => {
  let isBroken = false
  const gateway = await startLimited(t, { limits, price, kind: 'messages_compatible' }, (_, response) =>
    streamMessages(response, isBroken)
  )
  const family = familyOf('messages')
  const ask = () => send(gateway.url, family, question({ isStream: true }))
  t.strictSame(await charge(gateway, ask), [cost(70, 33), cost(70, 33)])
  isBroken = true
  t.strictSame(
    await charge(gateway, ask),
    [cost(70, 50), cost(70, 0)],
    'the record has what was counted at the start, the budget what was generated as well'
  )
})
