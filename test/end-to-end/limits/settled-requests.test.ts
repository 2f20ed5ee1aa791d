// Each way in which a request ends gives its slot back once and settles its tokens (keys.md 6, cases 8 and 9).
import { EventEmitter, once } from 'node:events'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { type Family, families, openStream, send as sendQuestion } from '../bridge/families.ts'
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
import {
  ALIAS,
  answerChat,
  auth,
  FREE_SECRET,
  GONE_ALIAS,
  type LimitedGateway,
  startLimited,
  wantsStream
} from './support.ts'

const limits = { requestsPerMinute: 1000, tokensPerMinute: 1_000_000, concurrentRequests: 50 }
let answer: Answer | 'nothing' | 'no JSON'

/** Told of each request that has reached the provider. */
const provider = new EventEmitter()

const start = (t: Test, env: Record<string, string> = {}) =>
  startLimited(t, { limits, env }, (request, response) => {
    provider.emit('asked')
    if (answer === 'nothing') return
    if (answer === 'no JSON') response.writeHead(200, { 'content-type': 'application/json' }).end('Hello')
    else answerWith(answer, request, response)
  })

/** Runs a request to its end, and returns what it has used of the limit of tokens. */
async function use(gateway: LimitedGateway, run: () => Promise<unknown>): Promise<number> {
  const before = gateway.used('tokens_per_minute')
  const freed = gateway.settlements.reduce((sum, { freedSlots }) => sum + freedSlots, 0)
  const requests = gateway.used('requests_per_minute')
  await run()
  await gateway.settled(freed + 1)
  t.equal(gateway.used('concurrent_requests'), 0, 'the slot is free')
  t.equal(gateway.used('requests_per_minute'), requests + 1, 'the request counts')
  return gateway.used('tokens_per_minute') - before
}

async function eachForm(t: Test, check: (t: Test, family: Family, isStream: boolean) => Promise<void>): Promise<void> {
  for (const { name, family, isStream } of forms) await t.test(name, t => check(t, family, isStream))
}

t.test('keys 8, 9: a response is settled by the usage that its provider reports', async t => {
  const gateway = await start(t)
  await eachForm(t, async (t, family, isStream) => {
    answer = { text: TEXT, usage: [70, 20] }
    t.equal(await use(gateway, () => sendQuestion(gateway.url, family, question({ isStream }))), 90)
  })
})

t.test('keys 8, 9: without a usage it is settled by the estimate of its request and its response', async t => {
  const gateway = await start(t)
  await eachForm(t, async (t, family, isStream) => {
    answer = { text: TEXT }
    t.equal(await use(gateway, () => sendQuestion(gateway.url, family, question({ isStream }))), 150)
  })
})

t.test('keys 8, 9: a stream that breaks off is settled by what was generated', async t => {
  const gateway = await start(t)
  answer = { text: TEXT, isBroken: true }
  for (const family of families) {
    t.equal(await use(gateway, () => sendQuestion(gateway.url, family, question({ isStream: true }))), 150, family.name)
  }
})

t.test('keys 8, 9: a client that leaves is charged what was used', async t => {
  const gateway = await start(t)
  answer = { text: TEXT, isHeld: true }
  for (const family of families) {
    t.equal(await use(gateway, () => leaveStream(gateway, family)), 150, family.name)
  }
})

t.test('keys 8, 9: a client that leaves before the response has used its input', async t => {
  const gateway = await start(t)
  answer = 'nothing'
  await eachForm(t, async (t, family, isStream) => {
    const leave = async () => {
      const abortion = new AbortController()
      const asked = once(provider, 'asked')
      const left = openStream(gateway.url, family, question({ isStream }), abortion.signal)
      await asked
      abortion.abort()
      await t.rejects(left)
    }
    t.equal(await use(gateway, leave), 100)
  })
})

t.test('keys 8, 9: a connection that ends in the middle of a response is settled', async t => {
  const gateway = await start(t, { GATEWAY_RESPONSES_WEBSOCKET: 'true' })
  answer = { text: TEXT, isHeld: true }
  const leave = async () => {
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, { headers: auth() })
    await once(socket, 'open')
    const delta = new Promise<void>(resolve => {
      socket.on('message', data => /output_text\.delta/.test(String(data)) && resolve())
    })
    socket.send(JSON.stringify({ type: 'response.create', model: ALIAS, input: PROMPT }))
    await delta
    socket.terminate()
  }
  t.equal(await use(gateway, leave), 150)
})

t.test('keys 8, 9: a response that cannot be used frees its slot', async t => {
  const gateway = await start(t)
  answer = 'no JSON'
  for (const family of families) {
    const ask = async () => {
      const { status } = await sendQuestion(gateway.url, family, question())
      t.ok(status >= 500, family.name)
    }
    await use(gateway, ask)
  }
})

t.test('keys 8, 9: a request that its provider refuses has used no tokens', async t => {
  const gateway = await start(t)
  answer = { status: 500 }
  await eachForm(t, async (t, family, isStream) => {
    const refuse = async () => {
      const { status } = await sendQuestion(gateway.url, family, question({ isStream }))
      t.ok(status >= 500)
    }
    t.equal(await use(gateway, refuse), 0)
  })
})

t.test('keys 8, 9: a request that could not be sent has used no tokens', async t => {
  const gateway = await start(t)
  await eachForm(t, async (t, family, isStream) => {
    const fail = async () => {
      const { status } = await sendQuestion(gateway.url, family, question({ isStream, model: GONE_ALIAS }))
      t.ok(status >= 500)
    }
    t.equal(await use(gateway, fail), 0)
  })
})

t.test('keys 8, 9: a drain settles the requests that it ends', async t => {
  const gateway = await start(t)
  answer = { text: TEXT, isHeld: true }
  const family = familyOf('completions')
  const drain = async () => {
    const response = await openStream(gateway.url, family, question({ isStream: true }))
    await response.body?.getReader().read()
    gateway.app.startDraining()
    gateway.app.cancelActive()
  }
  t.equal(await use(gateway, drain), 150)
})

t.test('keys 8: an estimate is the same for a body that goes on as it is, one with a wrong shape aside', async t => {
  const gateway = await start(t)
  answer = { text: '' }
  const family = familyOf('completions')
  // Parts take the general way; the provider of the client's own wire gets plain messages without a look at them.
  const parts = [{ role: 'user', content: [{ type: 'text', text: PROMPT }] }]
  t.equal(await use(gateway, () => sendQuestion(gateway.url, family, question())), 100)
  t.equal(await use(gateway, () => sendQuestion(gateway.url, family, question({ more: { messages: parts } }))), 100)
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  const pictured = [{ role: 'user', content: [{ type: 'text', text: PROMPT }, image] }]
  t.equal(await use(gateway, () => sendQuestion(gateway.url, family, question({ more: { messages: pictured } }))), 1100)
})

t.test('keys 8: a stream that goes on as its provider writes it is settled in the same way', async t => {
  let isBroken = false
  const messages = await startLimited(t, { limits, kind: 'messages_compatible' }, (_, response) =>
    streamMessages(response, isBroken)
  )
  const family = familyOf('messages')
  const ask = () => sendQuestion(messages.url, family, question({ isStream: true }))
  t.equal(await use(messages, ask), 70 + 33)
  isBroken = true
  t.equal(
    await use(messages, ask),
    70 + 50,
    'the input that the provider counted at the start, and the estimate of the output'
  )
})

t.test('keys 8: an estimate is the same in a thread', async t => {
  answer = { text: '' }
  const used: number[] = []
  for (const env of [
    { GATEWAY_POOL_THREADS: '0' },
    { GATEWAY_POOL_THREADS: '1', GATEWAY_POOL_THRESHOLD_BYTES: '1024' }
  ]) {
    const gateway = await startLimited(t, { limits, env }, (request, response) =>
      answerChat(response, { text: '', isStream: wantsStream(request) })
    )
    for (const family of families) {
      const large = question({ prompt: 'é'.repeat(4000) })
      used.push(await use(gateway, () => sendQuestion(gateway.url, family, large)))
    }
  }
  t.strictSame(
    used,
    used.map(() => 2000)
  )
})

t.test('keys 19: requests of a key without limits ask for nothing', async t => {
  const gateway = await start(t)
  answer = { text: TEXT, usage: [70, 20] }
  for (const family of families) {
    const { status } = await sendQuestion(gateway.url, family, question({ headers: auth(FREE_SECRET) }))
    t.equal(status, 200)
  }
  t.strictSame(gateway.asked, [])
})
