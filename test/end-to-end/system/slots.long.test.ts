// The host-wide concurrency limit of a model (operations.md 3.7; field-lessons.md N8).

import { Agent, request } from 'node:http'
import t from 'tap'
import { lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { askIn, bodyOf, type Family, families, model, openStream, readError, urlOf } from './support.ts'

const emulator = await startEmulator(t)

function start(limits: Record<string, string>): Promise<StartedGateway> {
  return startGateway(t, { env: { ...emulatorVariables(emulator), ...limits } })
}

/** Sends a request over a new connection, so that any worker may serve it. */
function askAnyWorker(gateway: StartedGateway, family: Family, prompt: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ keepAlive: false })
    const sent = request(urlOf(gateway, family), { method: 'POST', agent }, response => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(bodyOf(family, prompt)))
  })
}

t.test(
  'operations 50, 51: a model at its limit is a 429 in every family, also for streams, and other models are free',
  async t => {
    const gateway = await start({
      GATEWAY_WORKERS: '2',
      GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 1, Embeddings: 1 }),
      GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
    })
    const controller = new AbortController()
    await openStream(gateway, 'messages', '[[tick:50]][[len:5000]]', { signal: controller.signal })
    for (const family of families) {
      for (const stream of [false, true]) {
        const response = await askIn(gateway, family, 'hi', { stream })
        t.equal(response.status, 429, `${family} ${stream}`)
        const error = readError(family, response)
        t.equal(error.code, 'model_concurrency_limit', family)
        t.equal(error.message, 'Concurrency limit reached for the requested model', family)
        t.equal(error.kind, family === 'content' ? 'RESOURCE_EXHAUSTED' : 'rate_limit_error', family)
        if (family === 'completions' || family === 'responses') t.equal(response.json.error.param, 'model', family)
        t.equal(response.headers.get('retry-after'), '1', family)
        t.match(response.headers.get('content-type'), /^application\/json/, family)
      }
      t.equal((await askIn(gateway, family, 'hi', { model: 'GigaChat-2-Pro' })).status, 200, family)
    }
    t.equal((await post(`${gateway.url}/v1/embeddings`, { input: 'x', model: 'Embeddings' })).status, 200)
    const before = emulator.stats.aborted
    controller.abort()
    await emulator.waitFor(({ stats }) => stats.aborted > before)
  }
)

t.test('cost 15: no other spelling of a model evades its limit, and the client spelling is sent upstream', async t => {
  const gateway = await start({
    GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [`models/${model}:2.0`]: 1 }),
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
  })
  const ask = (name: string) => askIn(gateway, 'completions', 'hi', { model: name })
  const spellings = [model, `${model}:2.0.28`, `${model}:latest`, `models/${model}`, model.toUpperCase(), ` ${model}\t`]
  const controller = new AbortController()
  await openStream(gateway, 'completions', '[[tick:50]][[len:5000]]', { signal: controller.signal })
  for (const spelling of spellings) {
    const response = await ask(spelling)
    t.equal(response.status, 429, spelling)
    t.equal(readError('completions', response).code, 'model_concurrency_limit', spelling)
  }
  t.not((await ask('GigaChat-2-Pro')).status, 429)
  const before = emulator.stats.aborted
  controller.abort()
  await emulator.waitFor(({ stats }) => stats.aborted > before)
  for (const spelling of spellings) {
    t.not((await ask(spelling)).status, 429, spelling)
    t.equal(lastUpstreamChat(emulator).body.model, spelling)
  }
})

t.test(
  'operations 52, 53: a waiting request gets the slot when the running request ends or its client disconnects',
  async t => {
    const gateway = await start({ GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 1 }) })
    await emulator.waitFor(({ stats }) => stats.activeChatRequests === 0)
    emulator.reset()
    const holding = askIn(gateway, 'completions', '[[slow:400]]')
    await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
    const waiting = await askIn(gateway, 'messages', 'hi')
    t.equal(waiting.status, 200)
    t.equal((await holding).status, 200)
    t.equal(emulator.stats.activeChatRequestsMax, 1, 'one after the other')

    for (const prompt of ['[[tick:50]][[len:5000]]', '[[hang]]']) {
      const controller = new AbortController()
      const held = openStream(gateway, 'content', prompt, { signal: controller.signal }).catch(() => undefined)
      await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
      const next = askIn(gateway, 'responses', '[[text:my turn]]')
      controller.abort()
      await held
      t.equal((await next).status, 200, prompt)
    }

    // A waiting request whose client disconnects is removed from the queue.
    const controller = new AbortController()
    await openStream(gateway, 'completions', '[[tick:50]][[len:5000]]', { signal: controller.signal })
    const cancel = new AbortController()
    const aborted = openStream(gateway, 'completions', '[[text:never]]', { signal: cancel.signal }).catch(
      () => undefined
    )
    cancel.abort()
    await aborted
    controller.abort()
    t.equal((await askIn(gateway, 'completions', '[[text:next]]')).status, 200)
  }
)

t.test('operations 52: a waiting request is refused after the configured time', async t => {
  const gateway = await start({
    GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: '1',
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0.2'
  })
  const controller = new AbortController()
  const { stats } = emulator
  await openStream(gateway, 'completions', '[[tick:50]][[len:5000]]', { signal: controller.signal })
  let hasWaited = false
  const halfTheTime = setTimeout(() => {
    hasWaited = true
  }, 100)
  t.equal((await askIn(gateway, 'completions', 'hi')).status, 429)
  t.ok(hasWaited, 'not at once')
  clearTimeout(halfTheTime)
  t.equal(stats.activeChatRequests, 1, 'refused while the other request still runs')
  const elsewhere = await askIn(gateway, 'completions', 'hi', { model: 'GigaChat-2-Pro' })
  t.equal(elsewhere.status, 200, 'the default limit counts each model separately')
  controller.abort()
})

t.test('operations 54: four workers together keep the limit', async t => {
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 0)
  emulator.reset()
  const gateway = await start({
    GATEWAY_WORKERS: '4',
    GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 2 })
  })
  const statuses = await Promise.all(
    Array.from({ length: 40 }, (_, index) => askAnyWorker(gateway, families[index % 4] ?? 'completions', '[[slow:20]]'))
  )
  t.strictSame([...new Set(statuses)], [200])
  t.equal(emulator.stats.activeChatRequestsMax, 2)
})
