// What requests cost, from the prices of a file and of aliases to records, sums, exports, metrics and the access line (keys.md 4).
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { type StubRequest, startStub } from '../../worker/providers/support/stub-upstream.ts'
import { adminVariables, createCalls, recording, until } from '../admin/support.ts'

const usage = {
  prompt_tokens: 1000,
  completion_tokens: 500,
  total_tokens: 1500,
  prompt_tokens_details: { cached_tokens: 600 },
  completion_tokens_details: { reasoning_tokens: 200 }
}
const counts = { promptTokenCount: 1000, cachedContentTokenCount: 500 }

const folder = createTemporaryFolder(t)
const database = join(folder, 'traffic.sqlite')
const pricesFile = join(folder, 'prices.yaml')
writeFileSync(
  pricesFile,
  `schema_version: gateway.prices.v1
currency: EUR
models:
  file/chat: {input: 1, output: 2, cache_read: 0.1, reasoning: 3}
  "file/*": {input: 0.0000015, output: 0}
  own/chat: {input: 1000, output: 1000}
  content/cut: {input: 1, output: 1000, cache_read: 0.1}
`
)

/** Ends the stream of the content wire that is open. */
let breakOff: () => void = () => undefined

const stub = await startStub(answer)
t.teardown(() => stub.close())

function answer({ url, body }: StubRequest, response: ServerResponse): void {
  const { stream, input } = JSON.parse(body.toString('utf8'))
  const json = (value: object) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (url.endsWith('/embeddings')) {
    const data = [input].flat().map((_, index) => ({ object: 'embedding', index, embedding: [1, 0] }))
    json({ object: 'list', model: 'm', data, usage: { prompt_tokens: 7, total_tokens: 7 } })
    return
  }
  if (url.includes('GenerateContent')) {
    const candidates = [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, index: 0 }]
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify({ candidates, usageMetadata: counts, modelVersion: 'm' })}\n\n`)
    breakOff = () => void response.destroy()
    return
  }
  const base = { id: 'chatcmpl-1', created: 1, model: 'm' }
  if (stream !== true) {
    const message = { role: 'assistant', content: 'Hello' }
    json({ ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
    return
  }
  const chunk = (members: object) =>
    response.write(`data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [], ...members })}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }] })
  chunk({ usage })
  response.end('data: [DONE]\n\n')
}

const aliases = ['file/chat', 'file/embed', 'none/chat'].map(alias => ({ alias }))
const pricing = { input: 3, output: 15 }
const gateway = await startProfileGateway(t, {
  profiles: [
    writeChatProfile({
      id: 'up',
      baseUrl: stub.origin,
      aliases: [...aliases, { alias: 'own/chat', more: { pricing } }]
    }),
    writeChatProfile({
      ...{ id: 'content', kind: 'content_compatible', baseUrl: stub.origin },
      aliases: [{ alias: 'content/cut' }]
    })
  ],
  env: {
    ...adminVariables(`sqlite:${database}`),
    ...recording,
    GATEWAY_PRICES_FILE: pricesFile,
    GATEWAY_ACCESS_LOG: 'true',
    GATEWAY_METRICS_ENABLED: 'true'
  }
})
const { logs } = createCalls(gateway)

const messages = [{ role: 'user', content: 'Hi' }]
const chat = (model: string, more: object = {}) =>
  post(`${gateway.url}/v1/chat/completions`, { model, messages, ...more })

/** Reads a stream whose provider breaks it off behind its text, before its last counts. */
async function readCutStream(): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'content/cut', max_tokens: 9, messages, stream: true })
  })
  let text = ''
  try {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString('utf8')
      if (text.includes('Hello')) breakOff()
    }
  } catch {
    // A stream that is cut may end with an error.
  }
}

t.test('keys 17: each way to end has the cost of the usage that its client sees', async t => {
  t.equal((await chat('file/chat')).status, 200)
  t.equal((await chat('file/chat', { stream: true })).status, 200)
  t.equal((await chat('own/chat')).status, 200)
  t.equal((await chat('none/chat')).status, 200)
  t.equal((await post(`${gateway.url}/v1/embeddings`, { model: 'file/embed', input: 'Hi' })).status, 200)
  await readCutStream()
  t.equal((await chat('unknown/chat')).status, 404)
  const { json } = await until(
    () => logs(''),
    ({ json }) => json.data.length === 7
  )
  const costs = json.data.map((one: Record<string, unknown>) => [one.model_requested, one.cost, one.currency])
  // 400 at 1, 600 at 0.1, 300 at 2 and 200 at 3, per million.
  const ofFile = (400 + 60 + 600 + 600) / 1e6
  t.same(costs.toReversed(), [
    ['file/chat', ofFile, 'EUR'],
    ['file/chat', ofFile, 'EUR'],
    ['own/chat', (3000 + 7500) / 1e6, 'EUR'],
    ['none/chat', null, null],
    // 10.5 trillionths are no billionth.
    ['file/embed', 0, 'EUR'],
    // 500 at 1 and 500 at 0.1: what had been counted when it broke off.
    ['content/cut', (500 + 50) / 1e6, 'EUR'],
    ['unknown/chat', null, null]
  ])
})

t.test('keys 17: sums, exports, metrics and the access line have the cost', async t => {
  const sums = (await logs('/sums?by=model')).json.data
  const costs = sums.map(({ model, cost, currency }: Record<string, unknown>) => [model, cost, currency])
  t.same(costs.slice(0, 3), [
    ['content/cut', 0.00055, 'EUR'],
    ['file/chat', 0.00332, 'EUR'],
    ['file/embed', 0, 'EUR']
  ])
  t.match((await logs('/sums?by=')).json.data, [{ requests: 7, cost: 0.01437, currency: 'EUR' }])
  const csv = (await logs('/export.csv')).text
  t.ok(csv.includes(',0.00166,EUR,'))
  const ndjson = (await logs('/export.ndjson')).text
  t.ok(ndjson.includes('"cost":0.0105,"currency":"EUR"'))
  t.ok(ndjson.includes('"cost":null,"currency":null'))

  const metrics = (await get(`${gateway.url}/metrics`)).text
  const own =
    /^gateway_cost_total\{model="own\/chat",protocol="openai",provider="up",route="\/v1\/chat\/completions"\} 0\.0105$/m
  t.ok(own.test(metrics))
  t.notOk(/^gateway_cost_total\{model="none/m.test(metrics), 'no price is no cost')

  const lines = readLog(gateway).filter(({ event }) => event === 'http_access')
  const costOf = (model: string) => lines.find(line => line.model === model)?.cost
  t.equal(costOf('own/chat'), 0.0105)
  t.equal(costOf('none/chat'), undefined)
})
